//! An endpoint with its health.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::chain::{BlockRef, Bytes, ChainId};
use windlass_core::error::RetryAdvice;
use windlass_core::payout::submit::{SendAnswer, TransactionChain};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, Header, LogFilter, LogSpan};

use super::compare::Distrust;
use super::health::Health;
use super::options::PoolOptions;
use super::question::{Asked, Kind};
use super::status::EndpointStatus;
use crate::evm::learn::{Learned, SavedEndpoint};
use crate::evm::reader::{EvmReader, GivenLogs};

/// What the pool asks of an endpoint: the port, and what it has learned.
pub(super) trait Source: TransactionChain {
    /// What it says to a transaction; an error if that could not be understood.
    fn offer<'a>(&'a self, raw: &'a Bytes) -> Asked<'a, SendAnswer>;
    /// Logs, with their times where it gives them.
    fn logs_as_given<'a>(&'a self, span: LogSpan, filter: &'a LogFilter) -> Asked<'a, GivenLogs>;
    /// The same for a block whose header is known.
    fn block_logs_as_given<'a>(&'a self, header: &'a Header, filter: &'a LogFilter) -> Asked<'a, GivenLogs>;
    /// The headers of just these blocks, in their order.
    fn headers_of_blocks<'a>(&'a self, blocks: &'a [BlockRef]) -> Asked<'a, Vec<Header>>;
    /// How many calls it takes in one message, for now.
    fn batch_size(&self) -> usize;
    /// Takes note whether it is known to limit the rate.
    fn set_rate_limited(&self, _is_rate_limited: bool) {}
    /// What may be printed of it.
    fn place(&self) -> &str;
    /// Whether so many blocks are known to be refused.
    fn refuses(&self, filter: &LogFilter, blocks: u64) -> bool;
    /// Another endpoint has shown how many logs there are.
    fn observe(&self, filter: &LogFilter, blocks: u64, logs: u64);
    /// What it taught, the filter used last first.
    fn learned(&self) -> Vec<Learned>;
    /// What it taught, to be kept.
    fn save(&self, name: String) -> SavedEndpoint;
    /// What it taught before.
    fn restore(&self, saved: SavedEndpoint);
}

impl Source for EvmReader {
    fn offer<'a>(&'a self, raw: &'a Bytes) -> Asked<'a, SendAnswer> {
        Box::pin(async move { Ok(self.rpc().send_transaction(raw).await?) })
    }

    fn logs_as_given<'a>(&'a self, span: LogSpan, filter: &'a LogFilter) -> Asked<'a, GivenLogs> {
        Box::pin(Self::logs_as_given(self, span, filter))
    }

    fn block_logs_as_given<'a>(&'a self, header: &'a Header, filter: &'a LogFilter) -> Asked<'a, GivenLogs> {
        Box::pin(Self::block_logs_as_given(self, header, filter))
    }

    fn headers_of_blocks<'a>(&'a self, blocks: &'a [BlockRef]) -> Asked<'a, Vec<Header>> {
        Box::pin(Self::headers_of_blocks(self, blocks))
    }

    fn batch_size(&self) -> usize {
        self.rpc().batch_size.get()
    }

    fn set_rate_limited(&self, is_rate_limited: bool) {
        self.anchor_check().set_rate_limited(is_rate_limited);
    }

    fn place(&self) -> &str {
        Self::place(self)
    }

    fn refuses(&self, filter: &LogFilter, blocks: u64) -> bool {
        self.learner().refuses(filter, blocks)
    }

    fn observe(&self, filter: &LogFilter, blocks: u64, logs: u64) {
        self.learner().observed(filter, blocks, logs);
    }

    fn learned(&self) -> Vec<Learned> {
        self.learner().learned()
    }

    fn save(&self, name: String) -> SavedEndpoint {
        self.learner().save(name)
    }

    fn restore(&self, saved: SavedEndpoint) {
        self.learner().restore(saved);
    }
}

