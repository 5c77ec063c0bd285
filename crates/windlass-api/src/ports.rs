//! What only the running process can tell, and how it is asked.

use async_trait::async_trait;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::table::Identifier;

/// Why the process is not ready. It answers from what it knows, at once.
#[async_trait]
pub trait Readiness: Send + Sync {
    /// Nothing when all is well.
    async fn reasons(&self) -> Vec<Reason>;
}

/// One reason not to be ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Under which code it is explained.
    pub code: Code,
    /// What is wrong.
    pub message: String,
    /// With what: a chain, an index, an endpoint.
    pub subject: String,
}

/// How far the indexes are. It answers from what it knows, at once.
#[async_trait]
pub trait ProgressSource: Send + Sync {
    /// One entry for each index.
    async fn progress(&self) -> Vec<IndexProgress>;
}

/// How far an index is.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexProgress {
    /// Which index.
    pub index: Identifier,
    /// On which chain.
    pub chain: ChainId,
    /// What it does.
    pub state: IndexState,
    /// Its first block.
    pub start: u64,
    /// Everything from the first block to this one is collected.
    pub collected_through: Option<u64>,
    /// The chain's newest block.
    pub head: Option<u64>,
    /// The chain's newest block that cannot be reorganised.
    pub finalized: Option<u64>,
    /// How many blocks are missing to the head.
    pub lag_blocks: Option<u64>,
    /// How fast it collects.
    pub events_per_s: Option<f64>,
    /// Ranges that were given up.
    pub gaps: Vec<Gap>,
    /// When it will have caught up, in seconds from now.
    pub eta_s: Option<u64>,
    /// How much of what is stored was proven, and how.
    pub proven: Option<IndexProven>,
    /// How collecting its chain goes.
    pub health: IndexHealth,
}

/// How much of an index's blocks was proven, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct IndexProven {
    /// From the first block to the last that was followed.
    pub total_blocks: u64,
    /// Followed at the head: each header, and logs by its hash.
    pub head_blocks: u64,
    /// Backfilled, and headers of some blocks of each segment fit what is stored.
    pub sampled_blocks: u64,
    /// Backfilled, and every header and all logs fit what is stored.
    pub full_blocks: u64,
    /// Nobody can tell whether what is stored is right.
    pub doubtful_blocks: u64,
}

/// How collecting an index's chain goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct IndexHealth {
    /// In a word.
    pub state: HealthState,
    /// What is the matter, if something is.
    pub message: Option<String>,
    /// `windlass explain` knows it.
    pub code: Option<String>,
    /// Since when, in milliseconds since 1970.
    pub since_ms: Option<i64>,
}

/// How it goes, in a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// Nobody collects it, and nobody is to.
    #[default]
    Idle,
    /// A process has taken it, and has not said more yet.
    Starting,
    /// All is well.
    Collecting,
    /// The endpoints answer, and their newest block is old.
    Behind,
    /// The endpoints want fewer requests than following the chain takes.
    RateLimited,
    /// The endpoints do not answer, or not with what is asked.
    RpcDown,
    /// The database does not take what is collected.
    Failing,
    /// It stands still until somebody has mended something.
    Stopped,
    /// Who collects it has fallen silent; others wait until its lease has run out.
    Waiting,
    /// Nobody collects it, and somebody should.
    Unattended,
}

/// What an index does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IndexState {
    /// It collects the past.
    Historical,
    /// It follows the head.
    Realtime,
    /// An operator paused it.
    Paused,
    /// It cannot go on; `/readyz` says why.
    Stopped,
}

/// Blocks that were given up, ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
pub struct Gap {
    /// The first.
    pub from: u64,
    /// The last.
    pub to: u64,
}
