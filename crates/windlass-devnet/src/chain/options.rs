//! What a chain can be told at its start.

use std::time::Duration;

use alloy_primitives::{Address, U256};

use super::account::{DevAccount, dev_accounts};
use super::pool::MAX_POOL_TRANSACTIONS;

/// How much gas `eth_call` and `eth_estimateGas` may use unless told; geth's cap.
pub const DEFAULT_CALL_GAS_CAP: u64 = 50_000_000;

/// Whole ether in wei.
const WEI_PER_ETHER: u64 = 1_000_000_000_000_000_000;

/// The settings of a [`Chain`](super::Chain).
#[derive(Debug, Clone)]
pub struct ChainOptions {
    /// The chain id, 31337 unless told.
    pub chain_id: u64,
    /// The timestamp of block 0.
    pub genesis_timestamp_s: u64,
    /// The accounts that own money from the start.
    pub accounts: Vec<DevAccount>,
    /// What each of them owns.
    pub balance_wei: U256,
    /// How much gas one block may use.
    pub block_gas_limit: u64,
    /// How much gas one `eth_call` or one try of `eth_estimateGas` may use.
    pub call_gas_cap: u64,
    /// The base fee of block 0; later ones follow EIP-1559.
    pub base_fee_start_wei: u64,
    /// Who receives the tips.
    pub coinbase: Address,
    /// How many transactions wait at most; never more than [`MAX_POOL_TRANSACTIONS`].
    pub pool_limit: usize,
    /// `finalized` is this far behind the head, `safe` half as far.
    pub finality_depth: u64,
    /// When blocks are made.
    pub mining: Mining,
    /// Where a block's timestamp comes from.
    pub clock: Clock,
    /// What `eth_getLogs` does with a range that ends beyond the head.
    pub future_range: FutureRange,
    /// How many blocks that a reorg dropped are still served by their hash, as
    /// a real node serves them; 0 forgets them at once.
    pub orphans_kept: usize,
}

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            chain_id: 31_337,
            genesis_timestamp_s: 1_700_000_000,
            accounts: dev_accounts(),
            balance_wei: U256::from(10_000) * U256::from(WEI_PER_ETHER),
            block_gas_limit: 30_000_000,
            call_gas_cap: DEFAULT_CALL_GAS_CAP,
            base_fee_start_wei: 1_000_000_000,
            coinbase: Address::ZERO,
            pool_limit: MAX_POOL_TRANSACTIONS,
            finality_depth: 64,
            mining: Mining::Auto,
            clock: Clock::Wall,
            future_range: FutureRange::Refuse,
            orphans_kept: 256,
        }
    }
}

impl ChainOptions {
    /// Settings for tests: blocks only when asked for, twelve seconds apart, so
    /// that the same calls give the same hashes.
    pub fn deterministic() -> Self {
        Self { mining: Mining::Manual, clock: Clock::Step { seconds: 12 }, ..Self::default() }
    }
}

/// When blocks are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mining {
    /// As soon as a transaction can be included.
    Auto,
    /// On a beat, empty or not; [`Chain::run`](super::Chain::run) keeps the time.
    Interval(Duration),
    /// Only when [`Chain::mine`](super::Chain::mine) is called.
    Manual,
}

/// Where a block's timestamp comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The time of day, and always later than the parent.
    Wall,
    /// The parent's time and a fixed step.
    Step {
        /// Seconds between two blocks.
        seconds: u64,
    },
}

/// What `eth_getLogs` does with a range that ends beyond the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FutureRange {
    /// An error, as current geth and reth answer.
    Refuse,
    /// The logs that there are, as older nodes and many providers answer.
    Clamp,
}
