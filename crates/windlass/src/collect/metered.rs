//! A chain's port that measures how long answers take.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use windlass_core::chain::{Address, B256, BlockHeader, Bytes, ChainId, U256};
use windlass_core::event::LogEvent;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{
    Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionChain, TransactionReceipt,
};
use windlass_core::reader::{
    BlockTag, ChainError, ChainReader, EndpointAnswer, FalseAnswer, Header, LogFilter, LogSpan, Receipts,
};

use super::metrics::{FALSE_ANSWERS_TOTAL, RPC_SECONDS};
use crate::pay::metrics::{PAY_ANSWERS_TOTAL, PAY_SENT_TOTAL};

/// Passes every question on, and notes how long the answer took.
pub(crate) struct Metered<C> {
    chain: String,
    inner: Arc<C>,
}

impl<C> Metered<C> {
    /// A port to a chain of that name.
    pub(crate) fn new(chain: String, inner: Arc<C>) -> Self {
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
impl<C: ChainReader> ChainReader for Metered<C> {
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

    async fn block_logs(&self, header: &Header, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.timed("block_logs", self.inner.block_logs(header, filter)).await
    }

    async fn logs_of_blocks(
        &self,
        headers: &[Header],
        filter: &LogFilter,
    ) -> Result<Vec<LogEvent>, ChainError> {
        self.timed("logs_of_blocks", self.inner.logs_of_blocks(headers, filter)).await
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.timed("receipts", self.inner.receipts(block)).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.timed("code", self.inner.code(address, at)).await
    }

    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        self.timed("header", self.inner.header_from_each(block)).await
    }

    async fn logs_from_each(&self, span: LogSpan, filter: &LogFilter) -> Vec<EndpointAnswer<Vec<LogEvent>>> {
        self.timed("logs", self.inner.logs_from_each(span, filter)).await
    }

    async fn receipts_from_each(&self, block: &BlockHeader) -> Vec<EndpointAnswer<Option<Receipts>>> {
        self.timed("receipts", self.inner.receipts_from_each(block)).await
    }

    fn report_false_answer(&self, endpoint: &str, answer: &FalseAnswer) {
        let labels = [("chain", self.chain.clone()), ("place", endpoint.to_owned())];
        metrics::counter!(FALSE_ANSWERS_TOTAL, &labels).increment(1);
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

impl<C> Metered<C> {
    /// The same for what paying asks, counted by what came of it.
    async fn counted<T>(
        &self,
        method: &'static str,
        asked: impl Future<Output = Result<T, ChainError>>,
    ) -> Result<T, ChainError> {
        let answer = self.timed(method, asked).await;
        let outcome = answer.as_ref().map_or_else(|error| error.kind.code().as_str(), |_| "ok");
        let labels =
            [("chain", self.chain.clone()), ("method", method.to_owned()), ("outcome", outcome.to_owned())];
        metrics::counter!(PAY_ANSWERS_TOTAL, &labels).increment(1);
        answer
    }
}

#[async_trait]
impl<C: TransactionChain> TransactionChain for Metered<C> {
    async fn call(&self, call: &Call, at: BlockTag) -> Result<CallOutcome, ChainError> {
        self.counted("call", self.inner.call(call, at)).await
    }

    async fn estimate_gas(&self, call: &Call) -> Result<GasEstimate, ChainError> {
        self.counted("estimate_gas", self.inner.estimate_gas(call)).await
    }

    async fn send(&self, raw: &Bytes) -> Vec<SendAnswer> {
        let answers = self.timed("send", self.inner.send(raw)).await;
        for answer in &answers {
            let outcome = answer.as_str();
            metrics::counter!(PAY_SENT_TOTAL, "chain" => self.chain.clone(), "outcome" => outcome)
                .increment(1);
        }
        answers
    }

    async fn receipt(&self, hash: B256) -> Result<Option<TransactionReceipt>, ChainError> {
        self.counted("receipt", self.inner.receipt(hash)).await
    }

    async fn nonce(&self, account: Address, at: NonceTag) -> Result<u64, ChainError> {
        self.counted("nonce", self.inner.nonce(account, at)).await
    }

    async fn call_from_each(&self, call: &Call, at: BlockTag) -> Vec<EndpointAnswer<CallOutcome>> {
        self.timed("call", self.inner.call_from_each(call, at)).await
    }

    async fn nonce_from_each(&self, account: Address, at: NonceTag) -> Vec<EndpointAnswer<u64>> {
        self.timed("nonce", self.inner.nonce_from_each(account, at)).await
    }

    async fn estimate_gas_from_each(&self, call: &Call) -> Vec<EndpointAnswer<GasEstimate>> {
        self.timed("estimate_gas", self.inner.estimate_gas_from_each(call)).await
    }

    async fn receipt_from_each(&self, hash: B256) -> Vec<EndpointAnswer<Option<TransactionReceipt>>> {
        self.timed("receipt", self.inner.receipt_from_each(hash)).await
    }

    async fn gas_fees_from_each(&self) -> Vec<EndpointAnswer<GasFees>> {
        self.timed("gas_fees", self.inner.gas_fees_from_each()).await
    }

    async fn gas_fees(&self) -> Result<GasFees, ChainError> {
        self.counted("gas_fees", self.inner.gas_fees()).await
    }

    async fn balance_from_each(&self, account: Address, at: BlockTag) -> Vec<EndpointAnswer<U256>> {
        self.timed("balance", self.inner.balance_from_each(account, at)).await
    }

    async fn balance(&self, account: Address, at: BlockTag) -> Result<U256, ChainError> {
        self.counted("balance", self.inner.balance(account, at)).await
    }
}