/// One of the pool's endpoints.
pub(super) struct Member {
    /// Its place, with a number where several have the same.
    pub(super) name: String,
    pub(super) source: Arc<dyn Source>,
    health: Mutex<Health>,
    /// Questions about heads that wait for the rate.
    heads_waiting: AtomicU32,
    /// Calls for heads since the last for anything else.
    heads_in_a_row: AtomicU32,
    distrust: Mutex<Distrust>,
}

/// Calls for heads that go first, before another call has its turn.
const MAX_HEADS_IN_A_ROW: u32 = 7;
/// How long another call waits before it looks whether those for heads have gone.
const YIELD_PAUSE: Duration = Duration::from_millis(10);

/// A question about heads that waits; it may be given up at any time.
struct HeadWaiting<'a>(&'a AtomicU32);

impl<'a> HeadWaiting<'a> {
    fn new(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for HeadWaiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Members with names that tell them apart.
pub(super) fn named(sources: Vec<Arc<dyn Source>>, options: &PoolOptions) -> Vec<Member> {
    let mut members: Vec<Member> = Vec::with_capacity(sources.len());
    for source in sources {
        let same = members.iter().filter(|member| member.source.place() == source.place()).count();
        let name = match same {
            0 => source.place().to_owned(),
            others => format!("{}#{}", source.place(), others + 1),
        };
        members.push(Member {
            name,
            source,
            health: Mutex::new(Health::new(options)),
            heads_waiting: AtomicU32::new(0),
            heads_in_a_row: AtomicU32::new(0),
            distrust: Mutex::default(),
        });
    }
    members
}

/// Why a question was not answered.
pub(super) enum Failure {
    /// It failed.
    Error(ChainError),
    /// It was not put: the endpoint serves another chain.
    WrongChain(ChainError),
    /// It was not put: the endpoint does not have the blocks yet.
    Behind(ChainError),
    /// It was not put: the endpoint takes fewer calls at once.
    TooManyCalls(ChainError),
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        Self::Error(error)
    }
}

impl From<Failure> for ChainError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Error(error)
            | Failure::WrongChain(error)
            | Failure::Behind(error)
            | Failure::TooManyCalls(error) => error,
        }
    }
}

impl Member {
    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn distrust(&self) -> MutexGuard<'_, Distrust> {
        self.distrust.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until its rate allows so many calls. Those for heads go first: they are few,
    /// and everything behind them has time; yet others have a turn now and then. More calls than
    /// it takes in a second are not waited for: they would be refused as one message.
    pub(super) async fn wait_for_rate(&self, is_urgent: bool, calls: u32) -> Result<(), Failure> {
        let _waiting = is_urgent.then(|| HeadWaiting::new(&self.heads_waiting));
        for _ in 0..calls {
            while let Err(wait) = self.take_call(is_urgent) {
                let per_s = self.health().rate.per_s();
                if calls > 1 && per_s.is_some_and(|per_s| f64::from(calls) > per_s) {
                    let message = format!("{} takes fewer than {calls} calls at once", self.name);
                    let limited = ChainError::new(ChainErrorKind::RateLimited, message);
                    return Err(Failure::TooManyCalls(ChainError {
                        retry: RetryAdvice::After(Duration::ZERO),
                        ..limited
                    }));
                }
                tokio::time::sleep(wait).await;
            }
        }
        Ok(())
    }

    fn take_call(&self, is_urgent: bool) -> Result<(), Duration> {
        let mut health = self.health();
        let is_rate_limited = health.rate.per_s().is_some();
        self.source.set_rate_limited(is_rate_limited);
        if !is_rate_limited {
            return Ok(());
        }
        let heads_first = self.heads_waiting.load(Ordering::Relaxed) > 0
            && self.heads_in_a_row.load(Ordering::Relaxed) < MAX_HEADS_IN_A_ROW;
        if !is_urgent && heads_first {
            return Err(YIELD_PAUSE);
        }
        health.rate.try_take(is_urgent, Instant::now())?;
        match is_urgent {
            true => self.heads_in_a_row.fetch_add(1, Ordering::Relaxed),
            false => self.heads_in_a_row.swap(0, Ordering::Relaxed),
        };
        Ok(())
    }

