//! What really happened, read from memory: for tests and the demo to compare with.
//!
//! Nothing here goes through the RPC's code: logs are matched one by one, without blooms.

use std::sync::Arc;

use alloy_eips::BlockNumberOrTag;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rpc_types_eth::{Log, TransactionReceipt};

use super::block::Block;
use super::rpc::receipt_of;
use super::state::Overlay;
use super::{Chain, DevAccount};
use crate::filter::LogFilter;

/// What a chain has been through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChainStats {
    /// Blocks made, dropped ones included, genesis not.
    pub blocks_made: u64,
    /// Blocks dropped by reorgs.
    pub blocks_dropped: u64,
    /// How many reorgs there were.
    pub reorgs: u64,
    /// How many blocks the deepest one dropped.
    pub deepest_reorg: u64,
}

impl Chain {
    /// The chain's id.
    pub fn chain_id(&self) -> u64 {
        self.read().options.chain_id
    }

    /// The accounts that own money from the start.
    pub fn accounts(&self) -> Vec<DevAccount> {
        self.read().options.accounts.clone()
    }

    /// The newest block.
    pub fn head(&self) -> Arc<Block> {
        self.read().ledger.head().clone()
    }

    /// The highest block that is final.
    pub fn finalized(&self) -> u64 {
        self.read().finalized
    }

    /// A block of the canonical chain.
    pub fn block(&self, number: u64) -> Option<Arc<Block>> {
        self.read().ledger.block(number).cloned()
    }

    /// The receipt of a transaction on the canonical chain.
    pub fn receipt(&self, hash: B256) -> Option<TransactionReceipt> {
        let machine = self.read();
        machine.ledger.transaction(hash).map(|(block, index)| receipt_of(block, index))
    }

    /// Every matching log on the canonical chain, in order. The range's ends may
    /// be tags and lie beyond the head; a block hash in the filter is not regarded.
    pub fn canonical_logs(&self, filter: &LogFilter) -> Vec<Log> {
        let machine = self.read();
        let end = |tag: Option<BlockNumberOrTag>| machine.number_of(tag.unwrap_or_default());
        let blocks = machine.ledger.range(end(filter.from_block), end(filter.to_block));
        blocks.iter().flat_map(|block| block.logs()).filter(|log| filter.matches(&log.inner)).collect()
    }

    /// What the chain has been through.
    pub fn stats(&self) -> ChainStats {
        self.read().stats
    }

    /// How many transactions wait in the pool.
    pub fn pool_len(&self) -> usize {
        self.read().pool.len()
    }

    /// Whether a transaction waits in the pool.
    pub fn is_pooled(&self, hash: B256) -> bool {
        self.read().pool.get(hash).is_some()
    }

    /// The nonce a sender's next transaction should have, counting what is pending.
    pub fn next_nonce(&self, sender: Address) -> u64 {
        let machine = self.read();
        machine.pool.next_nonce(sender, &machine.view())
    }

    /// The account's nonce after the head.
    pub fn nonce(&self, address: Address) -> u64 {
        self.read().view().nonce(address)
    }

    /// The account's balance after the head.
    pub fn balance(&self, address: Address) -> U256 {
        self.read().view().balance(address)
    }

    /// The account's code after the head.
    pub fn code(&self, address: Address) -> Bytes {
        let machine = self.read();
        Overlay::new(machine.view()).code(address).original_bytes()
    }

    /// A storage slot after the head.
    pub fn storage(&self, address: Address, slot: U256) -> U256 {
        let machine = self.read();
        Overlay::new(machine.view()).slot(address, slot)
    }
}
