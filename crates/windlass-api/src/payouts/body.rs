//! A payout as JSON: the same over HTTP and as commands print it.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::chain::Address;
use windlass_core::money::{Amount, Token};
use windlass_core::payout::desk::Created;
use windlass_core::payout::ledger::{Inclusion, Payout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::state::PayoutState;
use windlass_core::time::Timestamp;

use super::advice::AdviceBody;

/// The tokens that are paid, by address.
pub type Tokens = BTreeMap<Address, Token>;

/// A payout.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PayoutBody {
    /// `null` in the answer to a dry run, for a payout that was not stored.
    id: Option<String>,
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
    /// In whole tokens, exact; `null` where the token's decimals are not known.
    decimal_amount: Option<String>,
    /// What it is for, in the words of whoever created it.
    memo: Option<String>,
    /// The client's identifier for it in another system.
    reference: Option<String>,
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
pub(crate) struct HoldBody {
    reason: String,
    /// Until then at least, where that is known.
    until: Option<String>,
}

/// Where a payout was paid.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InclusionBody {
    transaction: String,
    block_number: u64,
    block_hash: String,
}

/// A payout that was asked for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedBody {
    payout: PayoutBody,
    /// Whether it was asked for just now; otherwise its key was known. In a dry run, whether it would be.
    pub(crate) is_new: bool,
    /// Whether this is what would become of a request: nothing was stored.
    dry_run: bool,
    advice: AdviceBody,
}

impl PayoutBody {
    /// A payout, whose token is one of these or not known any more.
    pub fn new(tokens: &Tokens, payout: Payout) -> Self {
        let request = &payout.request;
        let token = tokens.get(&request.token);
        let decimal = |token: &Token| Amount { units: request.amount, token: token.clone() }.decimal();
        Self {
            id: Some(payout.id.to_string()),
            request_id: request.request_id().to_string(),
            version: payout.version,
            state: payout.state,
            idempotency_key: request.key.to_string(),
            chain: request.vault.chain.as_u64(),
            vault: request.vault.address.to_checksum(None),
            token: request.token.to_checksum(None),
            asset: asset(tokens, request.token),
            to: request.to.to_checksum(None),
            amount: request.amount.to_string(),
            decimal_amount: token.map(decimal),
            memo: payout.memo.map(Memo::into),
            reference: payout.reference.map(Reference::into),
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

impl From<Inclusion> for InclusionBody {
    fn from(inclusion: Inclusion) -> Self {
        Self {
            transaction: inclusion.transaction.to_string(),
            block_number: inclusion.block.number,
            block_hash: inclusion.block.hash.to_string(),
        }
    }
}

impl CreatedBody {
    /// A payout that was created.
    pub fn new(tokens: &Tokens, created: Created) -> Self {
        Self {
            is_new: created.is_new,
            dry_run: false,
            advice: created.advice.into(),
            payout: PayoutBody::new(tokens, created.payout),
        }
    }

    /// A payout that would be created, or is known already. One that is not stored has no id: what is
    /// created later has another.
    pub fn preview(tokens: &Tokens, created: Created) -> Self {
        let mut body = Self { dry_run: true, ..Self::new(tokens, created) };
        if body.is_new {
            body.payout.id = None;
        }
        body
    }
}

/// What people call a token; its address where that is not known.
pub(crate) fn asset(tokens: &Tokens, token: Address) -> String {
    tokens.get(&token).map_or_else(|| token.to_checksum(None), |known| known.symbol.clone())
}

/// An instant, as RFC 3339 writes it.
pub fn time(at: Timestamp) -> String {
    // A time that no calendar has is told by its number.
    jiff::Timestamp::from_millisecond(at.as_ms()).map_or_else(|_| at.to_string(), |time| format!("{time:.3}"))
}
