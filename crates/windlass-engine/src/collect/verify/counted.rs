//! A chain's port that counts the requests that go through it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use windlass_core::chain::{Address, BlockHeader, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::reader::{
    BlockTag, ChainError, ChainReader, EndpointAnswer, FalseAnswer, Header, LogFilter, LogSpan, Receipts,
};

/// Passes every question on, and counts it. A batch counts as many as it asks for, and a
/// question to every endpoint as many as were asked.
pub(in crate::collect) struct CountedReader {
    inner: Arc<dyn ChainReader>,
    count: AtomicU64,
}

impl CountedReader {
    pub(in crate::collect) fn new(inner: Arc<dyn ChainReader>) -> Self {
        Self { inner, count: AtomicU64::new(0) }
    }

    /// How many requests have gone through it.
    pub(in crate::collect) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn note(&self, requests: usize) {
        self.count.fetch_add(requests as u64, Ordering::Relaxed);
    }

    fn each<T>(&self, answers: Vec<EndpointAnswer<T>>) -> Vec<EndpointAnswer<T>> {
        self.note(answers.len());
        answers
    }
}

#[async_trait]
impl ChainReader for CountedReader {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.note(1);
        self.inner.chain_id().await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.note(1);
        self.inner.header(block).await
    }

    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        self.note(numbers.len());
        self.inner.headers(numbers).await
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.note(1);
        self.inner.logs(span, filter).await
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.note(1);
        self.inner.receipts(block).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.note(1);
        self.inner.code(address, at).await
    }

    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        self.each(self.inner.header_from_each(block).await)
    }

    async fn logs_from_each(&self, span: LogSpan, filter: &LogFilter) -> Vec<EndpointAnswer<Vec<LogEvent>>> {
        self.each(self.inner.logs_from_each(span, filter).await)
    }

    async fn receipts_from_each(&self, block: &BlockHeader) -> Vec<EndpointAnswer<Option<Receipts>>> {
        self.each(self.inner.receipts_from_each(block).await)
    }

    fn report_false_answer(&self, endpoint: &str, answer: &FalseAnswer) {
        self.inner.report_false_answer(endpoint, answer);
    }

    fn report_other_chain(&self, endpoint: &str, why: &str) {
        self.inner.report_other_chain(endpoint, why);
    }

    fn range_size(&self, filter: &LogFilter) -> u64 {
        self.inner.range_size(filter)
    }
}