    /// How many calls it takes in one message, for now: what a rate limit allows in half a
    /// second, since one of more is refused whole where they are counted.
    pub(super) fn batch_size(&self) -> usize {
        let allowed = self.health().rate.per_s().map_or(usize::MAX, |per_s| (per_s / 2.0) as usize);
        self.source.batch_size().min(allowed).max(1)
    }

    /// Makes sure of the chain; costs nothing once that is done.
    pub(super) async fn prove(&self, chain: ChainId) -> Result<(), Failure> {
        if self.health().is_proven() {
            return Ok(());
        }
        let found = self.source.chain_id().await?;
        if found == chain {
            self.health().prove();
            return Ok(());
        }
        let message = format!("{} serves chain {found}, not {chain}", self.name);
        if self.health().is_wrong_chain_news() {
            tracing::warn!(%message, "an endpoint is left out");
        }
        Err(Failure::WrongChain(ChainError::new(ChainErrorKind::Refused, message)))
    }

    /// Makes sure that it has a block; costs nothing while that is known.
    pub(super) async fn reach(&self, block: u64) -> Result<(), Failure> {
        if self.health().reaches(block, Instant::now()) {
            return Ok(());
        }
        let newest = self.source.header(BlockTag::Latest).await?;
        let head = newest.map_or(0, |header| header.block.number);
        self.health().told_head(head, Instant::now());
        if head >= block {
            return Ok(());
        }
        let message = format!("{} does not have block {block} yet, its newest is {head}", self.name);
        Err(Failure::Behind(ChainError::new(ChainErrorKind::UnknownBlock, message)))
    }

    /// Draws the conclusions of a failed question.
    pub(super) fn failed(&self, failure: &Failure, (kind, calls): (Kind, u32), began: Instant, now: Instant) {
        let mut health = self.health();
        let error = match failure {
            Failure::WrongChain(error) => {
                health.has_wrong_chain(now);
                error
            }
            // It is alive, and whoever fell behind may catch up.
            Failure::Behind(_) => return health.answered(),
            Failure::TooManyCalls(_) => return,
            Failure::Error(error) => {
                match error.kind {
                    ChainErrorKind::RateLimited => {
                        health.rate.refused(calls, began, now);
                        health.limited(pause(error), began, now);
                    }
                    ChainErrorKind::Unreachable | ChainErrorKind::Malformed => {
                        health.failed(error.kind, began, now);
                    }
                    // It is alive; whether it is to blame shows when another answers.
                    ChainErrorKind::Refused => health.refused((kind, calls), began, now),
                    ChainErrorKind::RangeTooLarge { .. }
                    | ChainErrorKind::UnknownBlock
                    | ChainErrorKind::Unconfirmed => {
                        return health.answered();
                    }
                }
                error
            }
        };
        let is_lacking = error.kind == ChainErrorKind::Refused && health.never_answers(kind);
        health.tell_trouble(error.message.clone(), now);
        drop(health);
        if kind.is_about_logs()
            && (error.kind == ChainErrorKind::Unreachable || is_lacking)
            && self.distrust().failed(&error.message, now)
        {
            tracing::warn!(
                endpoint = self.name,
                error = error.message,
                "an endpoint keeps failing at logs and is not asked about them for a while"
            );
        }
    }

    /// Another answered what this one refused.
    pub(super) fn refuted(&self, began: Instant, now: Instant) {
        self.health().strike(ChainErrorKind::Refused, began, now);
    }

    /// Another had what this one said there is not.
    pub(super) fn contradicted(&self, why: &str, now: Instant) {
        if self.distrust().report(why.to_owned(), now) {
            tracing::warn!(endpoint = self.name, why, "an endpoint is not asked about logs for a while");
        }
    }

    pub(super) fn status(&self, now: Instant) -> EndpointStatus {
        let learned = self.source.learned();
        EndpointStatus::new(self.name.clone(), &self.health(), learned, now).distrusted(&self.distrust(), now)
    }
}

/// How long an endpoint wants to be left alone.
fn pause(error: &ChainError) -> Duration {
    match error.retry {
        RetryAdvice::After(pause) => pause,
        RetryAdvice::Never => Duration::from_secs(1),
    }
}
