//! Asking for payouts.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::Address;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::desk::{Created, DeskError, MAX_ASKED, NewPayout};
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest};
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::store::Payouts;

use super::{Desk, decide};
use crate::pay::counted;
use crate::pay::page::Page;

impl Desk {
    /// Asks for payouts, for all or for none. A key that was used for the same is the
    /// same payout, with the memo and the reference that it was created with.
    pub async fn create<P: Clone + Into<NewPayout> + Sync>(
        &self,
        asked: &[P],
        by: &str,
    ) -> Result<Vec<Created>, DeskError> {
        if asked.len() > MAX_ASKED {
            return Err(DeskError::TooMany);
        }
        let new: Vec<NewPayout> = asked.iter().cloned().map(Into::into).collect();
        new.iter().try_for_each(|new| self.check(&new.request))?;
        decide!(self.try_create(None, &new, by))
    }

    /// What would become of a request, without asking for it.
    pub async fn preview(&self, new: &NewPayout, by: &str) -> Result<Created, DeskError> {
        self.check(&new.request)?;
        let known = self.known(None, std::slice::from_ref(new)).await?;
        match known.get(&new.request.key) {
            Some(payout) => self.advised(payout.clone(), false).await,
            None => self.advised(self.new_payout(new, by).await?, true).await,
        }
    }

    pub(super) fn check(&self, request: &PayoutRequest) -> Result<(), DeskError> {
        request.validate()?;
        if request.vault != self.options.vault {
            return Err(DeskError::OtherVault(request.vault));
        }
        self.known_token(request.token)
    }

    /// Refuses a token that is not among those that are paid.
    pub(super) fn known_token(&self, token: Address) -> Result<(), DeskError> {
        if self.options.pays(token) { Ok(()) } else { Err(DeskError::UnknownToken(token)) }
    }

    pub(super) async fn try_create(
        &self,
        retry_of: Option<PayoutId>,
        asked: &[NewPayout],
        by: &str,
    ) -> Result<Vec<Created>, DeskError> {
        let mut known = self.known(retry_of, asked).await?;
        let mut page = Page::new(&self.clerk(by));
        let mut new = BTreeSet::new();
        for one in asked {
            match known.get(&one.request.key) {
                None => {
                    let payout = Payout { retry_of, ..self.new_payout(one, by).await? };
                    page.payout(None, payout.clone());
                    new.insert(payout.id);
                    known.insert(one.request.key.clone(), payout);
                }
                Some(known) => is_same(known, &one.request, retry_of)?,
            }
        }
        if !new.is_empty() {
            counted::commit(&self.ledger, page.into_commit()).await?;
        }
        let mut created = Vec::with_capacity(asked.len());
        for one in asked {
            let payout = known[&one.request.key].clone();
            let is_new = new.contains(&payout.id);
            created.push(self.advised(payout, is_new).await?);
        }
        Ok(created)
    }

    async fn known(
        &self,
        retry_of: Option<PayoutId>,
        asked: &[NewPayout],
    ) -> Result<BTreeMap<IdempotencyKey, Payout>, DeskError> {
        let keys: Vec<IdempotencyKey> = asked.iter().map(|new| new.request.key.clone()).collect();
        let known = self.ledger.payouts_of_keys(&keys).await?;
        let known: BTreeMap<_, _> =
            known.into_iter().map(|payout| (payout.request.key.clone(), payout)).collect();
        for NewPayout { request, .. } in asked {
            if let Some(known) = known.get(&request.key) {
                is_same(known, request, retry_of)?;
            }
        }
        Ok(known)
    }

    async fn new_payout(&self, new: &NewPayout, by: &str) -> Result<Payout, DeskError> {
        let now = self.store.now().await?;
        let id = PayoutId::new(now, (self.random)());
        let NewPayout { request, memo, reference } = new.clone();
        Ok(Payout { memo, reference, ..Payout::new(id, request, by, now) })
    }

    async fn advised(&self, payout: Payout, is_new: bool) -> Result<Created, DeskError> {
        let now = self.store.now().await?;
        let advice = if payout.state.holds_budget() {
            RiskVerdict::Passes
        } else {
            let budgets = self.budgets(&payout.request, UtcDay::of(now)).await?;
            self.verdict(&payout, &budgets, now).await?
        };
        Ok(Created { payout, is_new, advice })
    }
}

/// Whether a key stands for the same. What tries something again is not the same as what
/// does not: otherwise another payout would be taken for the retry.
fn is_same(known: &Payout, request: &PayoutRequest, retry_of: Option<PayoutId>) -> Result<(), DeskError> {
    let is_alike = retry_of.is_none() || known.retry_of == retry_of;
    if is_alike && known.request.parameters_hash() == request.parameters_hash() {
        return Ok(());
    }
    Err(DeskError::KeyReused { key: request.key.clone(), id: known.id })
}
