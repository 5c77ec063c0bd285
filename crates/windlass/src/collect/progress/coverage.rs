//! Which blocks of a source are collected, from its chain's ledger: pure arithmetic on
//! sets of blocks.
//!
//! A block is collected for a source when it was claimed, by a campaign or by the
//! head, and no range that is open or given up still has it.

use std::collections::BTreeMap;

use windlass_core::block_set::BlockSet;
use windlass_core::plan::{Campaign, Plan, Source, SourceId};
use windlass_core::range::BlockRange;

/// A campaign's ranges that are not done, and how far it was claimed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ranges {
    /// The next block that nobody has claimed; the campaign's first, if it is missing.
    pub(super) next: Option<u64>,
    /// Blocks of ranges that are under way or wait.
    pub(super) open: BlockSet,
    /// Blocks of ranges that were given up.
    pub(super) dead: BlockSet,
}

/// What a chain's ledger says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    /// The plan.
    pub(super) plan: Plan,
    /// For each campaign its ranges.
    pub(super) ranges: BTreeMap<u64, Ranges>,
    /// The last block that the head has behind it.
    pub(super) followed: Option<u64>,
}

/// What is collected of several sources taken together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Coverage {
    /// The lowest first block.
    pub(super) start: Option<u64>,
    /// Blocks that a source still lacks, up to the head.
    pub(super) missing: BlockSet,
    /// Blocks of ranges that were given up.
    pub(super) gaps: BlockSet,
}

impl Coverage {
    /// Everything from the first block to this one is collected.
    pub(super) fn through(&self, head: u64) -> Option<u64> {
        let start = self.start?;
        let through = match self.missing.ranges().first() {
            Some(missing) => missing.from.checked_sub(1)?,
            None => head,
        };
        (through >= start).then_some(through)
    }
}

impl Ledger {
    /// What is collected up to a head of the sources that are wanted.
    pub(super) fn coverage(&self, head: u64, is_wanted: impl Fn(&SourceId) -> bool) -> Coverage {
        let mut coverage = Coverage::default();
        for (id, source) in self.plan.sources.iter().filter(|(id, _)| is_wanted(id)) {
            coverage.start = Some(coverage.start.map_or(source.start, |start| start.min(source.start)));
            let (collected, dead) = self.collected(id, source);
            coverage.gaps.extend(&dead);
            if source.start <= head {
                let wanted = BlockSet::from(BlockRange { from: source.start, to: head });
                coverage.missing.extend(&wanted.minus(&collected));
            }
        }
        coverage
    }

    /// The blocks of one source that are collected, and those that were given up.
    fn collected(&self, id: &SourceId, source: &Source) -> (BlockSet, BlockSet) {
        let (mut collected, mut dead) = (source.claimed.clone(), BlockSet::EMPTY);
        if let (Some(from), Some(to)) = (source.head_from, self.followed) {
            collected.insert(BlockRange { from, to });
        }
        let campaigns = || self.plan.campaigns_of(id);
        for campaign in campaigns() {
            if let Some(claimed) = self.claimed(campaign) {
                collected.insert(claimed);
            }
        }
        for ranges in campaigns().filter_map(|campaign| self.ranges.get(&campaign.id)) {
            collected = collected.minus(&ranges.open).minus(&ranges.dead);
            dead.extend(&ranges.dead);
        }
        (collected, dead)
    }

    fn claimed(&self, campaign: &Campaign) -> Option<BlockRange> {
        let next = self.ranges.get(&campaign.id).and_then(|ranges| ranges.next)?;
        let to = campaign.blocks.to.min(next.checked_sub(1)?);
        (to >= campaign.blocks.from).then_some(BlockRange { from: campaign.blocks.from, to })
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::table::Identifier;

    use super::*;

    fn source(table: &str) -> SourceId {
        SourceId { table: Identifier::new(table).expect("a name"), contract: None }
    }

    fn range(from: u64, to: u64) -> BlockRange {
        BlockRange { from, to }
    }

    /// Blocks 10 to 99 in a campaign that is claimed up to 49, and a head that goes on from 100.
    fn ledger(open: &[BlockRange], dead: &[BlockRange]) -> Ledger {
        let id = source("t");
        let campaign = Campaign { id: 1, blocks: range(10, 99), sources: [0].into_iter().collect() };
        let begun = Source { number: 0, start: 10, claimed: BlockSet::EMPTY, head_from: Some(100) };
        let plan =
            Plan { sources: BTreeMap::from([(id, begun)]), campaigns: vec![campaign], ..Plan::default() };
        let ranges = Ranges {
            next: Some(50),
            open: BlockSet::from(open.to_vec()),
            dead: BlockSet::from(dead.to_vec()),
        };
        Ledger { plan, ranges: BTreeMap::from([(1, ranges)]), followed: Some(120) }
    }

    #[test]
    fn what_nobody_has_claimed_is_missing() {
        let coverage = ledger(&[], &[]).coverage(125, |_| true);
        assert_eq!(coverage.missing.ranges(), [range(50, 99), range(121, 125)]);
        assert_eq!((coverage.start, coverage.through(125)), (Some(10), Some(49)));
        assert!(coverage.gaps.is_empty());
    }

    #[test]
    fn a_range_under_way_or_given_up_is_missing_too() {
        let coverage = ledger(&[range(30, 39)], &[range(20, 24)]).coverage(120, |_| true);
        assert_eq!(coverage.missing.ranges(), [range(20, 24), range(30, 39), range(50, 99)]);
        assert_eq!(coverage.gaps.ranges(), [range(20, 24)]);
        assert_eq!(coverage.through(120), Some(19));
        let from_the_first = ledger(&[range(10, 12)], &[]).coverage(120, |_| true);
        assert_eq!(from_the_first.through(120), None);
    }

    #[test]
    fn when_nothing_is_missing_the_head_is_reached() {
        let mut ledger = ledger(&[], &[]);
        ledger.ranges.get_mut(&1).expect("the campaign").next = Some(100);
        assert_eq!(ledger.coverage(120, |_| true).through(120), Some(120));
        ledger.plan = ledger.plan.without(1);
        assert_eq!(ledger.coverage(120, |_| true).through(120), Some(120), "once the campaign is over");
    }

    #[test]
    fn sources_that_are_not_asked_for_do_not_count() {
        assert_eq!(ledger(&[], &[]).coverage(120, |_| false), Coverage::default());
    }
}
