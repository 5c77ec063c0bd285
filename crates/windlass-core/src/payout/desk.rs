//! The port to where payouts are asked for, approved, rejected and tried again: what the
//! API and the command line have in common.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::ledger::{IllegalMove, MAX_REASON_BYTES, Payout};
use super::memo::{Memo, Reference};
use super::request::{IdempotencyKey, PayoutId, PayoutRequest, PayoutRequestError, VaultRef};
use super::risk::{RiskRules, RiskVerdict};
use super::risk_report::RiskReport;
use super::state::PayoutState;
use super::vault::answer::VaultAnswerError;
use crate::chain::Address;
use crate::code::Code;
use crate::error::StoreError;
use crate::money::Token;
use crate::name::NameError;
use crate::reader::ChainError;

/// The most payouts that one command asks for.
pub const MAX_ASKED: usize = 1_000;

/// A payout that is to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPayout {
    /// What is to be paid. The same idempotency key with another request is refused.
    pub request: PayoutRequest,
    /// What it is for. Where the key is known already, the stored memo stays as it is.
    pub memo: Option<Memo>,
    /// The client's identifier for it in another system; the stored one stays as well.
    pub reference: Option<Reference>,
}

impl From<PayoutRequest> for NewPayout {
    fn from(request: PayoutRequest) -> Self {
        Self { request, memo: None, reference: None }
    }
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
    /// Why they refuse it, if they do, with the limit, what is used of it, and the amount.
    pub refusal: Option<String>,
}

/// What an approval has brought about.
#[derive(Debug, Clone)]
pub struct Approved {
    /// The payout, as it stands now: approved, rejected by the rules, or waiting for more approvers.
    pub payout: Payout,
    /// How many have approved it.
    pub approvals: u32,
    /// How many have to.
    pub needed: u32,
    /// What the rules say of it now, with headroom. The approval is stored by then: where this
    /// cannot be read, it is left out.
    pub report: Option<RiskReport>,
}

/// What an approval would bring about.
#[derive(Debug, Clone)]
pub struct Prospect {
    /// The payout, as it stands now.
    pub payout: Payout,
    /// How many would have approved it.
    pub approvals: u32,
    /// How many have to.
    pub needed: u32,
    /// Whether this approver has approved it already.
    pub is_repeated: bool,
    /// What the rules would say if it were the last, with headroom.
    pub report: RiskReport,
}

/// Why a payout was ended, in words that can be shown to anybody.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

/// How the reason of a payout begins that was taken back.
const CANCELLED: &str = "cancelled: ";
/// The longest reason that is given: behind its beginning it is kept whole.
const MAX_GIVEN_BYTES: usize = MAX_REASON_BYTES - CANCELLED.len();

/// The text is no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a reason has 1 to {MAX_GIVEN_BYTES} bytes without control characters")]
pub struct ReasonError;

impl Reason {
    /// Checks and takes a reason.
    pub fn new(text: &str) -> Result<Self, ReasonError> {
        let text = text.trim();
        let fits = (1..=MAX_GIVEN_BYTES).contains(&text.len()) && !text.chars().any(char::is_control);
        if fits { Ok(Self(text.to_owned())) } else { Err(ReasonError) }
    }

