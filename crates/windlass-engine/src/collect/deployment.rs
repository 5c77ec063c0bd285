//! Where a contract came to be: found by asking for its code at one block after another.
//!
//! Code that is there stays there, so halving works; about forty questions find the
//! block on any chain. A contract that destroyed itself and was made again is found
//! where one of its lives began.
//!
//! What is found is kept, and stays true: of blocks that are not final only the first one
//! is ever told, and what lies above a block that the chain is taken back to is forgotten.

use windlass_core::chain::{Address, ChainId};
use windlass_core::commit::Write;
use windlass_core::finality::Finality;
use windlass_core::name::{NameError, StateKey};
use windlass_core::plan::Plan;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader};
use windlass_core::store::Store;

use super::error::CollectError;
use super::sight::{KnownFinal, Sight};

/// Why the block was not found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeploymentError {
    /// There is no code at the newest block.
    #[error("there is no contract at {contract}")]
    NoContract {
        /// Where it was looked for.
        contract: Address,
    },
    /// The endpoint does not have the state of an old block.
    #[error("the endpoint cannot tell whether {contract} was there at block {block}: {reason}")]
    NoState {
        /// Which contract.
        contract: Address,
        /// Which block.
        block: u64,
        /// The endpoint's words.
        reason: String,
    },
    /// The endpoint is in trouble.
    #[error(transparent)]
    Chain(#[from] ChainError),
}

/// Under which name the block is kept once it is found. An index may move to another
/// chain, where the same address came to be at another block.
pub fn deployment_key(index: &str, chain: ChainId, contract: Address) -> Result<StateKey, NameError> {
    StateKey::new(format!("index/{index}/deployment/{chain}/{contract}"))
}

/// What forgets where the contracts of a plan came to be, as far as that lies at a block or
/// above: on the branch that takes its place they may have come to be elsewhere.
pub(super) async fn forgotten_from(
    store: &dyn Store,
    chain: ChainId,
    plan: &Plan,
    from_block: u64,
) -> Result<Vec<Write>, CollectError> {
    let mut writes = Vec::new();
    for info in store.list_tables().await? {
        let sources = plan.sources.keys().filter(|id| id.table == info.spec.name);
        for contract in sources.filter_map(|id| id.contract) {
            let key = deployment_key(info.spec.index.as_str(), chain, contract)?;
            let kept = store.state(&key).await?.and_then(|text| text.parse::<u64>().ok());
            if kept.is_some_and(|deployed| deployed >= from_block) {
                writes.push(Write::PutState { key, value: None });
            }
        }
    }
    Ok(writes)
}

/// The block from which on a contract can have logged: that of its deployment or, where
/// that is not final and may yet come to lie elsewhere, the first that is not final.
pub async fn first_block(
    reader: &dyn ChainReader,
    contract: Address,
    finality: Finality,
) -> Result<u64, DeploymentError> {
    let sight = match Sight::look(reader, finality, KnownFinal::NOTHING).await {
        Ok((sight, ..)) => Some(sight),
        // Some nodes do not say what is final.
        Err(error) if matches!(error.kind, ChainErrorKind::Refused | ChainErrorKind::Malformed) => None,
        Err(error) => return Err(error.into()),
    };
    let deployed = deployed_at(reader, contract).await?;
    Ok(sight.map_or(deployed, |sight| deployed.min(sight.finalized.number + 1)))
}

/// The first block at which a contract has code.
async fn deployed_at(reader: &dyn ChainReader, contract: Address) -> Result<u64, DeploymentError> {
    let newest = reader.header(BlockTag::Latest).await?;
    let unknown = || ChainError::new(ChainErrorKind::UnknownBlock, "the endpoint has no blocks");
    let newest = newest.ok_or_else(unknown)?.block.number;
    if reader.code(contract, BlockTag::Latest).await?.is_empty() {
        return Err(DeploymentError::NoContract { contract });
    }
    // There is code at `there`, and none below `unsure`.
    let (mut unsure, mut there) = (0, newest);
    while unsure < there {
        let middle = unsure + (there - unsure) / 2;
        if has_code(reader, contract, middle).await? {
            there = middle;
        } else {
            unsure = middle + 1;
        }
    }
    Ok(there)
}

