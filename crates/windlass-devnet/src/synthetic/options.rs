//! What a synthetic chain looks like; everything else follows from it.

use alloy_primitives::{Address, B256, address, b256};

use super::fork::Fork;

/// `FeesCollected(address indexed token, address indexed integrator, uint256 integratorFee, uint256 lifiFee)`.
pub const FEES_COLLECTED_TOPIC: B256 =
    b256!("28a87b6059180e46de5fb9ab35eb043e8fe00ab45afcc7789e3934ecbbcde3ea");

/// The most logs one answer may hold, whatever the options ask for (about 75 MB).
pub const MAX_RESULTS: u64 = 100_000;

/// How the logs are spread over the blocks. The genesis block never has any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Density {
    /// Every block has this many logs, each in a transaction of its own.
    PerBlock(u32),
    /// One log in every block whose number is a multiple of this.
    EveryBlocks(u64),
}

/// The shape of a synthetic chain.
#[derive(Debug, Clone)]
pub struct SyntheticOptions {
    /// What `eth_chainId` and `net_version` answer.
    pub chain_id: u64,
    /// The number of the first head: the chain starts with blocks 0 to this one.
    pub blocks: u64,
    /// How the logs are spread over the blocks.
    pub density: Density,
    /// The contract that emits every log.
    pub contract: Address,
    /// Decides every hash, address and amount.
    pub seed: u64,
    /// The most logs in one answer; more are refused. At most [`MAX_RESULTS`].
    pub result_limit: u64,
    /// Whether logs carry `blockTimestamp`, as newer nodes do.
    pub with_timestamp: bool,
    /// The time of block 0, in seconds since 1970.
    pub genesis_time_s: u64,
    /// The time between two blocks. Timestamps are whole seconds: blocks of less than one
    /// share theirs with others.
    pub block_time_ms: u64,
    /// How many blocks `finalized` and `safe` stand behind the head.
    pub finality_blocks: u64,
    /// Where the chain was reorganised; [`Self::forked`] adds one.
    pub forks: Vec<Fork>,
}

impl Default for SyntheticOptions {
    fn default() -> Self {
        Self {
            chain_id: 31_337,
            blocks: 1_000_000,
            density: Density::PerBlock(1),
            contract: address!("bd6c7b0d2f68c2b7805d88388319cfb6ecb50ea9"),
            seed: 1,
            result_limit: 10_000,
            with_timestamp: true,
            genesis_time_s: 1_700_000_000,
            block_time_ms: 12_000,
            finality_blocks: 64,
            forks: Vec::new(),
        }
    }
}
