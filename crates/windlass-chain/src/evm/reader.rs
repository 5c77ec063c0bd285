//! An endpoint behind the core's port: what the loops read a chain through.

use std::collections::BTreeMap;

use async_trait::async_trait;
use windlass_core::chain::{B256, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan};

use super::client::EvmRpc;
use super::error::RpcError;
use super::log;
use super::range_limit::RangeAdvice;

/// How nodes say that they do not have a block that was asked for by its hash.
const UNKNOWN_BLOCK_WORDS: [&str; 4] =
    ["unknown block", "block not found", "header not found", "unknown hash"];

/// Reads one chain through one endpoint.
#[derive(Debug, Clone)]
pub struct EvmReader {
    rpc: EvmRpc,
    chain: ChainId,
}

impl EvmReader {
    /// A reader of a chain that the endpoint is known to serve.
    pub fn new(rpc: EvmRpc, chain: ChainId) -> Self {
        Self { rpc, chain }
    }

    /// The times of blocks whose logs came without one, one header each.
    async fn missing_times(&self, logs: &[log::RpcLog]) -> Result<BTreeMap<B256, u64>, ChainError> {
        let mut times = BTreeMap::new();
        for block in logs.iter().filter(|log| log.timestamp_s.is_none()).map(|log| log.block) {
            if times.contains_key(&block.hash) {
                continue;
            }
            let found = self.rpc.header(BlockTag::Hash(block.hash)).await?;
            let unknown = || ChainError::new(ChainErrorKind::UnknownBlock, format!("block {block} is gone"));
            times.insert(block.hash, found.ok_or_else(unknown)?.block.timestamp_s);
        }
        Ok(times)
    }
}

#[async_trait]
impl ChainReader for EvmReader {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        Ok(self.rpc.chain_id().await?)
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        Ok(self.rpc.header(block).await?)
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let mut logs = match span {
            LogSpan::Block(hash) => self.rpc.logs_by_hash(hash, filter).await?,
            LogSpan::Range(range) => self.rpc.logs(range, filter).await?,
        };
        check_span(span, &logs)?;
        logs.sort_by_key(|log| (log.block.number, log.log_index));
        let times = self.missing_times(&logs).await?;
        let event = |log: log::RpcLog| {
            let time = log.timestamp_s.or_else(|| times.get(&log.block.hash).copied()).unwrap_or_default();
            log.into_event(self.chain, time)
        };
        Ok(logs.into_iter().map(event).collect())
    }
}

/// Refuses logs of blocks that nobody asked for.
fn check_span(span: LogSpan, logs: &[log::RpcLog]) -> Result<(), ChainError> {
    let belongs = |log: &log::RpcLog| match span {
        LogSpan::Block(hash) => log.block.hash == hash,
        LogSpan::Range(BlockRange { from, to }) => (from..=to).contains(&log.block.number),
    };
    match logs.iter().find(|log| !belongs(log)) {
        None => Ok(()),
        Some(log) => Err(ChainError::new(
            ChainErrorKind::Malformed,
            format!("the endpoint sent a log of block {}, which was not asked for", log.block),
        )),
    }
}

impl From<RpcError> for ChainError {
    fn from(error: RpcError) -> Self {
        let kind = match &error {
            RpcError::Refused { message, .. } if is_unknown_block(message) => ChainErrorKind::UnknownBlock,
            RpcError::Connection { .. } | RpcError::Timeout { .. } | RpcError::Status { .. } => {
                ChainErrorKind::Unreachable
            }
            RpcError::RateLimited { .. } => ChainErrorKind::RateLimited,
            RpcError::RangeTooLarge { advice: RangeAdvice::Range(range), .. } => {
                ChainErrorKind::RangeTooLarge { suggested: Some(*range) }
            }
            RpcError::RangeTooLarge { .. } | RpcError::BodyTooLarge { .. } => {
                ChainErrorKind::RangeTooLarge { suggested: None }
            }
            RpcError::Malformed { .. } => ChainErrorKind::Malformed,
            RpcError::Refused { .. } | RpcError::Url { .. } => ChainErrorKind::Refused,
        };
        Self { kind, message: error.to_string(), retry: error.retry() }
    }
}

fn is_unknown_block(message: &str) -> bool {
    let words = message.to_lowercase();
    UNKNOWN_BLOCK_WORDS.iter().any(|phrase| words.contains(phrase))
}
