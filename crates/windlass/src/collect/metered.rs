//! A chain's port that measures how long answers take.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use windlass_core::chain::{Address, BlockHeader, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::reader::{BlockTag, ChainError, ChainReader, Header, LogFilter, LogSpan, Receipts};

use super::metrics::RPC_SECONDS;

/// Passes every question on, and notes how long the answer took.
pub(crate) struct Metered {
    chain: String,
    inner: Arc<dyn ChainReader>,
}

impl Metered {
    /// A port to a chain of that name.
    pub(crate) fn new(chain: String, inner: Arc<dyn ChainReader>) -> Self {
        Self { chain, inner }
    }

    async fn timed<T>(&self, method: &'static str, asked: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        let answer = asked.await;
        let seconds = begun.elapsed().as_secs_f64();
        metrics::histogram!(RPC_SECONDS, "chain" => self.chain.clone(), "method" => method).record(seconds);
        answer
    }
}

#[async_trait]
impl ChainReader for Metered {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.timed("chain_id", self.inner.chain_id()).await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.timed("header", self.inner.header(block)).await
    }

    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        self.timed("headers", self.inner.headers(numbers)).await
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.timed("logs", self.inner.logs(span, filter)).await
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.timed("receipts", self.inner.receipts(block)).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.timed("code", self.inner.code(address, at)).await
    }

    fn range_size(&self, filter: &LogFilter) -> u64 {
        self.inner.range_size(filter)
    }
}