    /// The reason of a payout that was taken back.
    pub fn cancelled(&self) -> String {
        format!("{CANCELLED}{}", self.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What there is to know of a desk.
#[derive(Debug, Clone)]
pub struct DeskInfo {
    /// The vault that pays.
    pub vault: VaultRef,
    /// The tokens that it pays; any when empty.
    pub tokens: BTreeMap<Address, Token>,
    /// What may be paid.
    pub rules: RiskRules,
}

/// The desk of one vault. Who asks was let in before; `by` is the name under which the
/// deed stands in the audit log.
#[async_trait]
pub trait PayoutDesk: Send + Sync {
    /// What there is to know of it.
    fn info(&self) -> DeskInfo;

    /// Asks for payouts, for all or for none. A key that was used for the same is the same payout.
    async fn create(&self, new: &[NewPayout], by: &str) -> Result<Vec<Created>, DeskError>;

    /// What would become of requests, without asking for them, in their order.
    async fn preview_all(&self, new: &[NewPayout], by: &str) -> Result<Vec<Created>, DeskError>;

    /// What would become of a request, without asking for it.
    async fn preview(&self, new: &NewPayout, by: &str) -> Result<Created, DeskError> {
        let created = self.preview_all(std::slice::from_ref(new), by).await?.pop();
        created.ok_or_else(|| StoreError::Other("a request was not previewed".to_owned()).into())
    }

    /// How many have to approve a payout.
    fn needed(&self, payout: &Payout) -> u32;

    /// What the rules say of a payout now, with headroom. What it holds of the day itself is not
    /// counted as used.
    async fn report(&self, payout: &Payout) -> Result<RiskReport, DeskError>;

    /// Says yes to a payout.
    async fn approve(&self, id: PayoutId, by: &str) -> Result<Approved, DeskError>;

    /// What saying yes would bring about.
    async fn preview_approve(&self, id: PayoutId, by: &str) -> Result<Prospect, DeskError>;

    /// Ends a payout that nothing was signed for, because somebody says no.
    async fn reject(&self, id: PayoutId, by: &str, reason: &Reason) -> Result<Payout, DeskError>;

    /// The same, because whoever asked takes it back.
    async fn cancel(&self, id: PayoutId, by: &str, reason: &Reason) -> Result<Payout, DeskError>;

    /// The payout that ending it would end.
    async fn preview_reject(&self, id: PayoutId) -> Result<Payout, DeskError>;

    /// What a retry would ask for, if it may be made.
    async fn preview_retry(&self, id: PayoutId, key: IdempotencyKey) -> Result<NewPayout, DeskError>;

    /// Asks again, under a new key, for what has ended without payment. The vault itself is asked first.
    async fn retry(&self, id: PayoutId, key: IdempotencyKey, by: &str) -> Result<Created, DeskError>;
}

/// Why a command was refused.
#[derive(Debug, thiserror::Error)]
pub enum DeskError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The chain, which was asked about the vault.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The vault, or what stands in its place.
    #[error(transparent)]
    Vault(#[from] VaultAnswerError),
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
    #[error("request not in PENDING_RISK status: the payout {}", past_approval(*.0))]
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
    UnknownToken(Address),
    /// The payout is another vault's.
    #[error("the payout is of another vault, {:#x} on chain {}", .0.address, .0.chain)]
    OtherVault(VaultRef),
    /// Too many at once.
    #[error("a command asks for at most {MAX_ASKED} payouts")]
    TooMany,
    /// Others changed what it stood on, every time.
    #[error("the payout, or the day's budget, is being changed by others all the time")]
    Crowded,
}

/// How a payout stands that takes no approval any more.
pub const fn past_approval(state: PayoutState) -> &'static str {
    match state {
        PayoutState::PendingRisk => "waits for approvals",
        PayoutState::Approved => "is APPROVED and takes no more approvals",
        PayoutState::Submitted => "is SUBMITTED: its transaction is signed",
        PayoutState::Confirmed => "is CONFIRMED and paid",
        PayoutState::Failed => "has FAILED, and a retry asks for it again",
        PayoutState::Rejected => "is REJECTED, and a retry asks for it again",
    }
}

impl DeskError {
    /// The code under which this error is explained.
    pub fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Chain(error) => error.kind.code(),
            Self::Vault(_) => Code::VaultUnusable,
            Self::Crowded => Code::DatabaseBusy,
            Self::NotFound(_) => Code::PayoutMissing,
            Self::KeyReused { .. } => Code::PayoutKeyReused,
            Self::OwnPayout => Code::AccessDenied,
            Self::Name(_) => Code::ConfigInvalid,
            _ => Code::PayoutRefused,
        }
    }

    /// Whether somebody else was quicker: what was decided is to be decided anew.
    pub fn is_overtaken(&self) -> bool {
        matches!(self, Self::Store(StoreError::Stale(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_can_be_shown_and_is_kept_whole() {
        assert_eq!(
            Reason::new("  a slip ").map(|reason| reason.cancelled()),
            Ok("cancelled: a slip".to_owned())
        );
        for text in ["", "   ", "a\u{1b}[2Jb", "two\nlines", &"x".repeat(MAX_GIVEN_BYTES + 1)] {
            assert_eq!(Reason::new(text), Err(ReasonError));
        }
        let longest = Reason::new(&"x".repeat(MAX_GIVEN_BYTES)).expect("a reason");
        assert_eq!(longest.cancelled().len(), MAX_REASON_BYTES);
    }
}
