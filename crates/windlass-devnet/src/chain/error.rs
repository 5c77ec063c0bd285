//! What the chain refuses, in geth's words where geth has some.

use alloy_primitives::U256;

use crate::node::RpcError;

/// Why a transaction was not taken into the pool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each variant's words say what it is")]
pub enum PoolError {
    #[error("rlp: {0}")]
    Decode(String),
    #[error("transaction type not supported")]
    TypeNotSupported,
    #[error("oversized data: transaction size {size}, limit {limit}")]
    Oversized { size: usize, limit: usize },
    #[error("max initcode size exceeded: code size {size}, limit {limit}")]
    InitCodeTooLarge { size: usize, limit: usize },
    #[error("already known")]
    AlreadyKnown,
    #[error("exceeds block gas limit")]
    GasLimit,
    #[error("max priority fee per gas higher than max fee per gas")]
    TipAboveFeeCap,
    #[error("invalid sender")]
    InvalidSender,
    #[error("invalid sender: invalid chain id for signer: have {have} want {want}")]
    ChainId { have: u64, want: u64 },
    #[error("nonce has max value")]
    NonceMax,
    #[error("intrinsic gas too low: gas {gas}, minimum needed {needed}")]
    IntrinsicGas { gas: u64, needed: u64 },
    #[error("insufficient gas for floor data gas cost: gas {gas}, minimum needed {needed}")]
    FloorGas { gas: u64, needed: u64 },
    #[error("nonce too low: next nonce {next}, tx nonce {nonce}")]
    NonceTooLow { next: u64, nonce: u64 },
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {}",
        cost.saturating_sub(*balance)
    )]
    Funds { balance: U256, cost: U256 },
    #[error(
        "insufficient funds for gas * price + value: balance {balance}, queued cost {queued}, tx cost {cost}, overshot {}",
        queued.saturating_add(*cost).saturating_sub(*balance)
    )]
    QueuedFunds { balance: U256, queued: U256, cost: U256 },
    #[error("replacement transaction underpriced")]
    ReplacementUnderpriced,
    #[error("txpool is full")]
    Full,
}

impl From<PoolError> for RpcError {
    fn from(error: PoolError) -> Self {
        Self::server(error.to_string())
    }
}

/// Why a reorg was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReorgError {
    /// A reorg drops at least one block.
    #[error("a reorg of depth 0 would drop nothing")]
    Nothing,
    /// Genesis cannot be replaced.
    #[error("a reorg of depth {depth} would drop genesis: the head is block {head}")]
    Genesis {
        /// How many blocks were to be dropped.
        depth: u64,
        /// The head's number.
        head: u64,
    },
    /// Finalized blocks stay unless the caller insists.
    #[error(
        "a reorg of depth {depth} would drop finalized blocks: the head is block {head}, block {finalized} is final"
    )]
    Finalized {
        /// How many blocks were to be dropped.
        depth: u64,
        /// The head's number.
        head: u64,
        /// The highest final block.
        finalized: u64,
    },
    /// A transaction to be put on the new branch cannot be read.
    #[error("a transaction for the new branch was refused")]
    Transaction(#[source] PoolError),
    /// More blocks than one call may make.
    #[error("{wanted} new blocks are more than one call may make ({limit})")]
    TooManyBlocks {
        /// How many blocks were asked for.
        wanted: u64,
        /// How many there may be.
        limit: u64,
    },
}

/// Why a contract was not deployed.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The account's key did not sign.
    #[error("the account could not sign")]
    Sign(#[source] alloy_signer::Error),
    /// The pool refused the transaction.
    #[error("the pool refused the transaction")]
    Pool(#[source] PoolError),
    /// The init code fails.
    #[error("the init code fails: {0}")]
    Execution(RpcError),
}
