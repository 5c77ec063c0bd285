//! Replacing the newest blocks by others.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use serde::Deserialize;

use super::MAX_BLOCKS_PER_CALL;
use super::block::Block;
use super::error::{PoolError, ReorgError};
use super::machine::{Fill, Machine};
use super::tx::Tx;

/// How a reorg is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReorgOptions {
    /// How many blocks the new branch gets at once; one more than were dropped unless told.
    pub new_blocks: Option<u64>,
    /// Whether the dropped blocks' transactions wait in the pool again or vanish.
    pub return_to_pool: bool,
    /// Transactions treated the other way round.
    pub except: Vec<B256>,
    /// Raw transactions for the new branch, in the place of whatever has their
    /// sender and nonce; fees and funds are not compared.
    pub inject: Vec<Bytes>,
    /// Whether the new blocks take transactions from the pool or stay empty.
    pub fill: bool,
    /// Whether finalized blocks may be dropped.
    pub allow_finalized: bool,
}

impl Default for ReorgOptions {
    fn default() -> Self {
        Self {
            new_blocks: None,
            return_to_pool: true,
            except: Vec::new(),
            inject: Vec::new(),
            fill: true,
            allow_finalized: false,
        }
    }
}

/// What a reorg did.
#[derive(Debug, Clone)]
pub struct Reorg {
    /// The blocks that left the chain, newest first.
    pub dropped: Vec<Arc<Block>>,
    /// The blocks that joined it, oldest first.
    pub added: Vec<Arc<Block>>,
    /// How many of the dropped transactions went back to the pool.
    pub returned: usize,
    /// How many vanished: it was asked for, another took their place, or the pool was full.
    pub vanished: usize,
}

impl Machine {
    /// Drops the newest `depth` blocks and makes others in their place.
    pub(crate) fn reorg(&mut self, depth: u64, options: &ReorgOptions) -> Result<Reorg, ReorgError> {
        let fork = self.check_depth(depth, options)?;
        let new_blocks = options.new_blocks.unwrap_or(depth + 1);
        if new_blocks > MAX_BLOCKS_PER_CALL {
            return Err(ReorgError::TooManyBlocks { wanted: new_blocks, limit: MAX_BLOCKS_PER_CALL });
        }
        let inject = self.read_injected(options).map_err(ReorgError::Transaction)?;

        let dropped = self.ledger.rewind(fork);
        self.world.rewind(fork);
        self.finalized = self.finalized.min(fork);
        self.stats.reorgs += 1;
        self.stats.blocks_dropped += depth;
        self.stats.deepest_reorg = self.stats.deepest_reorg.max(depth);

        // First, so that a dropped transaction finds its place taken.
        for tx in inject {
            self.pool.put(Arc::new(tx));
        }
        let (returned, vanished) = self.return_transactions(&dropped, options);
        let source = if options.fill { Fill::FromPool } else { Fill::Empty };
        let added = (0..new_blocks).map(|_| self.mine(source)).collect();
        Ok(Reorg { dropped, added, returned, vanished })
    }

    fn check_depth(&self, depth: u64, options: &ReorgOptions) -> Result<u64, ReorgError> {
        let head = self.ledger.head().number();
        if depth == 0 {
            return Err(ReorgError::Nothing);
        }
        let fork = head.checked_sub(depth).ok_or(ReorgError::Genesis { depth, head })?;
        if fork < self.finalized && !options.allow_finalized {
            return Err(ReorgError::Finalized { depth, head, finalized: self.finalized });
        }
        Ok(fork)
    }

    fn read_injected(&self, options: &ReorgOptions) -> Result<Vec<Tx>, PoolError> {
        if options.inject.len() > self.pool.room() {
            return Err(PoolError::Full);
        }
        let rules = self.rules();
        let read = |raw: &Bytes| {
            let tx = Tx::decode(raw)?;
            rules.check(&tx)?;
            Ok(tx)
        };
        options.inject.iter().map(read).collect()
    }

    fn return_transactions(&mut self, dropped: &[Arc<Block>], options: &ReorgOptions) -> (usize, usize) {
        let (mut returned, mut vanished) = (0, 0);
        // Oldest block first, so that among equal tips the earlier ones come first again.
        for tx in dropped.iter().rev().flat_map(|block| &block.transactions) {
            let wanted = options.return_to_pool != options.except.contains(&tx.hash());
            if wanted && self.pool.put_back(tx.clone()) {
                returned += 1;
            } else {
                vanished += 1;
            }
        }
        (returned, vanished)
    }
}
