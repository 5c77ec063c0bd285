//! All there is to one payout: who has approved it, what was signed for it, what the rules say.

use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::payout::ledger::{Approval, Attempt, Intent, Payout};
use windlass_core::payout::state::PayoutState;

use super::body::{AdviceBody, InclusionBody, PayoutBody, time};
use super::read;
use crate::access::Admitted;
use crate::error::ApiResult;

/// A payout, with all that belongs to it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PayoutDetail {
    #[serde(flatten)]
    payout: PayoutBody,
    /// Who has approved it, by name.
    approvals: Vec<ApprovalBody>,
    /// How many have to.
    approvals_needed: u32,
    /// The transactions that were to pay it, the oldest first; of many, the newest.
    intents: Vec<IntentBody>,
    /// What the rules say of it today, while it waits for approval.
    advice: Option<AdviceBody>,
}

/// That somebody has approved.
#[derive(Debug, Serialize, ToSchema)]
struct ApprovalBody {
    approver: String,
    at: String,
}

/// A transaction that was to pay it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct IntentBody {
    signer: String,
    nonce: u64,
    /// `OPEN`, `MINED`, `REVERTED` or `DISPLACED`.
    state: String,
    gas_limit: u64,
    created_at: String,
    inclusion: Option<InclusionBody>,
    /// Its signed forms, in order; of many, the newest.
    attempts: Vec<AttemptBody>,
}

/// A signed form of a transaction.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AttemptBody {
    number: u32,
    hash: String,
    /// What it offers for a unit of gas at most, in wei.
    max_fee: String,
    /// Of which at most this much is for whoever makes the block.
    priority_fee: String,
    at: String,
}

impl PayoutDetail {
    /// Reads what belongs to a payout.
    pub(super) async fn read(admitted: &Admitted, payout: Payout) -> ApiResult<Self> {
        let (pay, id) = (&*admitted.pay, payout.id);
        let approvals = pay.ledger.approvals(&[id]).await?;
        let intents = read::intents(&*pay.ledger, id).await?;
        // Rules of another vault are not known here.
        let is_ours = payout.request.vault == pay.info.vault;
        // And of a token that was taken out of the configuration there are none.
        let is_paid = pay.info.tokens.is_empty() || pay.info.tokens.contains_key(&payout.request.token);
        let is_open = payout.state == PayoutState::PendingRisk && is_ours && is_paid;
        let advice =
            if is_open { Some(admitted.preview(&payout.request).await?.advice.into()) } else { None };
        Ok(Self {
            approvals: approvals.into_iter().map(ApprovalBody::from).collect(),
            approvals_needed: pay.desk.needed(&payout),
            intents: intents.into_iter().map(IntentBody::from).collect(),
            advice,
            payout: PayoutBody::of(pay, payout),
        })
    }
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
            attempts: attempts.into_iter().map(AttemptBody::from).collect(),
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
