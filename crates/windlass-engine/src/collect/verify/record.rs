//! Which blocks were verified, and how: the record that is stored, and what is left to do.
//!
//! Invariants: a block is in one of `sampled` and `full` at most. Blocks of a source that joins later
//! are taken out again: they were verified for others only.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use windlass_core::block_set::BlockSet;
use windlass_core::commit::Write;
use windlass_core::error::StoreResult;
use windlass_core::name::StateKey;
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;
use windlass_core::store::Store;

use super::VerifyMode;
use crate::collect::doubts::Doubts;
use crate::collect::error::CollectError;

/// No set has more ranges; the smallest are verified again.
const MAX_RANGES: usize = 2_000;

/// Which blocks were verified.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Verified {
    /// Some headers of these blocks were held against what is stored, and some blocks whole.
    pub sampled: BlockSet,
    /// Every header of these blocks was held against what is stored, and every block whole
    /// that may have logs.
    pub full: BlockSet,
    /// Blocks that fit what the chain's only endpoint says, which has no receipts to prove it. They
    /// are looked at again after a start and from time to time: endpoints change.
    pub unproven: BlockSet,
    /// Blocks that are collected again, because one of them was stored wrongly.
    pub suspect: BlockSet,
    /// Blocks of segments in which one is in doubt.
    pub unsettled: BlockSet,
    /// How many blocks were mended.
    pub mended: u64,
    /// Blocks that nobody can tell about, and endpoints that were proven wrong.
    pub doubts: Doubts,
    /// Whether the chain was seen to have logs that its blooms have no room for.
    pub has_logs_outside_blooms: bool,
    /// The sources, by number, that all this is about.
    pub sources: BTreeSet<u32>,
    /// Blocks that became suspect because the second look has proven an answer about them false.
    pub proven_false: BlockSet,
}

impl Verified {
    /// What is stored; nothing where it makes no sense, as when another version wrote it.
    pub async fn read(store: &dyn Store, key: &StateKey) -> StoreResult<Self> {
        let text = store.state(key).await?;
        Ok(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default())
    }

    /// What keeps it.
    pub(in crate::collect) fn write(&self, key: &StateKey) -> Result<Write, CollectError> {
        let text = serde_json::to_string(self).map_err(|error| CollectError::strange(key, error))?;
        Ok(Write::PutState { key: key.clone(), value: Some(text) })
    }

    /// Takes a change of the plan into account.
    pub(super) fn follow_plan(&mut self, plan: &Plan) {
        for (_, source) in plan.collected() {
            if self.sources.insert(source.number) {
                let to = source.head_from.unwrap_or(u64::MAX).saturating_sub(1);
                // What is wrong or in doubt for others stays so.
                self.sampled.remove(BlockRange { from: source.start, to });
                self.full.remove(BlockRange { from: source.start, to });
                self.unproven.remove(BlockRange { from: source.start, to });
            }
        }
    }

    /// Blocks that were not verified after all, or are collected anew.
    pub(in crate::collect) fn forget(&mut self, blocks: BlockRange) {
        let Self { sampled, full, unproven, suspect, unsettled, .. } = self;
        for set in [sampled, full, unproven, suspect, unsettled] {
            set.remove(blocks);
        }
        self.doubts.blocks.retain(|block| !(blocks.from..=blocks.to).contains(&block.number));
    }

    /// What the second look has proven an answer false about is collected again, once for each range:
    /// whoever left out some of its logs may have left out others.
    pub(super) fn suspect_ranges(&mut self, proven_false: &BlockSet) {
        for range in proven_false.minus(&self.proven_false).ranges() {
            self.suspect.insert(*range);
        }
        self.proven_false = proven_false.clone();
    }

    /// Blocks were verified.
    pub(super) fn verify(&mut self, blocks: BlockRange, mode: VerifyMode) {
        match mode {
            VerifyMode::Full => {
                self.full.insert(blocks);
                self.sampled.remove(blocks);
            }
            VerifyMode::Sample | VerifyMode::Off => {
                let new = BlockSet::from(blocks).minus(&self.full);
                self.sampled.extend(&new);
            }
        }
        self.unproven.remove(blocks);
        self.sampled.keep_largest(MAX_RANGES);
        self.full.keep_largest(MAX_RANGES);
    }

    /// Blocks fit what is stored, and nothing but one endpoint's word says so.
    pub(super) fn leave_unproven(&mut self, blocks: BlockRange) {
        self.unproven.insert(blocks);
        self.unproven.keep_largest(MAX_RANGES);
    }

