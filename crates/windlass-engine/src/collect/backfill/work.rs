//! What becomes of a range: stored, split, tried again later, given up.

use windlass_core::chain::BlockRef;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::event::LogEvent;
use windlass_core::job::{JobFailure, NewJob};
use windlass_core::name::LaneKey;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind, LogSpan};

use super::hold::Held;
use super::{Backfilled, Backfiller, Range};
use crate::collect::block_logs;
use crate::collect::chain::{ADDED, Fact};
use crate::collect::compare;
use crate::collect::error::CollectError;
use crate::collect::persist::persist;
use crate::collect::routing;

/// A range with more logs is split, so that its commit stays within bounds.
const MAX_LOGS_PER_COMMIT: usize = 50_000;
/// A range of so many times the blocks that endpoints are known to take is split before it is asked for.
const MUCH_TOO_LARGE: u64 = 4;
/// A range is split into at most so many at once.
const MAX_PIECES: u64 = 1_000;

impl Backfiller {
    pub(super) async fn work(&mut self, range: Range) -> Result<Backfilled, CollectError> {
        // It was claimed before more was known of the endpoints.
        let learned = self.chain.reader.range_size(&range.routing.filter).max(1);
        if range.blocks.count() / MUCH_TOO_LARGE >= learned {
            return self.split(&range, learned).await;
        }
        let span = self.chain.span_of(range.blocks).await?;
        let asked = self.chain.reader.logs(span, &range.routing.filter);
        let answer = match self.holding(range.job.ticket, asked).await {
            Held::Answered(answer) => answer,
            Held::Lost => return Ok(Backfilled::Lost { blocks: range.blocks }),
            Held::Stopped => {
                self.chain.store.release_jobs(&[range.job.ticket]).await?;
                return Ok(Backfilled::Idle);
            }
        };
        match answer {
            Ok(logs) if logs.len() > MAX_LOGS_PER_COMMIT && range.blocks.count() > 1 => {
                self.split(&range, range.blocks.count() / 2).await
            }
            Ok(logs) if logs.len() > block_logs::MAX_BLOCK_LOGS => {
                self.handle_fetch_error(&range, block_logs::too_many(range.blocks.from, logs.len())).await
            }
            Ok(logs) => self.keep(&range, logs).await,
            Err(error) => self.handle_fetch_error(&range, error).await,
        }
    }

    /// Commits a range: rows, message and the end of its job.
    async fn keep(&mut self, range: &Range, logs: Vec<LogEvent>) -> Result<Backfilled, CollectError> {
        // Collecting may have stopped since the range was asked for.
        if self.chain.halt().await?.is_some() {
            self.chain.store.release_jobs(&[range.job.ticket]).await?;
            return Ok(Backfilled::Halted);
        }
        let last_hash = logs.last().map(|log| log.block.hash);
        let sorted = range.routing.sorted(&logs);
        drop(logs);
        // What belongs to nobody came along, and is no news.
        let events = sorted.row_count() + sorted.raw.len();
        let mut writes = self.outgrown(range).await?;
        writes.extend(routing::writes(sorted, &self.chain.misfit_log));
        if let Some(hash) = last_hash.filter(|_| events > 0) {
            let head = BlockRef { number: range.blocks.to, hash };
            let tables = range.routing.tables.iter().map(|(table, _)| table.name.as_str()).collect();
            let generation = self.chain.generation().await?;
            let fact = Fact {
                by: format!("job-{}", range.job.ticket.job),
                generation,
                from_block: range.blocks.from,
                to_block: None,
                head,
                events,
                tables,
            };
            writes.push(Write::Publish(vec![self.chain.message(ADDED, &fact)]));
        }
        writes.push(Write::CompleteJob(range.job.ticket));
        // What was read from a chain can be read again, and the job with it.
        self.settle(
            range,
            Commit::of(writes).relaxed(),
            Backfilled::Collected { blocks: range.blocks, events: events as u64 },
        )
        .await
    }

    /// What takes out logs of a range that were misfits of others before these sources
    /// joined, and have a place in their tables.
    async fn outgrown(&self, range: &Range) -> Result<Vec<Write>, CollectError> {
        if !range.routing.has_neighbours() {
            return Ok(Vec::new());
        }
        let chain = self.chain.options.chain;
        let kept = compare::kept(&*self.chain.store, chain, range.blocks).await?;
        Ok(range.routing.outgrown(chain, range.blocks, kept))
    }

    /// Replaces a range by smaller ones, in one commit.
    async fn split(&mut self, range: &Range, size: u64) -> Result<Backfilled, CollectError> {
        let jobs = pieces(range.blocks, size)
            .into_iter()
            .map(|piece| {
                let payload =
                    serde_json::to_string(&piece).map_err(|error| CollectError::strange("a range", error))?;
                Ok(NewJob::new(range.job.queue.clone(), LaneKey::new(piece.lane_key())?, payload))
            })
            .collect::<Result<Vec<_>, CollectError>>()?;
        let pieces = jobs.len() as u64;
        let commit = Commit::of(vec![Write::CompleteJob(range.job.ticket), Write::Enqueue(jobs)]);
        self.settle(range, commit, Backfilled::Split { blocks: range.blocks, pieces }).await
    }

