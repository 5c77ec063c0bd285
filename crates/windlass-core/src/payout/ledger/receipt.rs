//! What the receipt of a mined transaction says of its price and its time.

use serde::{Deserialize, Serialize};

use crate::chain::U256;

/// What is kept of a receipt, for bookkeeping. An endpoint's word, within what was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ReceiptSummary {
    /// How much gas the transaction took.
    pub gas_used: u64,
    /// What each unit of it cost, in wei.
    pub effective_gas_price: u128,
    /// The time of its block, in seconds since 1970.
    pub block_timestamp_s: u64,
}

impl ReceiptSummary {
    /// What the gas cost altogether, in wei.
    pub fn fee(&self) -> U256 {
        // 64 bits times 128 bits always fit 256.
        U256::from(self.gas_used) * U256::from(self.effective_gas_price)
    }
}
