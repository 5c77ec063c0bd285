//! What a day holds for payouts: a sum a token, and one a recipient of it.

use serde::{Deserialize, Serialize};

use crate::chain::{Address, B256, U256};
use crate::payout::day::UtcDay;
use crate::payout::request::VaultRef;

/// Which sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BudgetKey {
    /// Of which vault.
    pub vault: VaultRef,
    /// Of which token.
    pub token: Address,
    /// Of which day.
    pub day: UtcDay,
    /// For whom; for everybody when nobody is named.
    pub to: Option<Address>,
}

/// A sum that is held for payouts that were approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Which.
    pub key: BudgetKey,
    /// How often it was written; 0 before the first time.
    pub version: i64,
    /// How much.
    #[serde(with = "crate::payout::decimal")]
    pub total: U256,
    /// What authenticates it: see [`LedgerRow`](super::LedgerRow).
    #[serde(skip)]
    pub mac: B256,
}

impl Budget {
    /// A sum that nothing was held of yet.
    pub const fn empty(key: BudgetKey) -> Self {
        Self { key, version: 0, total: U256::ZERO, mac: B256::ZERO }
    }

    /// With so much more.
    #[must_use]
    pub fn with(self, amount: U256) -> Self {
        Self { version: self.version + 1, total: self.total.saturating_add(amount), ..self }
    }

    /// With so much less.
    #[must_use]
    pub fn without(self, amount: U256) -> Self {
        Self { version: self.version + 1, total: self.total.saturating_sub(amount), ..self }
    }
}