/// Whether there is code at an old block. What an endpoint refuses, it cannot tell.
async fn has_code(reader: &dyn ChainReader, contract: Address, block: u64) -> Result<bool, DeploymentError> {
    match reader.code(contract, BlockTag::Number(block)).await {
        Ok(code) => Ok(!code.is_empty()),
        Err(error) if matches!(error.kind, ChainErrorKind::Refused | ChainErrorKind::UnknownBlock) => {
            Err(DeploymentError::NoState { contract, block, reason: error.message })
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use alloy_primitives::Bloom;
    use async_trait::async_trait;
    use windlass_core::chain::{B256, BlockHeader, Bytes, ChainId};
    use windlass_core::event::LogEvent;
    use windlass_core::reader::{Header, LogFilter, LogSpan, Receipts};

    use super::*;

    /// A chain of a hundred blocks whose contract is there from a block on, and whose
    /// node has the state of blocks from another on.
    struct Node {
        deployed: u64,
        oldest_state: u64,
        /// The last final block, if it tells.
        finalized: Option<u64>,
        asked: AtomicU32,
    }

    const NEWEST: u64 = 100;

    #[async_trait]
    impl ChainReader for Node {
        async fn chain_id(&self) -> Result<ChainId, ChainError> {
            Ok(ChainId::new(1).expect("an id"))
        }

        async fn header(&self, tag: BlockTag) -> Result<Option<Header>, ChainError> {
            let (hash, parent_hash) = (B256::ZERO, B256::ZERO);
            let unknown = || ChainError::new(ChainErrorKind::Refused, "invalid block tag");
            let number =
                if tag == BlockTag::Finalized { self.finalized.ok_or_else(unknown)? } else { NEWEST };
            let block = BlockHeader { number, hash, parent_hash, timestamp_s: 0 };
            Ok(Some(Header {
                block,
                logs_bloom: Box::new(Bloom::ZERO),
                receipts_root: B256::ZERO,
                is_hash_proven: false,
            }))
        }

        async fn logs(&self, _: LogSpan, _: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
            Ok(Vec::new())
        }

        async fn receipts(&self, _: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
            Ok(None)
        }

        async fn code(&self, _: Address, at: BlockTag) -> Result<Bytes, ChainError> {
            self.asked.fetch_add(1, Ordering::Relaxed);
            let block = if let BlockTag::Number(number) = at { number } else { NEWEST };
            if block < self.oldest_state {
                return Err(ChainError::new(ChainErrorKind::Refused, "missing trie node"));
            }
            Ok(if block >= self.deployed { Bytes::from_static(&[1]) } else { Bytes::new() })
        }

        fn range_size(&self, _: &LogFilter) -> u64 {
            1
        }
    }

    async fn found(deployed: u64, oldest_state: u64) -> (Result<u64, DeploymentError>, u32) {
        let node = Node { deployed, oldest_state, finalized: None, asked: AtomicU32::new(0) };
        let found = deployed_at(&node, Address::repeat_byte(1)).await;
        (found, node.asked.into_inner())
    }

    #[tokio::test]
    async fn the_first_block_with_code_is_found_by_halving() {
        for deployed in 0..=NEWEST {
            let (block, asked) = found(deployed, 0).await;
            assert_eq!(block, Ok(deployed));
            assert!(asked <= 8, "{asked} questions for {NEWEST} blocks");
        }
    }

    /// A reorg may bring it in earlier, and then it logs earlier.
    #[tokio::test]
    async fn of_blocks_that_are_not_final_the_first_is_told() {
        for (deployed, finalized, told) in
            [(40, Some(60), 40), (60, Some(60), 60), (61, Some(60), 61), (90, Some(60), 61), (90, None, 90)]
        {
            let node = Node { deployed, oldest_state: 0, finalized, asked: AtomicU32::new(0) };
            let block = first_block(&node, Address::repeat_byte(1), Finality::Finalized).await;
            assert_eq!(block, Ok(told), "deployed at {deployed}, final is {finalized:?}");
        }
    }

    #[test]
    fn an_index_that_moves_to_another_chain_is_searched_for_there() {
        let key = |chain| deployment_key("i", ChainId::new(chain).expect("an id"), Address::ZERO);
        assert_ne!(key(1), key(2));
    }

    #[tokio::test]
    async fn what_is_not_there_and_what_cannot_be_told_are_two_things() {
        let contract = Address::repeat_byte(1);
        assert_eq!(found(NEWEST + 1, 0).await.0, Err(DeploymentError::NoContract { contract }));
        let reason = "missing trie node".to_owned();
        assert_eq!(found(10, 90).await.0, Err(DeploymentError::NoState { contract, block: 50, reason }));
    }
}
