//! Where payouts are asked for, approved, rejected and tried again.
//!
//! Every command reads, decides, and commits on the condition that nothing it stood on
//! has changed; where it has, the command is decided anew.

mod approve;
mod create;
mod reject;
mod retry;

use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::error::StoreError;
use windlass_core::name::NameError;
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Budget, BudgetKey, IllegalMove, Payout};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, PayoutRequestError};
use windlass_core::payout::risk::{Candidate, RiskFacts, RiskVerdict};
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;
use windlass_core::time::Timestamp;

pub use self::approve::Approved;
pub use self::create::{Asked, Created};

use super::names::PayNames;
use super::options::PayOptions;
use super::page::Clerk;

/// How often a command is decided anew before it is given up.
const MAX_TRIES: u32 = 50;

/// The most payouts that one command asks for.
pub const MAX_ASKED: usize = 1_000;

/// The desk of one vault.
#[derive(Clone)]
pub struct Desk {
    store: Arc<dyn Store>,
    options: Arc<PayOptions>,
    names: PayNames,
    key: AuditKey,
    random: Arc<dyn Fn() -> u128 + Send + Sync>,
}

/// Why a command was refused.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A step that no payout can take.
    #[error(transparent)]
    Move(#[from] IllegalMove),
    /// There is no such payout.
    #[error("request not found")]
    NotFound(PayoutId),
    /// It is past being approved.
    #[error("request not in PENDING_RISK status")]
    NotPending(PayoutState),
    /// It is on its way, or over.
    #[error(
        "the payout is {0} and can no longer be rejected or cancelled here; a submitted one is cancelled on the vault"
    )]
    NotRejectable(PayoutState),
    /// It has not ended without payment.
    #[error("the payout is {0}; only one that has FAILED or was REJECTED can be tried again")]
    NotEnded(PayoutState),
    /// The vault has paid it, or may still.
    #[error("the vault might still pay the old payout: {0}")]
    MightBePaid(String),
    /// It is tried again already.
    #[error("the payout is tried again already, as payout {0}")]
    RetriedAlready(PayoutId),
    /// Whoever asked for it may not approve it.
    #[error("whoever asked for a payout cannot approve it")]
    OwnPayout,
    /// The key was used for something else.
    #[error("key {key} was used for payout {id}, with other parameters")]
    KeyReused {
        /// The key.
        key: IdempotencyKey,
        /// What it was used for.
        id: PayoutId,
    },
    /// No vault would pay it.
    #[error(transparent)]
    Request(#[from] PayoutRequestError),
    /// The vault does not pay this token.
    #[error("token {0} is not among those that are paid")]
    UnknownToken(windlass_core::chain::Address),
    /// The request is for another vault.
    #[error("the request names another vault")]
    OtherVault,
    /// Too many at once.
    #[error("a command asks for at most {MAX_ASKED} payouts")]
    TooMany,
    /// Others changed what it stood on, every time.
    #[error("the payout, or the day's budget, is being changed by others all the time")]
    Crowded,
}

impl DeskError {
    /// The code under which this error is explained.
    pub fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Crowded => Code::DatabaseBusy,
            _ => Code::DatabaseFailed,
        }
    }

    fn is_overtaken(&self) -> bool {
        matches!(self, Self::Store(StoreError::Stale(_)))
    }
}

/// Decides a command anew as long as somebody else is quicker.
macro_rules! decide {
    ($step:expr) => {{
        let mut tries = 0;
        loop {
            match $step.await {
                Err(error) if error.is_overtaken() => {
                    tries += 1;
                    if tries == super::MAX_TRIES {
                        break Err(super::DeskError::Crowded);
                    }
                }
                done => break done,
            }
        }
    }};
}
pub(crate) use decide;

impl Desk {
    /// The desk of a vault. `random` tells payouts of one millisecond apart.
    pub fn new(
        store: Arc<dyn Store>,
        options: Arc<PayOptions>,
        key: AuditKey,
        random: Arc<dyn Fn() -> u128 + Send + Sync>,
    ) -> Result<Self, NameError> {
        let names = PayNames::new(options.vault)?;
        Ok(Self { store, options, names, key, random })
    }

    fn clerk(&self, actor: &str) -> Clerk {
        Clerk { actor: actor.into(), partition: self.names.partition.clone(), key: self.key.clone() }
    }

    async fn find(&self, id: PayoutId) -> Result<Payout, DeskError> {
        self.store.payouts(&[id]).await?.pop().ok_or(DeskError::NotFound(id))
    }

    /// The day's sums that a payout counts against: of everybody, and of its recipient.
    async fn budgets(&self, request: &PayoutRequest, day: UtcDay) -> Result<[Budget; 2], DeskError> {
        budgets(&*self.store, request, day).await.map_err(Into::into)
    }

    /// Whether a payout may be made, with what the day holds besides it.
    async fn verdict(
        &self,
        payout: &Payout,
        budgets: &[Budget; 2],
        now: Timestamp,
    ) -> Result<RiskVerdict, DeskError> {
        let request = &payout.request;
        let facts = RiskFacts {
            now,
            day_total: budgets[0].total,
            recipient_total: budgets[1].total,
            is_known_recipient: self.store.has_paid(request.vault, request.to).await?,
        };
        Ok(self.options.rules.check(&candidate(payout), &facts))
    }
}

/// A payout as the rules see it.
pub(super) fn candidate(payout: &Payout) -> Candidate {
    let request = &payout.request;
    Candidate { token: request.token, to: request.to, amount: request.amount, created_at: payout.created_at }
}

/// The day's sums that a payout counts against: of everybody, and of its recipient.
pub(super) async fn budgets(
    store: &dyn Store,
    request: &PayoutRequest,
    day: UtcDay,
) -> Result<[Budget; 2], StoreError> {
    let key = |to| BudgetKey { vault: request.vault, token: request.token, day, to };
    let found = store.budgets(&[key(None), key(Some(request.to))]).await?;
    <[Budget; 2]>::try_from(found).map_err(|_| StoreError::Other("two budgets were asked for".to_owned()))
}
