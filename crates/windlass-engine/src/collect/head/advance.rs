//! Stores the blocks that follow the last stored one.
//!
//! Logs are read for every block whose header is known; then the blocks that are complete,
//! from the first on, are committed together. A question that fails keeps back its own
//! blocks and those behind them, and nothing else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::chain::{Address, BlockHeader};
use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::event::LogEvent;
use windlass_core::reader::{ChainError, ChainErrorKind, Header};
use windlass_core::route::Sorted;
use windlass_core::table::Identifier;

use super::read_ahead::{LogsRead, QUESTIONS_AT_ONCE, read_logs};
use super::{Followed, Follower, Step, Whom};
use crate::collect::chain::{ADDED, Fact};
use crate::collect::children::{Children, Creations};
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::routing::{self, Routing};

/// A commit holds no more logs, unless one block alone has more.
const MAX_LOGS_PER_STEP: usize = 20_000;
/// So many block times, and no less than this many seconds, a block without logs is doubted
/// where its bloom may have some and the chain's blooms are not known to be right.
const DOUBT_BLOCKS: u32 = 10;
const MIN_DOUBT: Duration = Duration::from_secs(10);
/// At least so long it is doubted where the endpoint only does not confirm it.
const MIN_CONFIRM: Duration = Duration::from_secs(1);

/// What creates contracts, by the index that follows them.
type CreationsByIndex = BTreeMap<Identifier, Creations>;

impl Follower {
    /// Reads what is missing, and stores what is complete. An error is given where nothing
    /// could be stored because of it.
    pub(super) async fn advance(&mut self, step: &Step) -> Result<Followed, CollectError> {
        let logs_error = self.read_missing_logs(step).await?;
        let done = self.store_complete(step).await?;
        let error = step.header_error.clone().or(logs_error);
        match (done, error) {
            (Followed::Idle, Some(error)) => Err(error.into()),
            (done, Some(error)) => {
                let chain = self.chain.options.chain;
                tracing::debug!(%chain, %error, "some of the next blocks could not be read yet");
                Ok(done)
            }
            (done, None) => Ok(done),
        }
    }

    /// Asks for the logs of every block that was read without them.
    async fn read_missing_logs(&mut self, step: &Step) -> Result<Option<ChainError>, CollectError> {
        let chain = self.chain.clone();
        let collected = || step.plan.collected().map(|(id, _)| id);
        let creations = chain.catalog.creations(collected());
        let mut children = chain.children(collected()).await?;
        if !creations.is_empty() {
            // Contracts may have become known since.
            self.read_ahead.forget_logs();
        }
        while let Some((routing, headers)) = self.next_run(step, &children) {
            if routing.tables.is_empty() {
                headers.iter().for_each(|header| self.keep(header, &routing, Vec::new()));
                continue;
            }
            let asked = (&headers[..], self.read_ahead.log_blocks_per_question());
            let mut read = read_logs(&*chain.reader, asked, &routing.filter, &self.blooms).await;
            self.read_ahead.asked_for_logs(read.is_whole());
            if let Some(number) = read.replaced {
                self.read_ahead.drop_from(number);
            }
            let mut logs: BTreeMap<u64, Vec<LogEvent>> =
                read.logs.drain(..).map(|(block, logs)| (block.number, logs)).collect();
            let mut is_grown = false;
            for header in &headers {
                let Some(logs) = logs.remove(&header.block.number) else {
                    // Contracts that it creates may have logs in the next ones.
                    if creations.is_empty() { continue } else { break }
                };
                if grow(&mut children, &creations, &routing, &logs) {
                    is_grown = true;
                    break;
                }
                self.keep(header, &routing, logs);
            }
            if !read.is_whole() {
                let error = self.why_not_read(&headers, &routing, read);
                if error.as_ref().is_some_and(|error| error.kind == ChainErrorKind::UnknownBlock) {
                    // Who does not have a block by its hash may have another in its place.
                    self.read_ahead.drop_without_logs();
                }
                return Ok(error);
            }
            let is_enough = self.read_ahead.log_count() >= MAX_LOGS_PER_STEP;
            if (read.replaced.is_some() && !is_grown) || is_enough {
                break;
            }
        }
        Ok(None)
    }

    /// The next blocks without logs that share a router, those of contracts created up to
    /// here included: no more than are asked about at once, so that what they hold is bounded.
    fn next_run(&mut self, step: &Step, children: &Children) -> Option<(Arc<Routing>, Vec<Header>)> {
        let per_question = usize::try_from(self.read_ahead.log_blocks_per_question()).unwrap_or(usize::MAX);
        let max_blocks = per_question.saturating_mul(QUESTIONS_AT_ONCE);
        let missing: Vec<Header> = self.read_ahead.without_logs().take(max_blocks).cloned().collect();
        let first = missing.first()?.block.number;
        let routing = self.routing_with(&step.plan, Whom::Followed, first, children.clone());
        let headers: Vec<Header> = missing
            .into_iter()
            .take_while(|header| {
                let number = header.block.number;
                let other = self.routing_with(&step.plan, Whom::Followed, number, children.clone());
                Arc::ptr_eq(&routing, &other)
            })
            .collect();
        Some((routing, headers))
    }

