//! Follows the head of one chain.
//!
//! A step looks at the block behind the cursor. If it stands on the last stored
//! block, its logs are asked for by its hash, and logs, header, cursor and an
//! outbox message are committed together under the chain's lease. If it does not,
//! the chain was reorganised: the step goes back to the common ancestor, and
//! everything above is taken back in one commit.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::chain::{B256, BlockHeader, BlockRef, ChainId};
use windlass_core::commit::{Commit, Write, Written};
use windlass_core::cursor::{Cursor, CursorRule};
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::event::LogEvent;
use windlass_core::lease::Lease;
use windlass_core::name::{CursorName, LeaseName, NameError, Owner, Partition, StateKey};
use windlass_core::outbox::NewMessage;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan};
use windlass_core::store::Store;

use super::ancestor::common_ancestor;
use crate::pace::{Paced, step_until};

/// What to follow, and how.
#[derive(Debug, Clone)]
pub struct FollowOptions {
    /// The chain.
    pub chain: ChainId,
    /// The first block of interest.
    pub start_block: u64,
    /// Which logs.
    pub filter: LogFilter,
    /// Who this worker is.
    pub owner: Owner,
    /// How long the chain's lease lasts without a step.
    pub lease_ttl: Duration,
    /// How long to wait when there is nothing to do.
    pub poll_interval: Duration,
    /// At most this many blocks in one commit.
    pub max_blocks_per_step: u32,
    /// A reorg deeper than this is not believed.
    pub max_reorg_depth: u32,
}

/// A step ends early at this many logs, so that its commit stays within bounds.
const MAX_LOGS_PER_STEP: usize = 20_000;
/// A step ends early when this share of the lease has passed, so that it commits in time.
const LEASE_SHARE_PER_STEP: u32 = 3;

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// Another worker follows this chain.
    NotOurs,
    /// Nothing new.
    Idle,
    /// Blocks were stored.
    Advanced {
        /// How many.
        blocks: u64,
        /// How many logs they held.
        events: u64,
    },
    /// The chain was reorganised, and stored blocks were taken back.
    Reorganised {
        /// How many blocks.
        depth: u64,
        /// How many logs they held.
        retracted: u64,
    },
}

/// Why a step did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The endpoint.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// A name that cannot be one.
    #[error(transparent)]
    Name(#[from] NameError),
    /// No stored block within the depth is on the chain any more.
    #[error("chain {chain} no longer has block {block} nor the {depth} below it as they were stored")]
    TooDeep {
        /// The chain.
        chain: ChainId,
        /// The last stored block.
        block: u64,
        /// How far down was looked.
        depth: u32,
    },
    /// A stored cursor that this loop did not write.
    #[error("cursor {name} does not hold a block: {found}")]
    StrangeCursor {
        /// Which cursor.
        name: CursorName,
        /// What it holds.
        found: Cursor,
    },
}

/// The loop.
pub struct Follower {
    options: FollowOptions,
    store: Arc<dyn Store>,
    reader: Arc<dyn ChainReader>,
    lease_name: LeaseName,
    cursor_name: CursorName,
    partition: Partition,
    generation_key: StateKey,
    lease: Option<Lease>,
}

impl Follower {
    /// A follower that has not begun.
    pub fn new(
        options: FollowOptions,
        store: Arc<dyn Store>,
        reader: Arc<dyn ChainReader>,
    ) -> Result<Self, FollowError> {
        let subject = format!("collect/{}", options.chain);
        Ok(Self {
            lease_name: LeaseName::new(subject.clone())?,
            cursor_name: CursorName::new(format!("{subject}/head"))?,
            generation_key: StateKey::new(format!("{subject}/generation"))?,
            partition: Partition::new(subject)?,
            options,
            store,
            reader,
            lease: None,
        })
    }

