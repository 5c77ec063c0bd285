//! The canonical chain of blocks, and the orphans that a reorg left.

use std::collections::VecDeque;
use std::sync::Arc;

use alloy_primitives::B256;
use alloy_primitives::map::B256Map;

use super::block::Block;

/// Blocks by number and hash, transactions by hash. Never empty: genesis stays.
#[derive(Debug)]
pub(crate) struct Ledger {
    blocks: Vec<Arc<Block>>,
    by_hash: B256Map<u64>,
    transactions: B256Map<(u64, usize)>,
    orphans: VecDeque<Arc<Block>>,
    orphans_kept: usize,
}

impl Ledger {
    pub(crate) fn new(genesis: Block, orphans_kept: usize) -> Self {
        let mut ledger = Self {
            blocks: Vec::new(),
            by_hash: B256Map::default(),
            transactions: B256Map::default(),
            orphans: VecDeque::new(),
            orphans_kept,
        };
        ledger.push(Arc::new(genesis));
        ledger
    }

    pub(crate) fn push(&mut self, block: Arc<Block>) {
        self.by_hash.insert(block.hash(), block.number());
        for (index, tx) in block.transactions.iter().enumerate() {
            self.transactions.insert(tx.hash(), (block.number(), index));
        }
        self.blocks.push(block);
    }

    /// Drops every block above `number`; returns them newest first.
    pub(crate) fn rewind(&mut self, number: u64) -> Vec<Arc<Block>> {
        let mut dropped = self.blocks.split_off(number as usize + 1);
        for block in &dropped {
            self.by_hash.remove(&block.hash());
            for tx in &block.transactions {
                self.transactions.remove(&tx.hash());
            }
            self.orphans.push_back(block.clone());
        }
        let excess = self.orphans.len().saturating_sub(self.orphans_kept);
        self.orphans.drain(..excess);
        dropped.reverse();
        dropped
    }

    pub(crate) fn head(&self) -> &Arc<Block> {
        self.blocks.last().expect("genesis is pushed at the start and never dropped")
    }

    pub(crate) fn block(&self, number: u64) -> Option<&Arc<Block>> {
        self.blocks.get(usize::try_from(number).ok()?)
    }

    /// A block of the canonical chain by its hash.
    pub(crate) fn canonical(&self, hash: B256) -> Option<&Arc<Block>> {
        self.by_hash.get(&hash).and_then(|number| self.block(*number))
    }

    /// A block by its hash, orphans too.
    pub(crate) fn by_hash(&self, hash: B256) -> Option<&Arc<Block>> {
        self.canonical(hash).or_else(|| self.orphans.iter().rev().find(|block| block.hash() == hash))
    }

    /// The block a transaction is in, and its place there.
    pub(crate) fn transaction(&self, hash: B256) -> Option<(&Arc<Block>, usize)> {
        let (number, index) = self.transactions.get(&hash)?;
        Some((self.block(*number)?, *index))
    }

    /// The canonical blocks of a range, both ends included, as far as there are any.
    pub(crate) fn range(&self, from: u64, to: u64) -> &[Arc<Block>] {
        let len = self.blocks.len();
        let start = usize::try_from(from).unwrap_or(len).min(len);
        let end = usize::try_from(to).unwrap_or(len).saturating_add(1).clamp(start, len);
        &self.blocks[start..end]
    }
}
