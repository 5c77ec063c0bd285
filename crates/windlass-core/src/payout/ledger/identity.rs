//! By which blocks a vault's chain is known again.
//!
//! An id names a chain, and says nothing of its blocks: a test chain that began anew, a devnet
//! that was restarted and a fork answer with the same one. So a few final blocks of the chain are
//! kept, authenticated like every other row of the ledger, and asked for again before anything is
//! signed.

use serde::{Deserialize, Serialize};

use crate::chain::{B256, BlockRef};
use crate::name::{NameError, StateKey};
use crate::payout::request::VaultRef;
use crate::time::Timestamp;

/// The most blocks that are kept of a chain.
pub const MAX_IDENTITY_BLOCKS: usize = 4;

/// Final blocks of a vault's chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainIdentity {
    /// Whose chain.
    pub vault: VaultRef,
    /// How often it was written.
    pub version: i64,
    /// The blocks, in the order in which they are asked for.
    pub blocks: Vec<BlockRef>,
    /// When it was written.
    pub learned_at: Timestamp,
    /// What authenticates it: see [`LedgerRow`](super::LedgerRow). It is kept as JSON, code and all.
    pub mac: B256,
}

impl ChainIdentity {
    /// The key under which a store keeps it.
    pub fn state_key(vault: VaultRef) -> Result<StateKey, NameError> {
        StateKey::new(format!("pay/{}/{:#x}/identity", vault.chain, vault.address))
    }
}

/// What endpoints say of a block that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockAnswers {
    /// One has it. The others that have another one, and which.
    Same {
        /// An endpoint that has the block.
        having: String,
        /// By name, with the hash that each has instead.
        others: Vec<(String, B256)>,
    },
    /// Those that know its height have this block instead; no endpoint has the right one.
    Other {
        /// The first that says so.
        endpoint: String,
        /// The hash that it has instead.
        hash: B256,
    },
    /// Those that answer do not know its height: they are behind, or keep no old blocks.
    Unknown,
    /// None answers.
    Silent,
}

impl BlockAnswers {
    /// Judges what endpoints answered to the question for a block's header: the hash, nothing where
    /// the endpoint does not know the height, an error where it did not answer.
    ///
    /// One that has the block is enough: nobody can make up its hash, and the others are wrong.
    pub fn of<E>(block: BlockRef, answers: Vec<(String, Result<Option<B256>, E>)>) -> Self {
        let is_heard = answers.iter().any(|(_, answer)| answer.is_ok());
        let known = answers.into_iter().filter_map(|(endpoint, answer)| Some((endpoint, answer.ok()??)));
        let (mut having, others): (Vec<_>, Vec<_>) = known.partition(|(_, hash)| *hash == block.hash);
        match (having.pop(), others.first()) {
            (Some((having, _)), _) => Self::Same { having, others },
            (None, Some((endpoint, hash))) => Self::Other { endpoint: endpoint.clone(), hash: *hash },
            (None, None) if is_heard => Self::Unknown,
            (None, None) => Self::Silent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: BlockRef = BlockRef { number: 7, hash: B256::repeat_byte(7) };
    const OTHER: B256 = B256::repeat_byte(8);

    fn judged(answers: &[Result<Option<B256>, ()>]) -> BlockAnswers {
        let named = (0..).map(|place: u32| place.to_string()).zip(answers.iter().copied());
        BlockAnswers::of(BLOCK, named.collect())
    }

    /// An endpoint that lies alone is not believed, and does not stop anything beside a right one.
    #[test]
    fn one_endpoint_with_the_block_is_enough() {
        let (right, wrong) = (Ok(Some(BLOCK.hash)), Ok(Some(OTHER)));
        let same = |having: &str, others: &[&str]| {
            let others = others.iter().map(|name| ((*name).to_owned(), OTHER)).collect();
            BlockAnswers::Same { having: having.to_owned(), others }
        };
        assert_eq!(judged(&[right]), same("0", &[]));
        assert_eq!(judged(&[wrong, right]), same("1", &["0"]));
        assert_eq!(judged(&[wrong, wrong, right, Err(()), Ok(None)]), same("2", &["0", "1"]));
    }

    #[test]
    fn another_block_counts_where_no_endpoint_has_the_right_one() {
        let other = BlockAnswers::Other { endpoint: "1".to_owned(), hash: OTHER };
        assert_eq!(judged(&[Ok(None), Ok(Some(OTHER))]), other);
        assert_eq!(judged(&[Err(()), Ok(Some(OTHER))]), other);
    }

    #[test]
    fn what_nobody_knows_is_not_another_block() {
        assert_eq!(judged(&[Ok(None), Err(())]), BlockAnswers::Unknown);
        assert_eq!(judged(&[Err(())]), BlockAnswers::Silent);
        assert_eq!(judged(&[]), BlockAnswers::Silent);
    }
}
