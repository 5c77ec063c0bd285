//! All there is to one payout: who has approved it, what was signed for it, what the rules say.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::desk::{DeskError, DeskInfo};
use windlass_core::payout::ledger::{Approval, Attempt, Intent, Payout, ReceiptSummary, fees_of};
use windlass_core::payout::risk_report::RiskReport;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::time::Timestamp;

use super::advice::RiskBody;
use super::body::{InclusionBody, PayoutBody, Tokens, time};
use super::read;
use crate::access::Admitted;
use crate::error::ApiResult;

/// A payout, with all that belongs to it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PayoutDetail {
    #[serde(flatten)]
    payout: PayoutBody,
    /// Who has approved it, by name.
    approvals: Vec<ApprovalBody>,
    /// How many have to.
    approvals_needed: u32,
    /// The transactions that were to pay it, the oldest first; of many, the newest.
    intents: Vec<IntentBody>,
    /// What its transactions have cost so far, in wei of the chain's own coin: of a batch, its share.
    /// `null` where no receipt has told.
    fee: Option<String>,
    /// What the rules say of it today, with headroom, until it is signed.
    advice: Option<RiskBody>,
}

/// That somebody has approved.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ApprovalBody {
    approver: String,
    at: String,
}

/// A transaction that was to pay it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IntentBody {
    signer: String,
    nonce: u64,
    /// `OPEN`, `MINED`, `REVERTED` or `DISPLACED`.
    state: String,
    gas_limit: u64,
    created_at: String,
    inclusion: Option<InclusionBody>,
    /// What its receipt says, once it is in a block.
    receipt: Option<ReceiptBody>,
    /// Its signed forms, in order; of many, the newest.
    attempts: Vec<AttemptBody>,
}

/// What the receipt of a transaction says of its price.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReceiptBody {
    gas_used: u64,
    /// In wei.
    effective_gas_price: String,
    /// What the gas cost altogether, in wei.
    fee: String,
    /// The time of the block.
    block_time: String,
}

/// A signed form of a transaction.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttemptBody {
    number: u32,
    hash: String,
    /// What it offers for a unit of gas at most, in wei.
    max_fee: String,
    /// Of which at most this much is for whoever makes the block.
    priority_fee: String,
    at: String,
}

impl PayoutDetail {
    /// Reads what belongs to a payout that `needed` have to approve. The report is what the rules
    /// say of it, if [`is_undecided`] says that they are asked.
    pub async fn read(
        ledger: &dyn Payouts,
        tokens: &Tokens,
        payout: Payout,
        needed: u32,
        report: Option<RiskReport>,
    ) -> StoreResult<Self> {
        let approvals = ledger.approvals(&[payout.id]).await?;
        let intents = ledger.intents_of(payout.id).await?;
        let fee = fees_of(payout.id, &intents);
        let intents = read::with_attempts(ledger, intents).await?;
        Ok(Self {
            approvals: approvals.into_iter().map(ApprovalBody::from).collect(),
            approvals_needed: needed,
            intents: intents.into_iter().map(IntentBody::from).collect(),
            fee: fee.map(|fee| fee.to_string()),
            advice: report.map(RiskBody::from),
            payout: PayoutBody::new(tokens, payout),
        })
    }

    /// The same for somebody who was let in.
    pub(super) async fn of(admitted: &Admitted, payout: Payout) -> ApiResult<Self> {
        let pay = &*admitted.pay;
        let report = match is_undecided(&payout, &pay.info) {
            true => known(pay.desk.report(&payout).await)?,
            false => None,
        };
        let needed = pay.desk.needed(&payout);
        Ok(Self::read(&*pay.ledger, &pay.info.tokens, payout, needed, report).await?)
    }
}

/// What the rules say. A day's sum that was tampered with, which is reported elsewhere, hides nothing
/// else of a payout.
pub(crate) fn known(report: Result<RiskReport, DeskError>) -> Result<Option<RiskReport>, DeskError> {
    match report {
        Err(DeskError::Store(StoreError::Forged(_))) => Ok(None),
        report => report.map(Some),
    }
}

/// Whether nothing is signed for a payout yet, so that the rules still decide about it. Those of
/// another vault are not known here, and for a token that is not configured any more there are none.
pub fn is_undecided(payout: &Payout, info: &DeskInfo) -> bool {
    let is_unsigned = matches!(payout.state, PayoutState::PendingRisk | PayoutState::Approved);
    let is_paid = info.tokens.is_empty() || info.tokens.contains_key(&payout.request.token);
    is_unsigned && is_paid && payout.request.vault == info.vault
}

impl From<Approval> for ApprovalBody {
    fn from(approval: Approval) -> Self {
        Self { approver: approval.approver, at: time(approval.at) }
    }
}

impl From<(Intent, Vec<Attempt>)> for IntentBody {
    fn from((intent, attempts): (Intent, Vec<Attempt>)) -> Self {
        Self {
            signer: intent.id.signer.to_checksum(None),
            nonce: intent.id.nonce,
            state: intent.state.as_str().to_owned(),
            gas_limit: intent.gas_limit,
            created_at: time(intent.created_at),
            inclusion: intent.inclusion.map(InclusionBody::from),
            receipt: intent.receipt.map(ReceiptBody::from),
            attempts: attempts.into_iter().map(AttemptBody::from).collect(),
        }
    }
}

impl From<ReceiptSummary> for ReceiptBody {
    fn from(receipt: ReceiptSummary) -> Self {
        let seconds = i64::try_from(receipt.block_timestamp_s).unwrap_or(i64::MAX);
        Self {
            gas_used: receipt.gas_used,
            effective_gas_price: receipt.effective_gas_price.to_string(),
            fee: receipt.fee().to_string(),
            block_time: time(Timestamp::from_ms(seconds.saturating_mul(1_000))),
        }
    }
}

impl From<Attempt> for AttemptBody {
    fn from(attempt: Attempt) -> Self {
        Self {
            number: attempt.number,
            hash: attempt.hash.to_string(),
            max_fee: attempt.fees.max_fee.to_string(),
            priority_fee: attempt.fees.priority_fee.to_string(),
            at: time(attempt.created_at),
        }
    }
}
