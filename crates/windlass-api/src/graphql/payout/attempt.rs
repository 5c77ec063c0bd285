//! Who has approved a payout, and what was signed for it.

use async_graphql::SimpleObject;
use windlass_core::payout::ledger::{Attempt, Intent};

use super::node::seconds;
use crate::graphql::scalar::Long;

/// That somebody has approved.
#[derive(Debug, SimpleObject)]
pub(crate) struct PayoutApproval {
    pub(super) approver: String,
    pub(super) at: String,
}

/// A signed form of a transaction.
#[derive(Debug, SimpleObject)]
pub(crate) struct PayoutAttempt {
    hash: String,
    signer: String,
    nonce: Long,
    /// Which signed form of the transaction with this nonce it is, from 1 on.
    number: u32,
    /// Where the transaction stands: `OPEN`, `MINED`, `REVERTED` or `DISPLACED`.
    state: String,
    gas_limit: Long,
    /// What it offers for a unit of gas at most, in wei.
    max_fee: String,
    /// Of which at most this much is for whoever makes the block.
    priority_fee: String,
    at: String,
}

impl PayoutAttempt {
    /// The signed forms of a transaction.
    pub(super) fn all(intent: &Intent, attempts: &[Attempt]) -> Vec<Self> {
        let attempt = |attempt: &Attempt| Self {
            hash: attempt.hash.to_string(),
            signer: intent.id.signer.to_checksum(None),
            nonce: Long(intent.id.nonce),
            number: attempt.number,
            state: intent.state.as_str().to_owned(),
            gas_limit: Long(intent.gas_limit),
            max_fee: attempt.fees.max_fee.to_string(),
            priority_fee: attempt.fees.priority_fee.to_string(),
            at: seconds(attempt.created_at),
        };
        attempts.iter().map(attempt).collect()
    }
}
