//! An endpoint behind the core's port: what the loops read a chain through.
//!
//! Answers are checked as far as one endpoint's word can be: they are about what was
//! asked for, in order and without contradiction. Whether they are true is for the caller.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan, Receipts,
};

use super::anchor::AnchorCheck;
use super::block_logs::{WantedBlock, block_logs};
use super::check;
use super::client::EvmRpc;
use super::error::RpcError;
use super::hash_question::HashQuestion;
use super::header;
use super::learn::{Answered, LearnOptions, Learner};
use super::log::RpcLog;
use super::range_limit::{BEYOND_HEAD, RangeAdvice};
use super::range_probe::RangeProbe;
use super::receipt::{self, UnknownType};

/// How nodes say that they do not have a block that was asked for.
const UNKNOWN_BLOCK_WORDS: [&str; 6] = [
    "unknown block",
    "block not found",
    "header not found",
    "header for hash not found",
    "hash is not currently canonical",
    "unknown hash",
];
/// How they say that they do not offer a method.
const UNKNOWN_METHOD_WORDS: [&str; 5] = [
    "method not found",
    "does not exist/is not available",
    "method not supported",
    "unsupported method",
    "method is not available",
];
/// JSON-RPC's code for it.
const UNKNOWN_METHOD_CODE: i64 = -32601;

/// How long a range may take: a smaller one is sooner there.
const RANGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads one chain through one endpoint.
#[derive(Debug, Clone)]
pub struct EvmReader {
    rpc: EvmRpc,
    chain: ChainId,
    learner: Arc<Learner>,
    range_probe: Arc<RangeProbe>,
    hash_question: Arc<HashQuestion>,
    anchor_check: Arc<AnchorCheck>,
    /// Whether a header of the endpoint has hashed to its block's hash.
    has_proven_headers: Arc<AtomicBool>,
    /// Whether the endpoint has said that it does not tell receipts.
    no_receipts: Arc<AtomicBool>,
}

/// So often a header is asked for again that does not hash to its hash.
const HEADER_RETRIES: u32 = 2;

/// Logs as an endpoint gives them.
#[derive(Debug, Default)]
pub(super) struct GivenLogs {
    pub(super) logs: Vec<LogEvent>,
    /// The blocks whose logs came without a time, which older nodes do not give. It is 0 until
    /// [`Self::set_times`] is called.
    pub(super) without_time: Vec<BlockRef>,
}

impl GivenLogs {
    /// Sets the times that are missing and that these headers know.
    pub(super) fn set_times(&mut self, headers: &[Header]) {
        let times: HashMap<B256, u64> =
            headers.iter().map(|header| (header.block.hash, header.block.timestamp_s)).collect();
        self.without_time.retain(|block| !times.contains_key(&block.hash));
        for log in self.logs.iter_mut().filter(|log| log.timestamp_s == 0) {
            if let Some(time) = times.get(&log.block.hash) {
                log.timestamp_s = *time;
            }
        }
    }
}

impl EvmReader {
    /// A reader of a chain that the endpoint is known to serve.
    pub fn new(rpc: EvmRpc, chain: ChainId) -> Self {
        Self::with_options(rpc, chain, LearnOptions::default())
    }

    /// The same, with another idea of what a good answer is.
    pub fn with_options(rpc: EvmRpc, chain: ChainId, options: LearnOptions) -> Self {
        let learner = Arc::new(Learner::new(options));
        Self {
            rpc,
            chain,
            learner,
            range_probe: Arc::default(),
            hash_question: Arc::default(),
            anchor_check: Arc::default(),
            has_proven_headers: Arc::default(),
            no_receipts: Arc::default(),
        }
    }

    /// Scheme, host and port: what may be printed.
    pub fn place(&self) -> &str {
        self.rpc.place()
    }

    pub(crate) fn rpc(&self) -> &EvmRpc {
        &self.rpc
    }

    pub(crate) fn learner(&self) -> &Learner {
        &self.learner
    }

    pub(super) fn anchor_check(&self) -> &AnchorCheck {
        &self.anchor_check
    }

