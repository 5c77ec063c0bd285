//! Everything behind the chain's lock: blocks, state and pool, kept in step.
//!
//! Invariant: the world has exactly one set of changes per block of the ledger,
//! and the pool holds no nonce the head has overtaken.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy_eips::BlockNumberOrTag;
use alloy_primitives::B256;

use super::block::Block;
use super::error::PoolError;
use super::evm::block_rules;
use super::miner::{fill, genesis_header, next_header};
use super::options::{ChainOptions, Clock};
use super::pool::{Best, Pool, Rules};
use super::state::{AccountState, Changes, Overlay, View, World};
use super::tx::Tx;
use super::{ChainStats, ledger::Ledger};

/// Blocks, state and pool.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) options: ChainOptions,
    pub(crate) world: World,
    pub(crate) ledger: Ledger,
    pub(crate) pool: Pool,
    pub(crate) stats: ChainStats,
    /// Finality never goes back, even where a reorg leaves a shorter chain.
    pub(crate) finalized: u64,
}

/// Where a new block's transactions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    FromPool,
    Empty,
}

impl Machine {
    pub(crate) fn new(options: ChainOptions) -> Self {
        let genesis = Block::seal(genesis_header(&options), Vec::new(), Vec::new());
        let mut changes = Changes::default();
        for account in &options.accounts {
            changes.accounts.insert(account.address(), Some(AccountState::funded(options.balance_wei)));
        }
        let mut world = World::default();
        world.push(changes);
        let ledger = Ledger::new(genesis, options.orphans_kept);
        let pool = Pool::new(options.pool_limit);
        Self { options, world, ledger, pool, stats: ChainStats::default(), finalized: 0 }
    }

    /// The state after the head.
    pub(crate) fn view(&self) -> View<'_> {
        self.view_at(self.ledger.head().number())
    }

    /// The state after a block of the canonical chain.
    pub(crate) fn view_at(&self, block: u64) -> View<'_> {
        View { world: &self.world, ledger: &self.ledger, block }
    }

    /// What the pool checks apart from the state.
    pub(crate) fn rules(&self) -> Rules {
        Rules { chain_id: self.options.chain_id, block_gas_limit: self.options.block_gas_limit }
    }

    /// Takes a transaction into the pool.
    pub(crate) fn submit(&mut self, tx: Tx) -> Result<B256, PoolError> {
        let (hash, rules) = (tx.hash(), self.rules());
        let Self { world, ledger, pool, .. } = self;
        let view = View { world, ledger, block: ledger.head().number() };
        pool.add(Arc::new(tx), &rules, &view)?;
        Ok(hash)
    }

    /// The block that would be made now, and what it would write.
    pub(crate) fn draft(&self, source: Fill) -> (Block, Changes) {
        let parent = self.ledger.head();
        let header = next_header(&self.options, parent, self.next_timestamp(parent), self.stats.reorgs);
        let best = match source {
            Fill::FromPool => self.pool.best(&self.view(), header.base_fee_per_gas.unwrap_or_default()),
            Fill::Empty => Best::default(),
        };
        fill(header, Overlay::new(self.view()), block_rules(self.options.chain_id), best)
    }

    /// Makes the next block, empty or not.
    pub(crate) fn mine(&mut self, source: Fill) -> Arc<Block> {
        let (block, changes) = self.draft(source);
        self.append(block, changes)
    }

    /// Makes the next block if the pool has something for it.
    pub(crate) fn mine_if_any(&mut self) -> Option<Arc<Block>> {
        if self.pool.len() == 0 {
            return None;
        }
        let (block, changes) = self.draft(Fill::FromPool);
        (!block.transactions.is_empty()).then(|| self.append(block, changes))
    }

    fn append(&mut self, block: Block, changes: Changes) -> Arc<Block> {
        let block = Arc::new(block);
        // Every account that changed, since an EIP-7702 authority's nonce rises without a transaction of its own.
        let changed: Vec<_> = changes.accounts.keys().copied().collect();
        self.world.push(changes);
        self.ledger.push(block.clone());
        let Self { world, ledger, pool, .. } = self;
        pool.prune(changed, &View { world, ledger, block: block.number() });
        self.finalized = self.finalized.max(block.number().saturating_sub(self.options.finality_depth));
        self.stats.blocks_made += 1;
        block
    }

    fn next_timestamp(&self, parent: &Block) -> u64 {
        match self.options.clock {
            Clock::Step { seconds } => parent.header.timestamp + seconds,
            Clock::Wall => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
                now.max(parent.header.timestamp + 1)
            }
        }
    }

    /// The number a tag stands for; `pending` is not a block yet and counts as the head.
    pub(crate) fn number_of(&self, tag: BlockNumberOrTag) -> u64 {
        let head = self.ledger.head().number();
        match tag {
            BlockNumberOrTag::Latest | BlockNumberOrTag::Pending => head,
            BlockNumberOrTag::Safe => {
                head.saturating_sub(self.options.finality_depth / 2).max(self.finalized)
            }
            BlockNumberOrTag::Finalized => self.finalized,
            BlockNumberOrTag::Earliest => 0,
            BlockNumberOrTag::Number(number) => number,
        }
    }
}
