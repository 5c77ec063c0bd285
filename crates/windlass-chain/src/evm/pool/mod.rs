//! Several endpoints of one chain behind the core's port.
//!
//! ```text
//! question ─► pick ─► turn ─► endpoint ─► settle ─► answer
//!              ▲       │ slow: hedge            │
//!              └───────┴── failed, unknown ◄────┘
//! ```
//!
//! | file | what it holds |
//! | --- | --- |
//! | `question`, `log_question` | what can be asked, and which answers another endpoint may better |
//! | `batches` | questions of many calls: headers, and the times of logs that came without |
//! | `ask` | one question: tries, hedges, and which of several errors is told |
//! | `compare` | one question to every endpoint, and endpoints whose logs were proven false |
//! | `pick` | who is asked next, and waiting for a turn |
//! | `health`, `latency` | what is known of an endpoint, without I/O; time is an argument |
//! | `rate` | how many calls a second an endpoint takes, learned from its refusals |
//! | `refusals` | which refusals are not about the rate |
//! | `member` | an endpoint with its health; makes sure of its chain |
//! | `knowledge` | who has which block, and who is asked about heads |
//! | `transaction`, `send` | what payouts ask, and a transaction to every endpoint |
//! | `status` | what is shown |
//!
//! Invariants: an endpoint is asked no question before it has named the right chain, and
//! none while it is left out, unless all are; a question is put to at most [`MAX_TRIES`] endpoints
//! and never twice to the same, unless all had too many calls; hedges are a bounded share of all questions. A transaction is
//! no question: it goes to all at once, also to those that are left out, and to none twice.