    /// Asks for a range and learns from how that went. A range that fails where a smaller
    /// one passes is too large, whatever the endpoint says.
    async fn range_logs(&self, range: BlockRange, filter: &LogFilter) -> Result<Vec<RpcLog>, RpcError> {
        let blocks = (range.to - range.from).saturating_add(1);
        let start = Instant::now();
        let asked = check::range_logs(&self.rpc, range, filter);
        let mut answer = match blocks {
            1 => asked.await,
            _ => tokio::time::timeout(RANGE_TIMEOUT, asked).await.unwrap_or_else(|_| {
                let limit_ms = u64::try_from(RANGE_TIMEOUT.as_millis()).unwrap_or(u64::MAX);
                Err(RpcError::Timeout { place: self.place().to_owned(), limit_ms })
            }),
        };
        match answer {
            Err(failure) if blocks > 1 => {
                answer = self.range_probe.after_failure(&self.rpc, range, filter, failure).await;
            }
            Err(ref error) => self.range_probe.forget(error),
            Ok(_) if blocks > 1 => self.range_probe.range_passed(),
            Ok(_) => {}
        }
        match &answer {
            Ok(logs) => {
                let answered = Answered { blocks, logs: logs.len() as u64, took: start.elapsed() };
                self.learner.answered(filter, answered);
            }
            Err(error) => self.learner.failed(filter, blocks, error),
        }
        answer
    }

    /// Logs as the endpoint gives them, with their time where it gives one.
    pub(super) async fn logs_as_given(
        &self,
        span: LogSpan,
        filter: &LogFilter,
    ) -> Result<GivenLogs, ChainError> {
        let logs = match span {
            LogSpan::Block(block) => self.one_block(WantedBlock { block, filter, bloom: None }).await?,
            LogSpan::Range(range) => self.range_logs(range, filter).await?,
            LogSpan::RangeOnChain { blocks, anchor } => {
                let logs = self.range_logs(blocks, filter).await?;
                self.anchor_check.expect(&self.rpc, anchor).await?;
                logs
            }
        };
        Ok(self.given(logs))
    }

    /// The same for a block whose header is known: its bloom speaks against an answer without logs.
    pub(super) async fn block_logs_as_given(
        &self,
        header: &Header,
        filter: &LogFilter,
    ) -> Result<GivenLogs, ChainError> {
        let block = header.block.block_ref();
        let wanted = WantedBlock { block, filter, bloom: Some(&header.logs_bloom) };
        Ok(self.given(self.one_block(wanted).await?))
    }

    async fn one_block(&self, wanted: WantedBlock<'_>) -> Result<Vec<RpcLog>, ChainError> {
        block_logs(&self.rpc, &self.hash_question, wanted).await
    }

    fn given(&self, logs: Vec<RpcLog>) -> GivenLogs {
        let mut without_time: Vec<BlockRef> =
            logs.iter().filter(|log| log.timestamp_s.is_none()).map(|log| log.block).collect();
        without_time.dedup();
        let event = |log: RpcLog| {
            let time = log.timestamp_s.unwrap_or_default();
            log.into_event(self.chain, time)
        };
        GivenLogs { logs: logs.into_iter().map(event).collect(), without_time }
    }

    /// The headers of blocks, in their order; only those of just these blocks are taken.
    pub(super) async fn headers_of_blocks(&self, blocks: &[BlockRef]) -> Result<Vec<Header>, ChainError> {
        let tags: Vec<BlockTag> = blocks.iter().map(|block| BlockTag::Hash(block.hash)).collect();
        let mut headers = Vec::with_capacity(blocks.len());
        for (block, header) in blocks.iter().zip(self.rpc.headers(&tags).await?) {
            let gone = || ChainError::new(ChainErrorKind::UnknownBlock, format!("block {block} is gone"));
            let found = header.ok_or_else(|| self.named(gone()))?;
            if found.block.block_ref() != *block {
                return Err(self.another_block(format_args!("block {block}"), found.block.block_ref()));
            }
            headers.push(found);
        }
        Ok(headers)
    }

