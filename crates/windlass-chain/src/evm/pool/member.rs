//! An endpoint with its health.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;
use windlass_core::chain::{Bytes, ChainId};
use windlass_core::error::RetryAdvice;
use windlass_core::payout::submit::{SendAnswer, TransactionChain};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, LogFilter};

use super::compare::Distrust;
use super::health::Health;
use super::options::PoolOptions;
use super::question::Asked;
use super::status::EndpointStatus;
use crate::evm::learn::{Learned, SavedEndpoint};
use crate::evm::reader::EvmReader;

/// What the pool asks of an endpoint: the port, and what it has learned.
pub(super) trait Source: TransactionChain {
    /// What it says to a transaction; an error if that could not be understood.
    fn offer<'a>(&'a self, raw: &'a Bytes) -> Asked<'a, SendAnswer>;
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
    distrust: Mutex<Distrust>,
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
}

impl From<ChainError> for Failure {
    fn from(error: ChainError) -> Self {
        Self::Error(error)
    }
}

impl Member {
    pub(super) fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn distrust(&self) -> MutexGuard<'_, Distrust> {
        self.distrust.lock().unwrap_or_else(PoisonError::into_inner)
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
        tracing::warn!(%message, "an endpoint is left out");
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
    pub(super) fn failed(&self, failure: &Failure, began: Instant, now: Instant) {
        let mut health = self.health();
        let error = match failure {
            Failure::WrongChain(error) => {
                health.has_wrong_chain(now);
                error
            }
            // It is alive, and whoever fell behind may catch up.
            Failure::Behind(_) => return health.answered(),
            Failure::Error(error) => {
                match error.kind {
                    ChainErrorKind::RateLimited => health.limited(pause(error), began, now),
                    ChainErrorKind::Unreachable | ChainErrorKind::Malformed => {
                        health.failed(error.kind, began, now);
                    }
                    // It is alive; whether it is to blame shows when another answers.
                    ChainErrorKind::Refused => health.counts.errors += 1,
                    ChainErrorKind::RangeTooLarge { .. } | ChainErrorKind::UnknownBlock => {
                        return health.answered();
                    }
                }
                error
            }
        };
        health.trouble = Some(error.message.clone());
    }

    /// Another answered what this one refused.
    pub(super) fn refuted(&self, began: Instant, now: Instant) {
        self.health().strike(ChainErrorKind::Refused, began, now);
    }

    pub(super) fn status(&self, now: Instant) -> EndpointStatus {
        let learned = self.source.learned();
        EndpointStatus::new(self.name.clone(), &self.health(), learned, now).distrusted(&self.distrust(), now)
    }
}

/// How long an endpoint wants to be left alone.
fn pause(error: &ChainError) -> std::time::Duration {
    match error.retry {
        RetryAdvice::After(pause) => pause,
        RetryAdvice::Never => std::time::Duration::from_secs(1),
    }
}