    /// What a mode has yet to look at, of blocks that are stored.
    pub(super) fn left(&self, stored: &BlockSet, mode: VerifyMode) -> BlockSet {
        let left = stored.minus(&self.full).minus(&self.suspect).minus(&self.unsettled).minus(&self.unproven);
        match mode {
            VerifyMode::Full => left,
            VerifyMode::Sample | VerifyMode::Off => left.minus(&self.sampled),
        }
    }

    /// Whether a block of these is in doubt.
    pub(super) fn has_doubt_in(&self, blocks: BlockRange) -> bool {
        self.doubts.blocks.iter().any(|block| blocks.contains(block.number))
    }

    /// Segments without doubtful blocks are looked at again.
    pub(super) fn release_settled(&mut self) {
        let is_settled = |range: &&BlockRange| !self.has_doubt_in(**range);
        let settled: Vec<BlockRange> = self.unsettled.ranges().iter().filter(is_settled).copied().collect();
        settled.into_iter().for_each(|range| self.unsettled.remove(range));
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::plan::{Source, SourceId};
    use windlass_core::table::Identifier;
    use windlass_core::time::Timestamp;

    use super::*;
    use crate::collect::doubts::Doubt;

    fn blocks(from: u64, to: u64) -> BlockRange {
        BlockRange { from, to }
    }

    #[test]
    fn a_block_is_verified_in_one_way_at_most() {
        let mut verified = Verified::default();
        verified.verify(blocks(0, 99), VerifyMode::Sample);
        verified.verify(blocks(50, 149), VerifyMode::Full);
        verified.verify(blocks(100, 199), VerifyMode::Sample);
        assert_eq!(verified.sampled.ranges(), [blocks(0, 49), blocks(150, 199)]);
        assert_eq!(verified.full.ranges(), [blocks(50, 149)]);
        let stored = BlockSet::from(blocks(0, 299));
        assert_eq!(verified.left(&stored, VerifyMode::Sample).ranges(), [blocks(200, 299)]);
        assert_eq!(verified.left(&stored, VerifyMode::Full).ranges(), [blocks(0, 49), blocks(150, 299)]);
    }

    #[test]
    fn what_is_suspect_or_in_doubt_is_not_looked_at_twice() {
        let mut verified = Verified::default();
        verified.suspect.insert(blocks(0, 9));
        verified.unsettled.insert(blocks(20, 29));
        verified.doubts.doubt(25, Doubt::Headers, Timestamp::from_ms(0));
        let stored = BlockSet::from(blocks(0, 39));
        verified.release_settled();
        assert_eq!(verified.left(&stored, VerifyMode::Sample).ranges(), [blocks(10, 19), blocks(30, 39)]);
        verified.doubts.settle(25);
        verified.release_settled();
        assert_eq!(verified.left(&stored, VerifyMode::Sample).ranges(), [blocks(10, 39)]);
    }

    #[test]
    fn a_range_of_a_false_answer_is_collected_again_once() {
        let mut verified = Verified::default();
        verified.suspect_ranges(&BlockSet::from(blocks(10, 19)));
        assert_eq!(verified.suspect.ranges(), [blocks(10, 19)]);
        verified.suspect.remove(blocks(10, 19));
        let mut proven_false = BlockSet::from(blocks(10, 19));
        proven_false.insert(blocks(40, 49));
        verified.suspect_ranges(&proven_false);
        assert_eq!(verified.suspect.ranges(), [blocks(40, 49)]);
    }

    /// What was verified for others is verified again; what is wrong for them stays known.
    #[test]
    fn a_source_that_joins_takes_back_no_doubt() {
        let mut verified = Verified::default();
        verified.verify(blocks(0, 99), VerifyMode::Full);
        verified.suspect.insert(blocks(100, 199));
        verified.doubts.doubt(7, Doubt::Headers, Timestamp::from_ms(0));
        let id = SourceId { table: Identifier::new("fees").expect("a name"), contract: None };
        let source = Source { number: 3, start: 50, claimed: BlockSet::EMPTY, head_from: Some(500) };
        let plan = Plan { sources: [(id, source)].into(), ..Plan::default() };
        verified.follow_plan(&plan);
        assert_eq!(verified.full.ranges(), [blocks(0, 49)]);
        assert_eq!((verified.suspect.count(), verified.doubts.count()), (100, 1));
    }

    #[test]
    fn the_record_is_bounded() {
        let mut verified = Verified::default();
        for number in 0..MAX_RANGES as u64 + 100 {
            verified.verify(blocks(number * 10, number * 10 + 1), VerifyMode::Sample);
        }
        assert_eq!(verified.sampled.ranges().len(), MAX_RANGES);
    }
}