    /// A header is only taken if it is of the block that was asked for.
    fn checked(&self, asked: BlockTag, found: Option<Header>) -> Result<Option<Header>, ChainError> {
        match found {
            Some(header) if !header::answers(asked, &header) => {
                Err(self.another_block(format_args!("{asked}"), header.block.block_ref()))
            }
            found => Ok(found),
        }
    }

    /// A header that does not hash to its hash, from an endpoint whose headers do, was altered on
    /// its way: it is asked for again. After [`HEADER_RETRIES`] it is returned as it is, and none is
    /// asked for again until one hashes to its hash: the chain's headers may have changed.
    async fn asked_again(
        &self,
        asked: BlockTag,
        found: Option<Header>,
    ) -> Result<Option<Header>, ChainError> {
        let mut found = found;
        for _ in 0..HEADER_RETRIES {
            match &found {
                Some(header) if header.is_hash_proven => {
                    self.has_proven_headers.store(true, Ordering::Relaxed);
                    break;
                }
                Some(_) if self.has_proven_headers.load(Ordering::Relaxed) => {
                    // Without another header of the block the first one stays.
                    let Ok(Some(again)) = self.rpc.header(asked).await else { break };
                    let Ok(again) = self.checked(asked, Some(again)) else { break };
                    found = again;
                }
                _ => break,
            }
        }
        if found.as_ref().is_some_and(|header| !header.is_hash_proven) {
            self.has_proven_headers.store(false, Ordering::Relaxed);
        }
        Ok(found)
    }

    /// An error that says whose answer it is about.
    fn named(&self, error: ChainError) -> ChainError {
        ChainError { message: format!("{}: {}", self.place(), error.message), ..error }
    }

    fn another_block(&self, asked: std::fmt::Arguments<'_>, found: BlockRef) -> ChainError {
        let message = format!("{} was asked for {asked} and sent block {found}", self.place());
        ChainError::new(ChainErrorKind::Malformed, message)
    }
}

#[async_trait]
impl ChainReader for EvmReader {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        Ok(self.rpc.chain_id().await?)
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        let found = self.rpc.header(block).await?;
        let found = self.checked(block, found)?;
        self.asked_again(block, found).await
    }

    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        let tags: Vec<BlockTag> = numbers.iter().map(|number| BlockTag::Number(*number)).collect();
        let headers = self.rpc.headers(&tags).await?;
        let mut checked = Vec::with_capacity(headers.len());
        for (asked, found) in tags.into_iter().zip(headers) {
            let found = self.checked(asked, found)?;
            checked.push(self.asked_again(asked, found).await?);
        }
        Ok(checked)
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let mut given = self.logs_as_given(span, filter).await?;
        if !given.without_time.is_empty() {
            let headers = self.headers_of_blocks(&given.without_time).await?;
            given.set_times(&headers);
        }
        Ok(given.logs)
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        if self.no_receipts.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match self.rpc.receipts(block.number).await {
            Ok(None) => Ok(None),
            Ok(Some(receipts)) => {
                match receipt::read(self.chain, block, receipts).map_err(|error| self.named(error))? {
                    Ok(receipts) => Ok(Some(receipts)),
                    Err(UnknownType(kind)) => {
                        tracing::debug!(block = block.number, kind, "a receipt's type is not known");
                        Ok(None)
                    }
                }
            }
            Err(error) if is_unknown_method(&error) => {
                self.no_receipts.store(true, Ordering::Relaxed);
                tracing::debug!(%error, "an endpoint does not tell receipts");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        Ok(self.rpc.code(address, at).await?)
    }

    fn range_size(&self, filter: &LogFilter) -> u64 {
        self.learner.size(filter)
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

pub(super) fn is_unknown_block(message: &str) -> bool {
    let words = message.to_lowercase();
    UNKNOWN_BLOCK_WORDS.iter().chain(&BEYOND_HEAD).any(|phrase| words.contains(phrase))
}

fn is_unknown_method(error: &RpcError) -> bool {
    let RpcError::Refused { code, message, .. } = error else { return false };
    let words = message.to_lowercase();
    *code == UNKNOWN_METHOD_CODE || UNKNOWN_METHOD_WORDS.iter().any(|phrase| words.contains(phrase))
}
