//! What of payouts is written in a commit.

use super::{ApiKey, Approval, Attempt, Budget, Intent, Payout, RowId, SignerRow};
use crate::chain::{Address, U256};
use crate::error::{StoreError, StoreResult};
use crate::payout::audit::{AuditEntry, AuditHead, AuditKey};
use crate::payout::request::VaultRef;

/// One write of a commit that concerns payouts. Rows with a version are made at 1 and
/// replaced by the next; [`StoreError::Stale`](crate::error::StoreError::Stale) where a
/// store holds another.
#[derive(Debug, Clone)]
pub enum PayWrite {
    /// Payouts, new or one version on.
    Payouts(Vec<Payout>),
    /// Approvals, each new.
    Approvals(Vec<Approval>),
    /// Sums of days, new or one version on.
    Budgets(Vec<Budget>),
    /// Transactions, new or one version on.
    Intents(Vec<Intent>),
    /// Signed forms, each new.
    Attempts(Vec<Attempt>),
    /// An account's nonces.
    Signer(SignerRow),
    /// A key of the API.
    ApiKey(ApiKey),
    /// Puts a row in the place of one that was refused, whatever stands there: for an operator who
    /// puts right what somebody has written past the log. No rule of the schema is asked.
    Replace(Box<ReplacedRow>),
    /// Takes a row away that the audit log does not name, with the approvals of a payout and the
    /// signed forms of a transaction. No rule of the schema is asked, but what a transaction pays
    /// stays as long as the transaction does.
    Remove(RowId),
    /// Entries of the audit log, chained with a key that is not kept.
    Audit {
        /// The log's key.
        key: AuditKey,
        /// What was done, in order.
        entries: Vec<AuditEntry>,
        /// Up to which entry the writer has followed the log: see [`check_tail`](super::check_tail).
        followed: Option<AuditHead>,
    },
    /// Writes nothing: refuses the commit where more than this is signed and in no block yet.
    /// Accounts that sign at the same time each see a balance without what the others are about
    /// to claim of it; the commits come one after another.
    OpenTotalLimit(OpenTotalLimit),
}

/// A row that is put in the place of one that was refused.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "it is boxed wherever it is kept")]
pub enum ReplacedRow {
    /// A payout.
    Payout(Payout),
    /// An approval.
    Approval(Approval),
    /// The sum of a day.
    Budget(Budget),
    /// A transaction with all of its signed forms.
    Intent(Intent, Vec<Attempt>),
    /// An account.
    Signer(SignerRow),
    /// A key of the API.
    ApiKey(ApiKey),
}

/// The most of a token that may be signed and in no block yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenTotalLimit {
    /// The vault that pays.
    pub vault: VaultRef,
    /// The token.
    pub token: Address,
    /// In base units.
    pub limit: U256,
}

impl OpenTotalLimit {
    /// Refuses a commit with which the total is this.
    pub fn check(&self, total: U256) -> StoreResult<()> {
        if total <= self.limit {
            return Ok(());
        }
        Err(StoreError::Stale(format!("what is signed of {} and in no block yet", self.token)))
    }
}

impl PayWrite {
    /// Entries of the audit log by a writer that has not followed it.
    pub const fn audit(key: AuditKey, entries: Vec<AuditEntry>) -> Self {
        Self::Audit { key, entries, followed: None }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        match self {
            Self::Payouts(rows) => rows.len(),
            Self::Approvals(rows) => rows.len(),
            Self::Budgets(rows) => rows.len(),
            Self::Intents(rows) => rows.iter().map(|intent| 1 + intent.payouts.len()).sum(),
            Self::Attempts(rows) => rows.len(),
            Self::Signer(_) | Self::ApiKey(_) | Self::Replace(_) | Self::Remove(_) => 1,
            Self::Audit { entries, .. } => entries.len(),
            Self::OpenTotalLimit(_) => 0,
        }
    }

    /// How much there is to keep, without what every row has.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Intents(rows) => rows.iter().map(|intent| intent.data.len()).sum(),
            Self::Attempts(rows) => rows.iter().map(|attempt| attempt.raw.len()).sum(),
            Self::Audit { entries, .. } => entries.iter().map(|entry| entry.detail.len()).sum(),
            Self::Payouts(rows) => rows.iter().map(note_bytes).sum(),
            _ => 0,
        }
    }

    /// The texts that come from elsewhere, which no store takes with NUL in them.
    pub fn texts(&self) -> Vec<&str> {
        match self {
            Self::Payouts(rows) => rows.iter().map(|payout| payout.created_by.as_str()).collect(),
            Self::Approvals(rows) => rows.iter().map(|approval| approval.approver.as_str()).collect(),
            Self::ApiKey(key) => vec![&key.name],
            Self::Signer(signer) => signer.halted.as_deref().into_iter().collect(),
            Self::Audit { entries, .. } => entries
                .iter()
                .flat_map(|entry| [&entry.actor, &entry.action, &entry.subject, &entry.detail])
                .map(String::as_str)
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// How much text a client has noted on a payout.
fn note_bytes(payout: &Payout) -> usize {
    let memo = payout.memo.as_ref().map_or(0, |memo| memo.as_str().len());
    memo + payout.reference.as_ref().map_or(0, |reference| reference.as_str().len())
}
