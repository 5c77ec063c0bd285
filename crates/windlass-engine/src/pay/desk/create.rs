//! Asking for payouts.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::{Address, B256};
use windlass_core::payout::desk::{Created, DeskError, MAX_ASKED, NewPayout};
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest};
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::store::Payouts;
use windlass_core::time::Timestamp;

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

    /// What would become of requests, without asking for them.
    pub async fn preview_all(&self, asked: &[NewPayout], by: &str) -> Result<Vec<Created>, DeskError> {
        if asked.len() > MAX_ASKED {
            return Err(DeskError::TooMany);
        }
        asked.iter().try_for_each(|new| self.check(&new.request))?;
        let known = self.known(None, asked).await?;
        let now = self.store.now().await?;
        let payouts = asked.iter().zip(self.new_ids(asked.len(), now)).map(|(new, id)| {
            match known.get(&new.request.key) {
                Some(payout) => (payout.clone(), false),
                None => (new_payout(id, new, by, now), true),
            }
        });
        self.advised(payouts.collect()).await
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
        let now = self.store.now().await?;
        let mut page = Page::new(&self.clerk(by));
        let mut new = BTreeSet::new();
        for (one, id) in asked.iter().zip(self.new_ids(asked.len(), now)) {
            match known.get(&one.request.key) {
                None => {
                    let payout = Payout { retry_of, ..new_payout(id, one, by, now) };
                    page.payout(None, payout.clone());
                    new.insert(payout.id);
                    known.insert(one.request.key.clone(), payout);
                }
                Some(known) => is_same(known, &one.request, retry_of)?,
            }
        }
        if !new.is_empty()
            && let Err(error) = counted::commit(&self.ledger, page.into_commit()).await
        {
            self.check_request_ids(asked).await?;
            return Err(error.into());
        }
        let payouts = asked.iter().map(|one| {
            let payout = known[&one.request.key].clone();
            let is_new = new.contains(&payout.id);
            (payout, is_new)
        });
        self.advised(payouts.collect()).await
    }

    /// A row that stands under the request id of another request keeps it from being stored: it is refused,
    /// and named.
    async fn check_request_ids(&self, asked: &[NewPayout]) -> Result<(), DeskError> {
        let ids: Vec<B256> = asked.iter().map(|new| new.request.request_id()).collect();
        self.ledger.payouts_of_requests(&ids).await?;
        Ok(())
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

    /// Ids of payouts that are asked for together: they sort as they were asked for.
    fn new_ids(&self, count: usize, now: Timestamp) -> Vec<PayoutId> {
        let mut ids: Vec<PayoutId> = (0..count).map(|_| PayoutId::new(now, (self.random)())).collect();
        ids.sort_unstable();
        ids
    }

    /// What the rules say of payouts today. What they are asked by is read for all at once.
    async fn advised(&self, payouts: Vec<(Payout, bool)>) -> Result<Vec<Created>, DeskError> {
        let now = self.store.now().await?;
        let undecided: Vec<&Payout> =
            payouts.iter().map(|(payout, _)| payout).filter(|payout| !payout.state.holds_budget()).collect();
        let facts = self.facts(&undecided, now).await?;
        let advice = |payout: &Payout| match payout.state.holds_budget() {
            true => RiskVerdict::Passes,
            false => facts.verdict(&self.options.rules, payout),
        };
        let created = payouts.into_iter().map(|(payout, is_new)| {
            let advice = advice(&payout);
            let refusal = match advice {
                RiskVerdict::Refused(reason) => {
                    Some(self.options.refusal(reason, &payout.request, &facts.of(&payout)))
                }
                RiskVerdict::Passes | RiskVerdict::Waits { .. } => None,
            };
            Created { payout, is_new, advice, refusal }
        });
        Ok(created.collect())
    }
}

fn new_payout(id: PayoutId, new: &NewPayout, by: &str, now: Timestamp) -> Payout {
    let NewPayout { request, memo, reference } = new.clone();
    Payout { memo, reference, ..Payout::new(id, request, by, now) }
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