    fn keep(&mut self, header: &Header, routing: &Arc<Routing>, logs: Vec<LogEvent>) {
        if self.blooms.saw(header, &logs) {
            let (chain, block) = (self.chain.options.chain, header.block.number);
            tracing::warn!(%chain, block, "the chain's blooms do not hold all logs: every block is asked for its logs");
            self.blooms_changed = true;
        }
        if self.blooms.wants_proof() && !header.logs_bloom.is_zero() {
            self.bloom_candidate = Some(header.clone());
        }
        self.read_ahead.keep_logs(header.block.block_ref(), routing, logs);
    }

    /// Why the next block could not be read. One that has no logs, although its bloom speaks of
    /// some, is doubted for a while and then taken as it is: where nobody knows whether the
    /// chain's blooms are right, and, sooner, where the endpoint has none by its hash and
    /// refuses the question that would confirm it, for a bloom may speak of others' logs. The
    /// second look at final blocks sees it again.
    fn why_not_read(
        &mut self,
        headers: &[Header],
        routing: &Arc<Routing>,
        read: LogsRead,
    ) -> Option<ChainError> {
        let LogsRead { mut failed, error, .. } = read;
        let first = headers.iter().map(|header| header.block.block_ref());
        let first = first.into_iter().find(|block| self.read_ahead.lacks_logs(*block))?;
        let Some(place) = failed.iter().position(|(block, _)| *block == first) else {
            return error.or_else(|| failed.pop().map(|(_, error)| error));
        };
        let (_, error) = failed.swap_remove(place);
        let block_time = self.polls.block_time();
        let patience = match error.kind {
            ChainErrorKind::UnknownBlock if !self.blooms.is_proven() => {
                (block_time * DOUBT_BLOCKS).max(MIN_DOUBT)
            }
            ChainErrorKind::Unconfirmed => block_time.clamp(MIN_CONFIRM, MIN_DOUBT),
            _ => return Some(error),
        };
        let now = Instant::now();
        let doubted = self.doubted.filter(|(block, _)| *block == first.hash);
        let (_, since) = *self.doubted.insert(doubted.unwrap_or((first.hash, now)));
        if now.duration_since(since) < patience {
            return Some(error);
        }
        let (chain, block) = (self.chain.options.chain, first.number);
        tracing::info!(%chain, block, %error, "a block is taken without logs; it is looked at again once it is final");
        self.read_ahead.keep_logs(first, routing, Vec::new());
        None
    }

    /// Commits the blocks that are complete: rows, headers, cursor and message together.
    async fn store_complete(&mut self, step: &Step) -> Result<Followed, CollectError> {
        let complete = self.read_ahead.complete(MAX_LOGS_PER_STEP);
        let (mut sorted, mut headers) = (Sorted::default(), Vec::with_capacity(complete.len()));
        for read in &complete {
            if let Some((routing, logs)) = &read.logs {
                routing.sort(logs, &mut sorted);
                headers.push(read.header.block);
            }
        }
        let Some(newest) = headers.last().map(BlockHeader::block_ref) else { return Ok(Followed::Idle) };
        let (blocks, events) = (headers.len(), sorted.row_count() + sorted.raw.len());
        let mut writes = vec![Write::AdvanceCursor {
            name: self.chain.names.head.clone(),
            to: ledger::at(newest),
            rule: CursorRule::Identified,
        }];
        if events > 0 {
            let fact = Fact {
                by: String::new(),
                generation: self.chain.generation().await?,
                from_block: step.position.number + 1,
                to_block: None,
                head: newest,
                events,
                tables: Vec::new(),
            };
            writes.push(Write::Publish(vec![self.chain.message(ADDED, &fact)]));
        }
        writes.extend(routing::writes(sorted, &self.chain.misfit_log));
        writes.push(Write::Blocks { chain: self.chain.options.chain, headers });
        writes.push(self.seen(step)?);
        // A log that its bloom does not have must not be forgotten by a crash.
        let has_bloom_news = self.blooms_changed;
        if has_bloom_news {
            writes.push(self.bloom_note()?);
        }
        // What was read from a chain can be read again.
        self.chain.store.commit(Commit::of(writes).under_lease(&step.lease).relaxed()).await?;
        self.blooms_changed &= !has_bloom_news;
        self.read_ahead.stored(blocks);
        self.stored_up_to = newest.number;
        Ok(Followed::Advanced { blocks: blocks as u64, events: events as u64 })
    }

    /// Where the chain was seen, for those who ask.
    pub(super) fn seen(&self, step: &Step) -> Result<Write, CollectError> {
        let key = self.chain.names.sight.clone();
        let text = serde_json::to_string(&step.sight).map_err(|error| CollectError::strange(&key, error))?;
        Ok(Write::PutState { key, value: Some(text) })
    }
}

/// Adds the contracts that a block's logs create; says whether there are new ones.
fn grow(children: &mut Children, creations: &CreationsByIndex, routing: &Routing, logs: &[LogEvent]) -> bool {
    if creations.is_empty() {
        return false;
    }
    let sorted = routing.sorted(logs);
    let mut is_grown = false;
    for (name, creations) in creations {
        let known = children.entry(name.clone()).or_insert_with(|| Arc::new([]));
        let created = sorted.tables.iter().flat_map(|rows| creations.children_in(rows));
        let new: Vec<Address> = created.filter(|child| !known.contains(child)).collect();
        if !new.is_empty() {
            *known = known.iter().copied().chain(new).collect();
            is_grown = true;
        }
    }
    is_grown
}
