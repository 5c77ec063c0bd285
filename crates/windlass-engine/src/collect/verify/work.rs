//! What is to be done next: doubtful blocks and other work in turn, suspicious ranges before new
//! segments.

use std::sync::atomic::Ordering;

use windlass_core::block_set::BlockSet;
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;

use super::record::Verified;
use super::{FULL_BLOCKS, Verifier, VerifyMode};
use crate::collect::audit::Unstored;
use crate::collect::error::CollectError;
use crate::collect::ledger;

/// A segment of a sample has so many blocks at most.
const SAMPLED_BLOCKS: u64 = 2_000;
/// Blocks that the head goes on adding to are looked at when there are so many.
const HEAD_BLOCKS: u64 = 200;
/// What a step over a sampled segment may cost: headers and logs.
const SAMPLED_COST: u64 = 60;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// Ask again about the doubtful blocks among these that are due.
    AskAgain(BlockRange),
    /// Collect a suspicious range again.
    Recollect(BlockRange),
    /// Look at a segment.
    Look(BlockRange),
}

/// Whether something is to be done.
pub(super) enum NextWork {
    Some(Work),
    None,
    /// There is, and the share of requests is used up for now.
    OverBudget,
}

impl Work {
    /// Whether it is not of the share of requests: what may be false is mended whatever that takes.
    pub(super) const fn is_free(self) -> bool {
        matches!(self, Self::AskAgain(_) | Self::Recollect(_))
    }
}

impl Verifier {
    pub(super) async fn next_work(&self, plan: &Plan, record: &Verified) -> Result<NextWork, CollectError> {
        let due = record.doubts.due(self.chain.store.now().await?);
        let ask_again =
            due.map(|from| Work::AskAgain(self.within_start(plan, BlockRange { from, to: u64::MAX })));
        if let Some(ask_again) = ask_again.filter(|_| !self.has_asked_again) {
            return Ok(NextWork::Some(ask_again));
        }
        let next = self.next_range(plan, record).await?;
        Ok(match (next.filter(|next| self.affords(*next)).or(ask_again), next) {
            (Some(work), _) => NextWork::Some(work),
            (None, Some(_)) => NextWork::OverBudget,
            (None, None) => NextWork::None,
        })
    }

    async fn next_range(&self, plan: &Plan, record: &Verified) -> Result<Option<Work>, CollectError> {
        let suspect = record.suspect.ranges().first().filter(|_| self.waits_for().is_none());
        if let Some(first) = suspect {
            return Ok(Some(Work::Recollect(self.within_start(plan, *first))));
        }
        if record.doubts.is_full() {
            return Ok(None);
        }
        let segment = self.next_segment(plan, record).await?;
        Ok(segment.map(|segment| Work::Look(self.within_start(plan, segment))))
    }

    /// The first segment that was not verified.
    async fn next_segment(&self, plan: &Plan, record: &Verified) -> Result<Option<BlockRange>, CollectError> {
        let mode = self.mode;
        let stored = self.stored(plan).await?;
        let left = record.left(&stored, mode);
        if mode == VerifyMode::Full {
            let first = left.ranges().first();
            return Ok(first.and_then(|first| BlockRange::next(first.from, FULL_BLOCKS, first.to)));
        }
        let (head_from, last) = (head_from(plan), stored.ranges().last().map(|range| range.to));
        let is_growing = |range: &BlockRange| {
            head_from.is_some_and(|from| range.from >= from)
                && Some(range.to) == last
                && range.count() < HEAD_BLOCKS
        };
        let first = left.ranges().iter().find(|range| !is_growing(range));
        Ok(first.and_then(|first| BlockRange::next(first.from, SAMPLED_BLOCKS, first.to)))
    }

    /// Final blocks that are stored, as far as the head has looked at its own again. Where
    /// everything is verified, that is not waited for.
    async fn stored(&self, plan: &Plan) -> Result<BlockSet, CollectError> {
        let (store, names) = (&*self.chain.store, &self.chain.names);
        let followed = match self.mode {
            VerifyMode::Full => &names.head,
            VerifyMode::Sample | VerifyMode::Off => &names.recheck,
        };
        let followed = ledger::block(store, followed).await?.map(|block| block.number);
        let last = followed.max(head_from(plan).and_then(|from| from.checked_sub(1)));
        let starts = plan.collected().map(|(_, source)| source.start);
        let Some((from, to)) = starts.min().zip(last) else { return Ok(BlockSet::EMPTY) };
        let to = self.chain.final_up_to(to).await?;
        if from > to {
            return Ok(BlockSet::EMPTY);
        }
        Ok(Unstored::of(store, names).await?.stored_of(BlockRange { from, to }))
    }

    /// The blocks up to where another source begins.
    fn within_start(&self, plan: &Plan, blocks: BlockRange) -> BlockRange {
        let starts = plan.collected().map(|(_, source)| source.start);
        let next = starts.filter(|start| *start > blocks.from && *start <= blocks.to).min();
        BlockRange { from: blocks.from, to: next.map_or(blocks.to, |start| start - 1) }
    }

    /// Whether the share of requests allows it.
    fn affords(&self, work: Work) -> bool {
        let cost = match work {
            Work::AskAgain(_) | Work::Recollect(_) => return true,
            Work::Look(_) if self.is_lied_to() => return true,
            Work::Look(blocks) => blocks.count().min(SAMPLED_COST),
        };
        let used = self.reader.count().saturating_sub(self.free_requests);
        self.budget.allows(self.chain.requests.load(Ordering::Relaxed), used, cost)
    }
}

/// From where on the head has stored the logs of every source.
fn head_from(plan: &Plan) -> Option<u64> {
    plan.collected().filter_map(|(_, source)| source.head_from).max()
}
