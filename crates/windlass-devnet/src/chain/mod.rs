//! A real EVM chain in memory, on revm.
//!
//! ```text
//! send ─► pool ─► miner (revm on an overlay of the state) ─► block ─► ledger and world ─► announcement
//!           ▲                                                  │
//!           └────────────────── reorg ◄────────────────────────┘
//! ```
//!
//! Prague's rules hold from genesis on. Headers hash as on mainnet: parent links,
//! logs bloom, receipts root, transactions root and base fee are real. Left out
//! on purpose: the state root (always that of an empty trie, so there is no
//! `eth_getProof`), blobs, withdrawals, and the beacon-root and history system
//! contracts; none of them changes a receipt.
//!
//! Invariants: ledger, state and pool change together, under one lock; what is
//! announced is announced under that lock, in order; the state at any height of
//! the canonical chain equals a replay from genesis.

mod account;
mod block;
mod deploy;
mod error;
mod evm;
mod ledger;
mod machine;
mod miner;
mod options;
mod pool;
mod reorg;
mod rpc;
mod run;
mod snapshot;
mod state;
mod truth;
mod tx;

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use alloy_consensus::TxEnvelope;
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{B256, Bytes};
use alloy_rpc_types_eth::{Header as RpcHeader, Log};
use tokio::sync::{broadcast, watch};

pub use crate::filter::{LogFilter, MAX_FILTER_ALTERNATIVES, MAX_TOPICS};
pub use account::{DevAccount, dev_accounts};
pub use block::{Block, Outcome};
pub use error::{DeployError, PoolError, ReorgError};
pub use options::{ChainOptions, Clock, DEFAULT_CALL_GAS_CAP, FutureRange, Mining};
pub use pool::MAX_POOL_TRANSACTIONS;
pub use reorg::{Reorg, ReorgOptions};
pub use truth::ChainStats;
pub use tx::{MAX_TRANSACTION_BYTES, Tx};

use crate::node::{Announcement, MAX_ANNOUNCEMENTS};
use machine::{Fill, Machine};

/// The most blocks one call may make.
pub const MAX_BLOCKS_PER_CALL: u64 = 100_000;

/// A handle to a chain; clones share it.
#[derive(Debug, Clone)]
pub struct Chain {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    machine: RwLock<Machine>,
    announcements: broadcast::Sender<Arc<Announcement>>,
    mining: watch::Sender<Mining>,
}

impl Chain {
    /// A chain at genesis.
    pub fn new(options: ChainOptions) -> Self {
        let (announcements, _) = broadcast::channel(MAX_ANNOUNCEMENTS);
        let (mining, _) = watch::channel(options.mining);
        let machine = RwLock::new(Machine::new(options));
        Self { shared: Arc::new(Shared { machine, announcements, mining }) }
    }

    /// Puts a signed transaction into the pool, and on the chain at once under [`Mining::Auto`].
    pub fn send(&self, transaction: TxEnvelope) -> Result<B256, PoolError> {
        self.submit(Tx::recover(transaction)?)
    }

    /// The same from raw bytes, as `eth_sendRawTransaction` takes them.
    pub fn send_raw(&self, raw: &[u8]) -> Result<B256, PoolError> {
        self.submit(Tx::decode(raw)?)
    }

    fn submit(&self, tx: Tx) -> Result<B256, PoolError> {
        let mut machine = self.write();
        let hash = machine.submit(tx)?;
        if self.mining() == Mining::Auto {
            self.drain_pool(&mut machine);
        }
        Ok(hash)
    }

    /// Makes one block from the pool, empty if the pool is.
    pub fn mine(&self) -> Arc<Block> {
        let mut machine = self.write();
        let block = machine.mine(Fill::FromPool);
        self.announce(&[], std::slice::from_ref(&block));
        block
    }

    /// Makes `count` blocks, each from the pool, no more than [`MAX_BLOCKS_PER_CALL`].
    pub fn mine_many(&self, count: u64) {
        for _ in 0..count.min(MAX_BLOCKS_PER_CALL) {
            self.mine();
        }
    }

    /// Replaces the newest `depth` blocks by others.
    pub fn reorg(&self, depth: u64, options: &ReorgOptions) -> Result<Reorg, ReorgError> {
        let mut machine = self.write();
        let reorg = machine.reorg(depth, options)?;
        self.announce(&reorg.dropped, &reorg.added);
        Ok(reorg)
    }

    /// Takes a transaction out of the pool, as if no node had kept it.
    pub fn drop_transaction(&self, hash: B256) -> bool {
        self.write().pool.remove(hash).is_some()
    }

    /// How blocks are made now.
    pub fn mining(&self) -> Mining {
        *self.shared.mining.borrow()
    }

    /// Changes how blocks are made; [`Mining::Auto`] takes at once what waits in the pool.
    pub fn set_mining(&self, mining: Mining) {
        self.shared.mining.send_replace(mining);
        if mining == Mining::Auto {
            self.drain_pool(&mut self.write());
        }
    }

    fn drain_pool(&self, machine: &mut Machine) {
        while let Some(block) = machine.mine_if_any() {
            self.announce(&[], &[block]);
        }
    }

    /// Tells subscribers; called while the lock is held, so that the order is the chain's.
    fn announce(&self, dropped: &[Arc<Block>], added: &[Arc<Block>]) {
        if self.shared.announcements.receiver_count() == 0 {
            return;
        }
        let heads =
            added.iter().map(|block| rpc::to_bytes(&RpcHeader::from_consensus(sealed(block), None, None)));
        let removed = dropped.iter().flat_map(|block| block.logs().map(|log| Log { removed: true, ..log }));
        let joined = added.iter().flat_map(|block| block.logs());
        let announcement = Announcement { heads: heads.collect(), logs: removed.chain(joined).collect() };
        // An error only means that the last receiver has just gone.
        let _ = self.shared.announcements.send(Arc::new(announcement));
    }

    fn read(&self) -> RwLockReadGuard<'_, Machine> {
        self.shared.machine.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Machine> {
        self.shared.machine.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The header with its hash, as the RPC types want it.
fn sealed(block: &Block) -> alloy_consensus::Sealed<alloy_consensus::Header> {
    alloy_consensus::Sealed::new_unchecked(block.header.clone(), block.hash())
}

/// The raw bytes of a signed transaction, as `eth_sendRawTransaction` takes them.
pub fn raw_bytes(transaction: &TxEnvelope) -> Bytes {
    transaction.encoded_2718().into()
}
