//! The port to a chain: what a loop asks of an RPC, and how it may fail.

use std::time::Duration;

use async_trait::async_trait;

use crate::chain::{Address, B256, BlockHeader, ChainId};
use crate::error::RetryAdvice;
use crate::event::LogEvent;
use crate::range::BlockRange;

/// Which block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTag {
    /// The newest.
    Latest,
    /// The newest that is safe.
    Safe,
    /// The newest that is final.
    Finalized,
    /// By height, on the canonical chain.
    Number(u64),
    /// By hash, on whatever fork.
    Hash(B256),
}

/// Which logs are wanted: of these contracts, with these first topics; empty means any.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogFilter {
    /// The contracts.
    pub addresses: Vec<Address>,
    /// The events' signatures.
    pub topics0: Vec<B256>,
}

/// Where logs are wanted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSpan {
    /// One block, by hash: right near the head.
    Block(B256),
    /// A range, by number: right behind finality.
    Range(BlockRange),
}

/// Reads a chain. An answer may come from a node that lags or lies: callers check.
#[async_trait]
pub trait ChainReader: Send + Sync {
    /// Which chain the endpoint serves.
    async fn chain_id(&self) -> Result<ChainId, ChainError>;

    /// A block's header; `None` when the endpoint does not know it.
    async fn header(&self, block: BlockTag) -> Result<Option<BlockHeader>, ChainError>;

    /// The logs of a block or range, in order.
    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError>;
}

/// An endpoint's failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ChainError {
    /// What kind of trouble.
    pub kind: ChainErrorKind,
    /// In words, without the endpoint's URL.
    pub message: String,
    /// Whether and when to ask the same again.
    pub retry: RetryAdvice,
}

/// What kind of trouble an endpoint is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChainErrorKind {
    /// It cannot be reached, reset the connection or took too long.
    Unreachable,
    /// It wants fewer requests.
    RateLimited,
    /// It wants a smaller range, perhaps this one.
    RangeTooLarge {
        /// The range it said would work.
        suggested: Option<BlockRange>,
    },
    /// It does not know the block that was asked for.
    UnknownBlock,
    /// Its answer makes no sense.
    Malformed,
    /// It refused, with words of its own.
    Refused,
}

impl ChainError {
    /// A failure with the advice that is usual for its kind.
    pub fn new(kind: ChainErrorKind, message: impl Into<String>) -> Self {
        let after = |ms| RetryAdvice::After(Duration::from_millis(ms));
        let retry = match kind {
            ChainErrorKind::Unreachable | ChainErrorKind::Malformed => after(500),
            ChainErrorKind::RateLimited => after(1_000),
            ChainErrorKind::UnknownBlock => after(200),
            ChainErrorKind::RangeTooLarge { .. } | ChainErrorKind::Refused => RetryAdvice::Never,
        };
        Self { kind, message: message.into(), retry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passing_trouble_is_worth_a_retry() {
        assert!(matches!(ChainError::new(ChainErrorKind::RateLimited, "x").retry, RetryAdvice::After(_)));
        assert_eq!(ChainError::new(ChainErrorKind::Refused, "no").retry, RetryAdvice::Never);
    }
}
