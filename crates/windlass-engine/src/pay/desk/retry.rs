//! Trying again what has ended without payment: as a payout of its own, linked to the old one.

use windlass_core::payout::desk::{Created, DeskError, NewPayout};
use windlass_core::payout::ledger::IntentState;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{PayoutQuery, Payouts};
use windlass_core::payout::vault::answer::VaultStatus;

use super::{Desk, decide};

impl Desk {
    /// Asks again for what a payout asked for, under a new key, once. Refused while a
    /// transaction of the old one could still pay it, and where the vault, whose word the
    /// caller brings, has paid it.
    pub async fn retry(
        &self,
        id: PayoutId,
        key: IdempotencyKey,
        vault_says: VaultStatus,
        by: &str,
    ) -> Result<Created, DeskError> {
        decide!(self.try_retry(id, &key, vault_says, by))
    }

    /// Whether it may be made is decided anew as well: somebody else may have tried it again.
    async fn try_retry(
        &self,
        id: PayoutId,
        key: &IdempotencyKey,
        vault_says: VaultStatus,
        by: &str,
    ) -> Result<Created, DeskError> {
        let new = self.retriable(id, key.clone(), vault_says).await?;
        self.check(&new.request)?;
        let created = self.try_create(Some(id), &[new], by).await?;
        created.into_iter().next().ok_or(DeskError::NotFound(id))
    }

    /// What a retry asks for, if it may be made.
    pub(super) async fn retriable(
        &self,
        id: PayoutId,
        key: IdempotencyKey,
        vault_says: VaultStatus,
    ) -> Result<NewPayout, DeskError> {
        let old = self.find(id).await?;
        if !matches!(old.state, PayoutState::Failed | PayoutState::Rejected) {
            return Err(DeskError::NotEnded(old.state));
        }
        if vault_says == VaultStatus::Paid {
            return Err(DeskError::MightBePaid("it says that it has paid it".to_owned()));
        }
        let query = PayoutQuery { retry_of: Some(id), limit: 1, ..PayoutQuery::default() };
        if let Some(retry) = self.ledger.list_payouts(&query).await?.pop()
            && retry.request.key != key
        {
            return Err(DeskError::RetriedAlready(retry.id));
        }
        if let Some(hold) = old.hold {
            return Err(DeskError::MightBePaid(hold.reason));
        }
        for intent in self.ledger.intents_of(id).await? {
            if matches!(intent.state, IntentState::Open | IntentState::Mined) {
                let told = format!("transaction {} is {}", intent.id, intent.state.as_str());
                return Err(DeskError::MightBePaid(told));
            }
        }
        let request = PayoutRequest { key, ..old.request };
        Ok(NewPayout { request, memo: old.memo, reference: old.reference })
    }
}