    /// Steps until told to stop, then gives the lease back.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), FollowError> {
        let result = step_until(&mut self, &shutdown).await;
        self.release().await;
        result
    }

    /// Does one unit of work.
    pub async fn step(&mut self) -> Result<Followed, FollowError> {
        let held =
            self.store.acquire_lease(&self.lease_name, &self.options.owner, self.options.lease_ttl).await?;
        let Some(lease) = held else {
            self.lease = None;
            return Ok(Followed::NotOurs);
        };
        self.lease = Some(lease.clone());
        match self.position().await? {
            None => self.advance(&lease, None).await,
            Some(position) if self.is_canonical(&position).await? => {
                self.advance(&lease, Some(position)).await
            }
            Some(position) => self.go_back(&lease, position).await,
        }
    }

    /// Gives the lease back, so that another worker need not wait for its end.
    pub async fn release(&mut self) {
        if let Some(lease) = self.lease.take()
            && let Err(error) = self.store.release_lease(&lease).await
        {
            tracing::warn!(%error, "the lease could not be given back and will run out");
        }
    }

    /// The last stored block; `None` before the first.
    async fn position(&self) -> Result<Option<BlockRef>, FollowError> {
        let Some(cursor) = self.store.cursor(&self.cursor_name).await? else { return Ok(None) };
        let number = u64::try_from(cursor.primary()).ok();
        let hash = cursor.secondary().parse::<B256>().ok();
        match number.zip(hash) {
            Some((number, hash)) => Ok(Some(BlockRef { number, hash })),
            None => Err(FollowError::StrangeCursor { name: self.cursor_name.clone(), found: cursor }),
        }
    }

    /// Whether the chain still has the last stored block. A node that does not know
    /// that height yet merely lags.
    async fn is_canonical(&self, position: &BlockRef) -> Result<bool, FollowError> {
        let header = self.reader.header(BlockTag::Number(position.number)).await?;
        Ok(header.is_none_or(|header| header.block.hash == position.hash))
    }

    /// Stores the blocks that stand on the last stored one.
    async fn advance(&self, lease: &Lease, from: Option<BlockRef>) -> Result<Followed, FollowError> {
        let begun = tokio::time::Instant::now();
        let (mut headers, mut events) = (Vec::new(), Vec::new());
        let mut last = from;
        while headers.len() < self.options.max_blocks_per_step as usize
            && events.len() < MAX_LOGS_PER_STEP
            && begun.elapsed() < self.options.lease_ttl / LEASE_SHARE_PER_STEP
        {
            let next = last.map_or(self.options.start_block, |block| block.number + 1);
            let Some(header) = self.reader.header(BlockTag::Number(next)).await? else { break };
            if last.is_some_and(|parent| !header.block.follows(&parent)) {
                break;
            }
            match self.logs_of(&header).await {
                Ok(logs) => events.extend(logs),
                // The block was reorganised away between the two questions, or the node lags.
                Err(error) if error.kind == ChainErrorKind::UnknownBlock && !headers.is_empty() => break,
                Err(error) => return Err(error.into()),
            }
            last = Some(header.block.block_ref());
            headers.push(header.block);
        }
        if headers.is_empty() {
            return Ok(Followed::Idle);
        }
        let advanced = Followed::Advanced { blocks: headers.len() as u64, events: events.len() as u64 };
        let generation = self.generation().await?;
        self.store
            .commit(self.advancing(from.is_none(), headers, events, generation).under_lease(lease))
            .await?;
        Ok(advanced)
    }

    /// A block's logs. A node that lags may answer with none for a block that it
    /// does not have; where the header's bloom speaks against that, all logs of the
    /// block are asked for: they cannot be none.
    async fn logs_of(&self, header: &Header) -> Result<Vec<LogEvent>, ChainError> {
        let (span, filter) = (LogSpan::Block(header.block.hash), &self.options.filter);
        let logs = self.reader.logs(span, filter).await?;
        if !logs.is_empty() || !filter.may_match(&header.logs_bloom) {
            return Ok(logs);
        }
        let mut all = self.reader.logs(span, &LogFilter::default()).await?;
        if all.is_empty() {
            let told =
                format!("the endpoint has no logs for block {}, whose bloom has some", header.block.number);
            return Err(ChainError::new(ChainErrorKind::UnknownBlock, told));
        }
        all.retain(|log| filter.matches(log));
        Ok(all)
    }

    fn advancing(
        &self,
        first: bool,
        headers: Vec<BlockHeader>,
        events: Vec<LogEvent>,
        generation: u64,
    ) -> Commit {
        let mut writes = Vec::with_capacity(4);
        if let Some((oldest, newest)) = headers.first().zip(headers.last()) {
            let (name, to) = (self.cursor_name.clone(), cursor_at(newest.block_ref()));
            writes.push(if first {
                Write::SeedCursor { name, start: to }
            } else {
                Write::AdvanceCursor { name, to, rule: CursorRule::Identified }
            });
            if !events.is_empty() {
                let newest = newest.block_ref();
                let message = self.message("events.added", generation, oldest.number, newest, events.len());
                writes.push(Write::Publish(vec![message]));
            }
        }
        writes.push(Write::Events(events));
        writes.push(Write::Blocks { chain: self.options.chain, headers });
        // What was read from a chain can be read again.
        Commit::of(writes).relaxed()
    }

    /// Takes back what stands above the common ancestor.
    async fn go_back(&self, lease: &Lease, position: BlockRef) -> Result<Followed, FollowError> {
        let chain = self.options.chain;
        let ancestor = common_ancestor(&*self.store, &*self.reader, &self.options, position.number).await?;
        let from_block = ancestor.number + 1;
        let generation = self.generation().await? + 1;
        let writes = vec![
            Write::ResetCursor {
                name: self.cursor_name.clone(),
                expected: cursor_at(position),
                to: cursor_at(ancestor),
            },
            Write::Retract { chain, from_block },
            Write::PutState { key: self.generation_key.clone(), value: Some(generation.to_string()) },
            Write::Publish(vec![self.message("events.removed", generation, from_block, ancestor, 0)]),
        ];
        let written = self.store.commit(Commit::of(writes).under_lease(lease).relaxed()).await?;
        let depth = position.number - ancestor.number;
        tracing::info!(%chain, depth, ancestor = ancestor.number, "the chain was reorganised");
        Ok(Followed::Reorganised { depth, retracted: retracted(&written) })
    }

    /// How often stored blocks were taken back. It is a part of every message's
    /// key: a block that leaves the chain and comes back is another fact.
    async fn generation(&self) -> Result<u64, FollowError> {
        let stored = self.store.state(&self.generation_key).await?;
        Ok(stored.and_then(|text| text.parse().ok()).unwrap_or(0))
    }

    /// A message that stands for a whole run of blocks; delivery expands it.
    fn message(
        &self,
        topic: &str,
        generation: u64,
        from_block: u64,
        head: BlockRef,
        events: usize,
    ) -> NewMessage {
        let payload = serde_json::json!({
            "chain": self.options.chain,
            "generation": generation,
            "from_block": from_block,
            "head": head,
            "events": events,
        });
        NewMessage {
            partition: self.partition.clone(),
            idempotency_key: format!("{topic}/{generation}/{from_block}/{}", head.hash),
            topic: topic.to_owned(),
            payload: payload.to_string(),
        }
    }
}

