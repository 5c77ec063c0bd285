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
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;

use super::counted;
use super::error::PayError;
use super::names::PayNames;
use super::payer::Payer;
use super::reconcile::recheck::{Presence, write_lost};

/// How often the decision is made again after another process has changed a row of it.
const MAX_TRIES: u32 = 10;

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
        state: PayoutState,
    },
    /// Somebody has sent it again already.
    #[error("the payment of payout {0} is being sent again already: the payout is SUBMITTED")]
    AlreadyResent(PayoutId),
    /// Other processes changed the payout at every try.
    #[error("payout {0} or its transaction is being changed by other processes; nothing was sent again")]
    Contended(PayoutId),
    /// No transaction is stored for it.
    #[error(
        "the payment of payout {0} was found on the chain: no transaction is stored that could be sent again"
    )]
    NoTransaction(PayoutId),
    /// The chain has it, or may have it.
    #[error("the vault or an endpoint still has the payment of payout {0}: nothing is sent again")]
    StillThere(PayoutId),
}

impl ResendError {
    /// Whether another process has changed a row since it was read, so that the decision is to be
    /// made again.
    fn is_overtaken(&self) -> bool {
        match self {
            Self::Pay(error) => error.is_overtaken(),
            Self::Store(error) => matches!(error, StoreError::Stale(_)),
            _ => false,
        }
    }
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
        let lost = || match payout.state {
            PayoutState::Submitted => ResendError::AlreadyResent(id),
            state => ResendError::NotLost { id, state },
        };
        if !payout.is_payment_lost() || payout.request.vault != self.options.vault {
            return Err(lost());
        }
        let transaction = payout.intent.ok_or(ResendError::NoTransaction(id))?;
        let intent = self.ledger.intent(transaction).await?.ok_or(ResendError::NoTransaction(id))?;
        match intent.state {
            IntentState::Mined => {}
            // Sent again between the two reads.
            IntentState::Open => return Err(ResendError::AlreadyResent(id)),
            IntentState::Reverted | IntentState::Displaced => return Err(lost()),
        }
        let payouts = self.ledger.payouts(&intent.payouts).await?;
        let presences = self.presence_of(&payouts).await?;
        if let Some((there, _)) = presences.iter().find(|(_, presence)| *presence != Presence::Lost) {
            return Err(ResendError::StillThere(there.id));
        }
        Ok(Resent { transaction, payouts })
    }

    /// Takes a payout back to SUBMITTED, with all that its transaction pays: the tracker sends the
    /// stored transaction again and follows it. Of two that do so at once one succeeds, and the other
    /// is told so.
    pub async fn resend(&self, id: PayoutId) -> Result<Resent, ResendError> {
        for _ in 0..MAX_TRIES {
            match self.try_resend(id).await {
                Err(error) if error.is_overtaken() => {}
                done => return done,
            }
        }
        Err(ResendError::Contended(id))
    }

    async fn try_resend(&self, id: PayoutId) -> Result<Resent, ResendError> {
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