mod ask;
mod batches;
mod compare;
mod health;
mod hedge;
mod knowledge;
mod latency;
mod latest;
mod log_question;
mod member;
mod options;
mod pick;
mod question;
mod rate;
mod refusals;
mod saved;
mod send;
mod status;
#[cfg(test)]
mod tests;
mod transaction;

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures_util::future::join_all;
use tokio::sync::Notify;
use tokio::time::Instant;
use windlass_core::chain::{Address, BlockHeader, BlockRef, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::reader::{
    BlockTag, ChainError, ChainReader, EndpointAnswer, FalseAnswer, Header, LogFilter, LogSpan, Receipts,
    confirmed,
};

use super::client::EvmRpc;
use super::endpoint::Endpoint;
use super::error::RpcError;
use super::reader::EvmReader;
pub use ask::MAX_TRIES;
use hedge::Hedges;
use knowledge::Knowledge;
use log_question::{AskBlockLogs, AskLogs, AskLogsOfBlocks};
use member::{Member, Source};
pub use options::PoolOptions;
use question::{AskChainId, AskCode, AskHeader, AskReceipts, Question};
pub use status::EndpointStatus;

/// The most endpoints that are named as not well.
const MAX_NOTES: usize = 8;

/// Several endpoints of one chain. Cheap to clone; clones share everything.
#[derive(Clone)]
pub struct EvmPool {
    inner: Arc<Inner>,
}

struct Inner {
    chain: ChainId,
    options: PoolOptions,
    members: Vec<Member>,
    knowledge: Mutex<Knowledge>,
    hedges: Mutex<Hedges>,
    /// Endpoints that may have left out the logs of a block, to be made sure of.
    accused: Mutex<Vec<(usize, BlockRef)>>,
    /// Told whenever a turn may be free.
    freed: Notify,
}

impl EvmPool {
    /// A pool of these endpoints. Questions go over HTTP; over WebSockets only if there
    /// is nothing else. The process must have a TLS provider installed.
    pub fn new<U: AsRef<str>>(urls: &[U], chain: ChainId, options: PoolOptions) -> Result<Self, RpcError> {
        let mut over_http = Vec::new();
        let mut over_sockets = Vec::new();
        for url in urls {
            let socket = Endpoint::parse(url.as_ref())?.is_socket();
            if socket { &mut over_sockets } else { &mut over_http }.push(url.as_ref());
        }
        let chosen = if over_http.is_empty() { over_sockets } else { over_http };
        if chosen.is_empty() {
            return Err(RpcError::Url { place: "an empty list".to_owned() });
        }
        let mut sources: Vec<Arc<dyn Source>> = Vec::with_capacity(chosen.len());
        for url in chosen {
            let rpc = EvmRpc::with_timeout(url, options.request_timeout)?;
            sources.push(Arc::new(EvmReader::with_options(rpc, chain, options.learn)));
        }
        Ok(Self::of(sources, chain, options))
    }

    fn of(sources: Vec<Arc<dyn Source>>, chain: ChainId, options: PoolOptions) -> Self {
        let inner = Inner {
            chain,
            members: member::named(sources, &options),
            knowledge: Mutex::default(),
            hedges: Mutex::new(Hedges::new(&options)),
            accused: Mutex::default(),
            freed: Notify::new(),
            options,
        };
        Self { inner: Arc::new(inner) }
    }

    /// How every endpoint fares.
    pub fn status(&self) -> Vec<EndpointStatus> {
        let now = Instant::now();
        self.inner.members.iter().map(|member| member.status(now)).collect()
    }

    /// How many questions the endpoints that are well take at once, in all.
    pub fn concurrency(&self) -> usize {
        let now = Instant::now();
        self.inner.members.iter().map(|member| member.health().concurrency(now) as usize).sum()
    }

    /// Makes sure, beside everything else, whether endpoints that were accused of leaving out logs
    /// have done so.
    fn try_accused(&self) {
        for (place, block) in self.inner.take_accused() {
            let inner = self.inner.clone();
            tokio::spawn(async move { inner.try_one(place, block).await });
        }
    }

    /// What has been learned, as a text to keep across restarts. Bounded in length.
    pub fn export(&self) -> String {
        saved::write(&self.inner.members)
    }

    /// Takes what [`Self::export`] wrote, as far as it concerns these endpoints. A text
    /// that is none of it changes nothing.
    pub fn restore(&self, text: &str) {
        saved::read(&self.inner.members, text);
    }
}

#[async_trait]
impl ChainReader for EvmPool {
    /// The pool's own chain, once an endpoint has confirmed it.
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.inner.ask(&AskChainId { chain: self.inner.chain }).await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        match block {
            BlockTag::Latest => self.inner.latest().await,
            block => {
                let wants_proof = self.inner.headers_are_provable();
                self.inner.ask(&AskHeader { block, wants_proof }).await
            }
        }
    }

    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        self.inner.headers(numbers).await
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let given = self.inner.ask(&AskLogs { span, filter }).await?;
        self.inner.with_times(given).await
    }

    /// None are confirmed by all logs of the block: that several endpoints have none says
    /// nothing, since they may all be behind.
    async fn block_logs(&self, header: &Header, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let question = AskBlockLogs { header, filter };
        let logs = self.inner.ask(&question).await?;
        self.try_accused();
        if !question.is_unknown(&logs) {
            return Ok(logs);
        }
        let all = LogFilter::default();
        confirmed(header, filter, self.inner.ask(&AskBlockLogs { header, filter: &all }).await)
    }

    async fn logs_of_blocks(
        &self,
        headers: &[Header],
        filter: &LogFilter,
    ) -> Result<Vec<LogEvent>, ChainError> {
        match AskLogsOfBlocks::new(headers, filter) {
            Some(question) => self.inner.ask(&question).await,
            None => Ok(Vec::new()),
        }
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.inner.ask(&AskReceipts { block }).await
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.inner.ask(&AskCode { address, at }).await
    }

    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        self.inner.ask_each(&AskHeader { block, wants_proof: false }).await
    }

    async fn logs_from_each(&self, span: LogSpan, filter: &LogFilter) -> Vec<EndpointAnswer<Vec<LogEvent>>> {
        let answers = self.inner.ask_each(&AskLogs { span, filter }).await;
        let timed = answers.into_iter().map(async |EndpointAnswer { endpoint, answer }| {
            let place = self.inner.members.iter().position(|member| member.name == endpoint);
            let answer = match (answer, place) {
                (Ok(given), Some(place)) => self.inner.with_times_of(place, given).await,
                (Ok(given), None) => self.inner.with_times(given).await,
                (Err(error), _) => Err(error),
            };
            EndpointAnswer { endpoint, answer }
        });
        join_all(timed).await
    }

    async fn receipts_from_each(&self, block: &BlockHeader) -> Vec<EndpointAnswer<Option<Receipts>>> {
        self.inner.ask_each(&AskReceipts { block }).await
    }

    fn report_false_answer(&self, endpoint: &str, answer: &FalseAnswer) {
        self.inner.distrust(endpoint, answer);
    }

    fn report_other_chain(&self, endpoint: &str, why: &str) {
        self.inner.set_aside(endpoint, why);
    }

    fn endpoint_notes(&self) -> Vec<String> {
        self.status().iter().filter_map(EndpointStatus::note).take(MAX_NOTES).collect()
    }

    fn endpoint_names(&self) -> Vec<String> {
        self.inner.members.iter().map(|member| member.name.clone()).collect()
    }

    /// What the endpoint can take that takes most, of those that are well.
    fn range_size(&self, filter: &LogFilter) -> u64 {
        let now = Instant::now();
        let size = |member: &Member| member.source.range_size(filter);
        let well = self.inner.members.iter().filter(|member| member.health().is_available(now));
        let largest = well.map(size).max().or_else(|| self.inner.members.iter().map(size).max());
        largest.unwrap_or(1)
    }
}

impl fmt::Debug for EvmPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.inner.members.iter().map(|member| &member.name)).finish()
    }
}