impl Paced for Follower {
    const WHAT: &'static str = "following";
    type Error = FollowError;

    async fn pace(&mut self) -> Result<Duration, FollowError> {
        match self.step().await? {
            Followed::Advanced { .. } | Followed::Reorganised { .. } => Ok(Duration::ZERO),
            Followed::Idle | Followed::NotOurs => Ok(self.options.poll_interval),
        }
    }

    fn retry(error: &FollowError) -> RetryAdvice {
        error.retry()
    }
}

impl FollowError {
    /// Whether and when to try the step again.
    pub fn retry(&self) -> RetryAdvice {
        match self {
            Self::Store(error @ (StoreError::Fenced { .. } | StoreError::Busy)) => {
                // Somebody took over: the next step asks for the lease anew.
                tracing::debug!(%error, "the step was refused");
                RetryAdvice::After(Duration::from_millis(50))
            }
            Self::Store(error) => error.retry(),
            // One block cannot be asked for in parts; a node that found it too large was in trouble.
            Self::Chain(ChainError { kind: ChainErrorKind::RangeTooLarge { .. }, .. }) => {
                RetryAdvice::After(Duration::from_secs(1))
            }
            Self::Chain(error) => error.retry,
            Self::Name(_) | Self::TooDeep { .. } | Self::StrangeCursor { .. } => RetryAdvice::Never,
        }
    }
}

fn cursor_at(block: BlockRef) -> Cursor {
    let number = i64::try_from(block.number).unwrap_or(i64::MAX);
    Cursor::new(number, block.hash.to_string()).expect("a hash is a fit secondary")
}

/// How many logs a retraction took back.
fn retracted(written: &[Written]) -> u64 {
    let rows = |written: &Written| if let Written::Rows(rows) = written { Some(*rows) } else { None };
    written.iter().find_map(rows).unwrap_or_default()
}
