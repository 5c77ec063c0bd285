//! Sending a payment again that was final and that the chain has lost: an operator decides.
//!
//! The stored bytes are sent again, never a new transaction: they use the nonce that the reorg
//! left open, and the vault refuses to pay the request twice.

use serde_json::json;
use windlass_core::commit::Write;
use windlass_core::error::StoreError;
use windlass_core::job::NewJob;
use windlass_core::name::NameError;
use windlass_core::payout::ledger::{IllegalMove, IntentId, IntentState, PayWrite, Payout};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::Payouts;

use super::counted;
use super::error::PayError;
use super::names::PayNames;
use super::payer::Payer;
use super::reconcile::recheck::{Presence, write_lost};

/// Why a payment is not sent again.
#[derive(Debug, thiserror::Error)]
pub enum ResendError {
    /// A question to the chain, the vault or the store.
    #[error(transparent)]
    Pay(#[from] PayError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such payout.
    #[error("there is no payout {0}")]
    NotFound(PayoutId),
    /// Its payment is not marked as lost.
    #[error("payout {id} is {state}, and its payment is not known to be lost")]
    NotLost {
        /// Which payout.
        id: PayoutId,
        /// In which state.
        state: windlass_core::payout::state::PayoutState,
    },
    /// No transaction is stored for it.
    #[error(
        "the payment of payout {0} was found on the chain: no transaction is stored that could be sent again"
    )]
    NoTransaction(PayoutId),
    /// The chain has it, or may have it.
    #[error("the vault or an endpoint still has the payment of payout {0}: nothing is sent again")]
    StillThere(PayoutId),
}

impl From<IllegalMove> for ResendError {
    fn from(error: IllegalMove) -> Self {
        Self::NotLost { id: error.id, state: error.from }
    }
}

/// What is sent again.
#[derive(Debug, Clone)]
pub struct Resent {
    /// The transaction.
    pub transaction: IntentId,
    /// All that it pays.
    pub payouts: Vec<Payout>,
}

impl Payer {
    /// What sending a payout's payment again would bring about.
    pub async fn preview_resend(&self, id: PayoutId) -> Result<Resent, ResendError> {
        let payout = self.ledger.payouts(&[id]).await?.pop().ok_or(ResendError::NotFound(id))?;
        let lost = || ResendError::NotLost { id, state: payout.state };
        if !payout.is_payment_lost() || payout.request.vault != self.options.vault {
            return Err(lost());
        }
        let transaction = payout.intent.ok_or(ResendError::NoTransaction(id))?;
        let intent = self.ledger.intent(transaction).await?.ok_or(ResendError::NoTransaction(id))?;
        if intent.state != IntentState::Mined {
            return Err(lost());
        }
        let payouts = self.ledger.payouts(&intent.payouts).await?;
        let presences = self.presence_of(&payouts).await?;
        if let Some((there, _)) = presences.iter().find(|(_, presence)| *presence != Presence::Lost) {
            return Err(ResendError::StillThere(there.id));
        }
        Ok(Resent { transaction, payouts })
    }

    /// Takes a payout back to SUBMITTED, with all that its transaction pays: the tracker sends the
    /// stored transaction again and follows it.
    pub async fn resend(&self, id: PayoutId) -> Result<Resent, ResendError> {
        let Resent { transaction, payouts } = self.preview_resend(id).await?;
        let intent = self.ledger.intent(transaction).await?.ok_or(ResendError::NoTransaction(id))?;
        let now = self.store.now().await?;
        let mut page = self.page();
        let ids: Vec<PayoutId> = payouts.iter().map(|payout| payout.id).collect();
        let approvals = self.ledger.approvals(&ids).await?;
        let mut resent = Vec::with_capacity(payouts.len());
        for payout in &payouts {
            // One of a batch may not have been marked yet.
            let lost = match payout.is_payment_lost() {
                true => payout.clone(),
                false => write_lost(&mut page, payout, &approvals, now),
            };
            page.note("payout.resent", payout.id, json!({"was": payout.inclusion}));
            let next = lost.resent(now)?;
            page.payout(Some(&lost), next.clone());
            resent.push(next);
        }
        page.note("transaction.reopened", transaction, json!({"was": intent.inclusion}));
        page.write(Write::Pay(PayWrite::Intents(vec![intent.reopened(now)])));
        page.job(NewJob::new(self.names.track.clone(), PayNames::intent_lane(transaction)?, "{}"));
        counted::commit(&self.ledger, page.into_commit()).await?;
        Ok(Resent { transaction, payouts: resent })
    }
}
