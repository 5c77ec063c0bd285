//! That somebody has said yes.

use serde::{Deserialize, Serialize};

use crate::chain::B256;
use crate::payout::request::PayoutId;
use crate::time::Timestamp;

/// That somebody has said yes to a payout. Once each, and never taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// To which payout.
    pub payout: PayoutId,
    /// Who.
    pub approver: String,
    /// When.
    pub at: Timestamp,
    /// What authenticates it: see [`LedgerRow`](super::LedgerRow).
    #[serde(skip)]
    pub mac: B256,
}
