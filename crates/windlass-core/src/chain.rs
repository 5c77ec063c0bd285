//! Chains, blocks and what identifies them.

use std::fmt;
use std::str::FromStr;

pub use alloy_primitives::{Address, B256, Bytes, U256};
use serde::{Deserialize, Serialize};

/// An EVM chain's id (EIP-155). Kept within `i64`, the widest integer both stores have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct ChainId(i64);

/// The number is zero or above 2^63 − 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a chain id is a number from 1 to 9223372036854775807, not `{0}`")]
pub struct ChainIdError(String);

impl ChainId {
    /// The highest id.
    pub const MAX: Self = Self(i64::MAX);

    /// Checks and takes a chain id.
    pub fn new(id: u64) -> Result<Self, ChainIdError> {
        match i64::try_from(id) {
            Ok(id) if id > 0 => Ok(Self(id)),
            _ => Err(ChainIdError(id.to_string())),
        }
    }

    /// The id as stores keep it.
    pub const fn as_i64(self) -> i64 {
        self.0
    }

    /// Whether blocks of the chain may hold logs that their blooms know nothing of: those
    /// of Polygon, for state that came from Ethereum.
    pub const fn has_logs_outside_blooms(self) -> bool {
        matches!(self.0, 137 | 80_001 | 80_002)
    }

    /// The id as chains say it.
    pub const fn as_u64(self) -> u64 {
        self.0.unsigned_abs()
    }
}

impl TryFrom<u64> for ChainId {
    type Error = ChainIdError;
    fn try_from(id: u64) -> Result<Self, ChainIdError> {
        Self::new(id)
    }
}

impl From<ChainId> for u64 {
    fn from(id: ChainId) -> u64 {
        id.as_u64()
    }
}

impl FromStr for ChainId {
    type Err = ChainIdError;
    fn from_str(text: &str) -> Result<Self, ChainIdError> {
        text.parse().ok().and_then(|id| Self::new(id).ok()).ok_or_else(|| ChainIdError(text.to_owned()))
    }
}

impl fmt::Display for ChainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One block, by number and hash: two blocks of one number are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockRef {
    /// The height.
    pub number: u64,
    /// The header's hash.
    pub hash: B256,
}

impl fmt::Display for BlockRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.number, self.hash)
    }
}

/// What is kept of a block's header: enough to follow parent links and to tell the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockHeader {
    /// The height.
    pub number: u64,
    /// The header's hash.
    pub hash: B256,
    /// The hash of the block below.
    pub parent_hash: B256,
    /// Seconds since 1970, as the chain says.
    pub timestamp_s: u64,
}

impl BlockHeader {
    /// The reference to this block.
    pub const fn block_ref(&self) -> BlockRef {
        BlockRef { number: self.number, hash: self.hash }
    }

    /// Whether this block stands directly on that one.
    pub fn follows(&self, parent: &BlockRef) -> bool {
        parent.number.checked_add(1) == Some(self.number) && self.parent_hash == parent.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_ids_fit_both_stores() {
        assert_eq!("137".parse::<ChainId>().map(ChainId::as_u64), Ok(137));
        for text in ["0", "-1", "9223372036854775808", "polygon", ""] {
            assert!(text.parse::<ChainId>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_follows_only_its_parent() {
        let parent = BlockRef { number: 7, hash: B256::repeat_byte(1) };
        let header =
            BlockHeader { number: 8, hash: B256::repeat_byte(2), parent_hash: parent.hash, timestamp_s: 0 };
        assert!(header.follows(&parent));
        assert!(!header.follows(&BlockRef { number: 6, ..parent }));
        assert!(!header.follows(&BlockRef { hash: B256::ZERO, ..parent }));
    }
}
