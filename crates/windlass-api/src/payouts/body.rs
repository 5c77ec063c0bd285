//! A payout as it is sent.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::payout::desk::Created;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::risk::RiskVerdict;
use windlass_core::payout::state::PayoutState;
use windlass_core::time::Timestamp;

use super::Pay;

/// A payout.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PayoutBody {
    id: String,
    /// The id under which the vault knows it.
    request_id: String,
    /// Grows by one with every change.
    version: i64,
    /// `PENDING_RISK`, `APPROVED`, `SUBMITTED`, `CONFIRMED`, `FAILED` or `REJECTED`.
    #[schema(value_type = String)]
    state: PayoutState,
    idempotency_key: String,
    chain: u64,
    vault: String,
    /// The token's contract; the zero address for the chain's own coin.
    token: String,
    /// What people call the token; its address where that is not known.
    asset: String,
    to: String,
    /// In base units of the token, decimal.
    amount: String,
    /// Why it was rejected, or has failed.
    reason: Option<String>,
    /// Why it waits, if it does.
    hold: Option<HoldBody>,
    /// The payout that is tried again by this one.
    retry_of: Option<String>,
    created_by: String,
    created_at: String,
    updated_at: String,
    submitted_at: Option<String>,
    confirmed_at: Option<String>,
    /// Since when nothing can undo it.
    finalized_at: Option<String>,
    /// Where it was paid, as far as is known.
    inclusion: Option<InclusionBody>,
}

/// Why a payout waits.
#[derive(Debug, Serialize, ToSchema)]
struct HoldBody {
    reason: String,
    /// Until then at least, where that is known.
    until: Option<String>,
}

/// Where a payout was paid.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct InclusionBody {
    transaction: String,
    block_number: u64,
    block_hash: String,
}

/// What the rules say of a payout today. They are asked again when it is approved.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AdviceBody {
    verdict: AdviceKind,
    /// Why it would be refused.
    reason: Option<String>,
    /// When it would be paid at the earliest.
    until: Option<String>,
}

/// What the rules say, in a word.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum AdviceKind {
    Passes,
    Waits,
    Refused,
}

/// A payout that was asked for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreatedBody {
    payout: PayoutBody,
    /// Whether it was asked for just now; otherwise its key was known.
    pub(crate) is_new: bool,
    advice: AdviceBody,
}

impl PayoutBody {
    pub(crate) fn of(pay: &Pay, payout: Payout) -> Self {
        let request = &payout.request;
        Self {
            id: payout.id.to_string(),
            request_id: request.request_id().to_string(),
            version: payout.version,
            state: payout.state,
            idempotency_key: request.key.to_string(),
            chain: request.vault.chain.as_u64(),
            vault: request.vault.address.to_checksum(None),
            token: request.token.to_checksum(None),
            asset: pay.asset(request.token),
            to: request.to.to_checksum(None),
            amount: request.amount.to_string(),
            reason: payout.reason,
            hold: payout.hold.map(|hold| HoldBody { reason: hold.reason, until: hold.until.map(time) }),
            retry_of: payout.retry_of.map(|id| id.to_string()),
            created_by: payout.created_by,
            created_at: time(payout.created_at),
            updated_at: time(payout.updated_at),
            submitted_at: payout.submitted_at.map(time),
            confirmed_at: payout.confirmed_at.map(time),
            finalized_at: payout.finalized_at.map(time),
            inclusion: payout.inclusion.map(InclusionBody::from),
        }
    }
}

impl From<windlass_core::payout::ledger::Inclusion> for InclusionBody {
    fn from(inclusion: windlass_core::payout::ledger::Inclusion) -> Self {
        Self {
            transaction: inclusion.transaction.to_string(),
            block_number: inclusion.block.number,
            block_hash: inclusion.block.hash.to_string(),
        }
    }
}

impl From<RiskVerdict> for AdviceBody {
    fn from(verdict: RiskVerdict) -> Self {
        match verdict {
            RiskVerdict::Passes => Self { verdict: AdviceKind::Passes, reason: None, until: None },
            RiskVerdict::Waits { until } => {
                Self { verdict: AdviceKind::Waits, reason: None, until: Some(time(until)) }
            }
            RiskVerdict::Refused(reason) => {
                Self { verdict: AdviceKind::Refused, reason: Some(reason.to_string()), until: None }
            }
        }
    }
}

impl CreatedBody {
    pub(crate) fn of(pay: &Pay, created: Created) -> Self {
        Self {
            is_new: created.is_new,
            advice: created.advice.into(),
            payout: PayoutBody::of(pay, created.payout),
        }
    }
}

/// An instant, as RFC 3339 writes it.
pub(super) fn time(at: Timestamp) -> String {
    // A time that no calendar has is told by its number.
    jiff::Timestamp::from_millisecond(at.as_ms()).map_or_else(|_| at.to_string(), |time| format!("{time:.3}"))
}
