//! Asking for payouts.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest};
use windlass_core::payout::risk::RiskVerdict;

use super::{Desk, DeskError, MAX_ASKED, decide};
use crate::pay::page::Page;

/// One payout that is asked for.
#[derive(Debug, Clone)]
pub struct Asked {
    /// What.
    pub request: PayoutRequest,
    /// The payout that it tries again.
    pub retry_of: Option<PayoutId>,
}

/// A payout that was asked for.
#[derive(Debug, Clone)]
pub struct Created {
    /// The payout, as it stands now.
    pub payout: Payout,
    /// Whether it was asked for just now; otherwise its key was known.
    pub is_new: bool,
    /// What the rules say of it today. Not binding: they are asked again at approval.
    pub advice: RiskVerdict,
}

impl Desk {
    /// Asks for payouts, for all or for none. A key that was used for the same is the
    /// same payout.
    pub async fn create(&self, asked: &[Asked], by: &str) -> Result<Vec<Created>, DeskError> {
        if asked.len() > MAX_ASKED {
            return Err(DeskError::TooMany);
        }
        asked.iter().try_for_each(|asked| self.check(&asked.request))?;
        decide!(self.try_create(asked, by))
    }

    /// What would become of a request, without asking for it.
    pub async fn preview(&self, asked: &Asked, by: &str) -> Result<Created, DeskError> {
        self.check(&asked.request)?;
        let known = self.known(std::slice::from_ref(asked)).await?;
        match known.get(&asked.request.key) {
            Some(payout) => self.advised(payout.clone(), false).await,
            None => self.advised(self.new_payout(asked, by).await?, true).await,
        }
    }

    fn check(&self, request: &PayoutRequest) -> Result<(), DeskError> {
        request.validate()?;
        if request.vault != self.options.vault {
            return Err(DeskError::OtherVault);
        }
        if !self.options.tokens.is_empty() && !self.options.tokens.contains_key(&request.token) {
            return Err(DeskError::UnknownToken(request.token));
        }
        Ok(())
    }

    async fn try_create(&self, asked: &[Asked], by: &str) -> Result<Vec<Created>, DeskError> {
        let mut known = self.known(asked).await?;
        let mut page = Page::new(&self.clerk(by));
        let mut new = BTreeSet::new();
        for asked in asked {
            let key = &asked.request.key;
            match known.get(key) {
                None => {
                    let payout = self.new_payout(asked, by).await?;
                    page.payout(None, payout.clone());
                    new.insert(payout.id);
                    known.insert(key.clone(), payout);
                }
                Some(known) => is_same(known, &asked.request)?,
            }
        }
        if !new.is_empty() {
            self.store.commit(page.into_commit()).await?;
        }
        let mut created = Vec::with_capacity(asked.len());
        for asked in asked {
            let payout = known[&asked.request.key].clone();
            let is_new = new.contains(&payout.id);
            created.push(self.advised(payout, is_new).await?);
        }
        Ok(created)
    }

    async fn known(&self, asked: &[Asked]) -> Result<BTreeMap<IdempotencyKey, Payout>, DeskError> {
        let keys: Vec<IdempotencyKey> = asked.iter().map(|asked| asked.request.key.clone()).collect();
        let known = self.store.payouts_of_keys(&keys).await?;
        let known: BTreeMap<_, _> =
            known.into_iter().map(|payout| (payout.request.key.clone(), payout)).collect();
        for asked in asked {
            if let Some(known) = known.get(&asked.request.key) {
                is_same(known, &asked.request)?;
            }
        }
        Ok(known)
    }

    async fn new_payout(&self, asked: &Asked, by: &str) -> Result<Payout, DeskError> {
        let now = self.store.now().await?;
        let id = PayoutId::new(now, (self.random)());
        Ok(Payout { retry_of: asked.retry_of, ..Payout::new(id, asked.request.clone(), by, now) })
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

fn is_same(known: &Payout, request: &PayoutRequest) -> Result<(), DeskError> {
    if known.request.parameters_hash() == request.parameters_hash() {
        return Ok(());
    }
    Err(DeskError::KeyReused { key: request.key.clone(), id: known.id })
}