    /// Writes what became of a range. A store in passing trouble says nothing about the range: it
    /// is released and read again. A range that the store refuses has failed.
    async fn settle(
        &mut self,
        range: &Range,
        commit: Commit,
        done: Backfilled,
    ) -> Result<Backfilled, CollectError> {
        let store = self.chain.store.clone();
        match persist(&*store, || store.commit(commit.clone())).await {
            Ok(_) => Ok(done),
            Err(StoreError::Fenced { .. }) => Ok(Backfilled::Lost { blocks: range.blocks }),
            Err(error) if may_pass(&error) => Err(error.into()),
            Err(error) => self.fail(range, &error.to_string()).await,
        }
    }

    /// An endpoint's refusal or failure. A range that is too large is split. Any other
    /// failure is the endpoint's, and the range waits for it, whole. Only a single block that
    /// fails while another one passes has failed itself, and is given up in the end.
    async fn handle_fetch_error(
        &mut self,
        range: &Range,
        error: ChainError,
    ) -> Result<Backfilled, CollectError> {
        let count = range.blocks.count();
        match error.kind {
            ChainErrorKind::RangeTooLarge { suggested } if count > 1 => {
                let learned = self.chain.reader.range_size(&range.routing.filter);
                let size = suggested.map_or(learned, |blocks| blocks.count()).min(count / 2);
                self.split(range, size.max(1)).await
            }
            // An endpoint that does not have the block yet may have it soon.
            ChainErrorKind::RateLimited | ChainErrorKind::UnknownBlock => self.give_back(range, error).await,
            _ if count == 1 && self.neighbour_passes(range).await => self.fail(range, &error.message).await,
            _ => self.give_back(range, error).await,
        }
    }

    /// Whether the endpoint has the logs of a block beside this one.
    async fn neighbour_passes(&self, range: &Range) -> bool {
        let block = range.blocks.from.checked_sub(1).unwrap_or(range.blocks.to + 1);
        let span = LogSpan::Range(BlockRange { from: block, to: block });
        self.chain.reader.logs(span, &range.routing.filter).await.is_ok()
    }

    async fn give_back(&mut self, range: &Range, error: ChainError) -> Result<Backfilled, CollectError> {
        self.gave_back = true;
        self.chain.store.release_jobs(&[range.job.ticket]).await?;
        let retry = match error.retry {
            RetryAdvice::Never => RetryAdvice::After(self.chain.options.historical_interval),
            advice => advice,
        };
        Err(ChainError { retry, ..error }.into())
    }

    /// Records that a range has failed. When that cannot be written now, the range is released and
    /// read again; when it can never be written, all is over.
    async fn fail(&mut self, range: &Range, error: &str) -> Result<Backfilled, CollectError> {
        self.entropy =
            self.entropy.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(range.blocks.from | 1);
        let failure = JobFailure {
            ticket: range.job.ticket,
            error: format!("blocks {} to {}: {error}", range.blocks.from, range.blocks.to),
            verdict: self.chain.options.retry.verdict(range.job.attempt, self.entropy >> 33),
        };
        tracing::warn!(blocks = %range.blocks, attempt = range.job.attempt, error, "a range failed");
        let store = self.chain.store.clone();
        match persist(&*store, || store.fail_job(&failure)).await {
            Ok(()) => Ok(Backfilled::Failed { blocks: range.blocks }),
            Err(StoreError::Fenced { .. }) => Ok(Backfilled::Lost { blocks: range.blocks }),
            Err(error) if may_pass(&error) => Err(error.into()),
            Err(error) => Err(CollectError::Unwritten(error)),
        }
    }
}

/// Whether the store may take later what it did not take now.
fn may_pass(error: &StoreError) -> bool {
    error.is_passing() || matches!(error, StoreError::OutcomeUnknown { .. })
}

/// A range in pieces of `size` blocks, or larger ones if they were too many.
fn pieces(blocks: BlockRange, size: u64) -> Vec<BlockRange> {
    let size = size.max(blocks.count().div_ceil(MAX_PIECES)).max(1);
    let mut pieces = Vec::new();
    let mut from = blocks.from;
    while let Some(piece) = BlockRange::next(from, size, blocks.to) {
        pieces.push(piece);
        from = piece.to.saturating_add(1);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_range_once() {
        let blocks = BlockRange { from: 10, to: 24 };
        let cut = pieces(blocks, 4);
        assert_eq!(cut.first(), Some(&BlockRange { from: 10, to: 13 }));
        assert_eq!(cut.last(), Some(&BlockRange { from: 22, to: 24 }));
        assert_eq!(cut.iter().map(BlockRange::count).sum::<u64>(), blocks.count());
        assert!(cut.windows(2).all(|pair| pair[0].to + 1 == pair[1].from));
        assert_eq!(pieces(BlockRange { from: 0, to: 999_999 }, 1).len(), 1_000);
    }
}
