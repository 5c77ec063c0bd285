//! How far an account's nonces are given out.

use serde::{Deserialize, Serialize};

use crate::chain::{Address, B256, ChainId};
use crate::time::Timestamp;

/// An account that signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignerRow {
    /// On which chain.
    pub chain: ChainId,
    /// Which account.
    pub address: Address,
    /// How often it was written.
    pub version: i64,
    /// The first nonce that no transaction has yet.
    pub next_nonce: u64,
    /// Why it signs nothing, if it was halted.
    pub halted: Option<String>,
    /// When it was last written.
    pub updated_at: Timestamp,
    /// What authenticates it: see [`LedgerRow`](super::LedgerRow).
    #[serde(skip)]
    pub mac: B256,
}

impl SignerRow {
    /// An account that was not used here before.
    pub const fn new(chain: ChainId, address: Address, next_nonce: u64, now: Timestamp) -> Self {
        Self { chain, address, version: 1, next_nonce, halted: None, updated_at: now, mac: B256::ZERO }
    }

    /// So many nonces were given out.
    #[must_use]
    pub fn used(&self, nonces: u64, now: Timestamp) -> Self {
        Self { next_nonce: self.next_nonce.saturating_add(nonces), ..self.next(now) }
    }

    /// Nonces up to there were used elsewhere.
    #[must_use]
    pub fn moved_to(&self, next_nonce: u64, now: Timestamp) -> Self {
        Self { next_nonce, ..self.next(now) }
    }

    /// It signs nothing any more, or again.
    #[must_use]
    pub fn halted(&self, why: Option<String>, now: Timestamp) -> Self {
        Self { halted: why, ..self.next(now) }
    }

    fn next(&self, now: Timestamp) -> Self {
        Self { version: self.version + 1, updated_at: now, ..self.clone() }
    }
}
