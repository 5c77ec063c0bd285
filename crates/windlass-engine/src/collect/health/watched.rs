//! A chain's port that notes what is asked and answered.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use tokio::time::Instant;
use windlass_core::chain::{Address, BlockHeader, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, EndpointAnswer, FalseAnswer, Header, LogFilter,
    LogSpan, Receipts,
};

use super::pulse::Pulse;

/// Passes every question on, and notes what is heard.
pub(in crate::collect) struct Watched {
    inner: Arc<dyn ChainReader>,
    pulse: Arc<Pulse>,
    /// How many requests were put. A batch counts as many as it asks for.
    requests: Arc<AtomicU64>,
}

/// A question that is under way. It may be given up at any time.
struct Asking<'a> {
    pulse: &'a Pulse,
    number: u64,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.pulse.stop_asking(self.number);
    }
}

impl Watched {
    pub(in crate::collect) fn new(
        inner: Arc<dyn ChainReader>,
        pulse: Arc<Pulse>,
        requests: Arc<AtomicU64>,
    ) -> Self {
        Self { inner, pulse, requests }
    }

    fn count(&self, requests: usize) {
        self.requests.fetch_add(requests as u64, Ordering::Relaxed);
    }

    /// A question that should be answered at once: if it is not, that is silence. Many
    /// logs take their time.
    async fn prompt<T>(&self, asked: impl Future<Output = Result<T, ChainError>>) -> Result<T, ChainError> {
        let _asking = Asking { pulse: &self.pulse, number: self.pulse.ask(Instant::now()) };
        self.heard(asked).await
    }

    /// A question that was put to several endpoints: any of them may be heard.
    async fn each<T>(&self, asked: impl Future<Output = Vec<EndpointAnswer<T>>>) -> Vec<EndpointAnswer<T>> {
        let answers = asked.await;
        self.count(answers.len());
        if answers.iter().any(|one| one.answer.as_ref().err().is_none_or(is_answer)) {
            self.pulse.hear(Instant::now());
        }
        answers
    }

    async fn heard<T>(&self, asked: impl Future<Output = Result<T, ChainError>>) -> Result<T, ChainError> {
        self.count(1);
        let answer = asked.await;
        if answer.as_ref().err().is_none_or(is_answer) {
            self.pulse.hear(Instant::now());
        }
        answer
    }
}

/// Whether somebody has understood the question, and does not have what was asked for.
const fn is_answer(error: &ChainError) -> bool {
    matches!(error.kind, ChainErrorKind::UnknownBlock | ChainErrorKind::RangeTooLarge { .. })
}

#[async_trait]
impl ChainReader for Watched {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.prompt(self.inner.chain_id()).await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.prompt(self.inner.header(block)).await
    }

    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        // One of them is counted with every question.
        self.count(numbers.len().saturating_sub(1));
        self.heard(self.inner.headers(numbers)).await
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.heard(self.inner.logs(span, filter)).await
    }

    async fn block_logs(&self, header: &Header, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.prompt(self.inner.block_logs(header, filter)).await
    }

    async fn logs_of_blocks(
        &self,
        headers: &[Header],
        filter: &LogFilter,
    ) -> Result<Vec<LogEvent>, ChainError> {
        self.prompt(self.inner.logs_of_blocks(headers, filter)).await
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.heard(self.inner.receipts(block)).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.heard(self.inner.code(address, at)).await
    }

    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        self.each(self.inner.header_from_each(block)).await
    }

    async fn logs_from_each(&self, span: LogSpan, filter: &LogFilter) -> Vec<EndpointAnswer<Vec<LogEvent>>> {
        self.each(self.inner.logs_from_each(span, filter)).await
    }

    async fn receipts_from_each(&self, block: &BlockHeader) -> Vec<EndpointAnswer<Option<Receipts>>> {
        self.each(self.inner.receipts_from_each(block)).await
    }

    fn report_false_answer(&self, endpoint: &str, answer: &FalseAnswer) {
        self.inner.report_false_answer(endpoint, answer);
    }

    fn report_other_chain(&self, endpoint: &str, why: &str) {
        self.inner.report_other_chain(endpoint, why);
    }

    fn endpoint_notes(&self) -> Vec<String> {
        self.inner.endpoint_notes()
    }

    fn endpoint_names(&self) -> Vec<String> {
        self.inner.endpoint_names()
    }

    fn range_size(&self, filter: &LogFilter) -> u64 {
        self.inner.range_size(filter)
    }
}
