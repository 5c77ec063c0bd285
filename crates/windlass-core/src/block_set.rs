//! Sets of blocks, as ranges.

use serde::{Deserialize, Serialize};

use crate::range::BlockRange;

/// A set of blocks: ranges in order, with a gap between each two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(from = "Vec<BlockRange>", into = "Vec<BlockRange>")]
pub struct BlockSet(Vec<BlockRange>);

impl BlockSet {
    /// No block.
    pub const EMPTY: Self = Self(Vec::new());

    /// The ranges, in order.
    pub fn ranges(&self) -> &[BlockRange] {
        &self.0
    }

    /// Whether there is no block in it.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a block is in it.
    pub fn contains(&self, block: u64) -> bool {
        self.0.iter().any(|range| (range.from..=range.to).contains(&block))
    }

    /// How many blocks.
    pub fn count(&self) -> u64 {
        self.0.iter().map(BlockRange::count).fold(0, u64::saturating_add)
    }

    /// Adds a range; one that ends before it begins adds nothing.
    pub fn insert(&mut self, range: BlockRange) {
        if range.from > range.to {
            return;
        }
        let mut merged = range;
        let mut ranges = Vec::with_capacity(self.0.len() + 1);
        for other in self.0.drain(..) {
            let is_apart =
                other.to.saturating_add(1) < merged.from || merged.to.saturating_add(1) < other.from;
            if is_apart {
                ranges.push(other);
            } else {
                merged = BlockRange { from: merged.from.min(other.from), to: merged.to.max(other.to) };
            }
        }
        let place = ranges.partition_point(|other| other.from < merged.from);
        ranges.insert(place, merged);
        self.0 = ranges;
    }

    /// Takes a range out.
    pub fn remove(&mut self, range: BlockRange) {
        if range.from > range.to {
            return;
        }
        let mut left = Vec::with_capacity(self.0.len() + 1);
        for other in self.0.drain(..) {
            if other.from < range.from {
                left.push(BlockRange { from: other.from, to: other.to.min(range.from - 1) });
            }
            if other.to > range.to {
                left.push(BlockRange { from: other.from.max(range.to + 1), to: other.to });
            }
        }
        self.0 = left;
    }

    /// Keeps so many ranges, and leaves out the smallest of the others.
    pub fn keep_largest(&mut self, most: usize) {
        while self.0.len() > most {
            let Some(smallest) = self.0.iter().min_by_key(|range| range.count()).copied() else { return };
            self.remove(smallest);
        }
    }

    /// The blocks that are in this set and not in the other.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        let mut left = self.clone();
        other.0.iter().for_each(|range| left.remove(*range));
        left
    }

    /// Adds every block of the other set.
    pub fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|range| self.insert(*range));
    }
}

impl From<BlockRange> for BlockSet {
    fn from(range: BlockRange) -> Self {
        Self::from(vec![range])
    }
}

impl From<Vec<BlockRange>> for BlockSet {
    fn from(ranges: Vec<BlockRange>) -> Self {
        let mut set = Self::EMPTY;
        ranges.into_iter().for_each(|range| set.insert(range));
        set
    }
}

impl From<BlockSet> for Vec<BlockRange> {
    fn from(set: BlockSet) -> Self {
        set.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a set that holds every block by itself.
        #[test]
        fn it_behaves_like_a_set_of_numbers(
            steps in proptest::collection::vec((any::<bool>(), 0_u64..60, 0_u64..12), 0..40),
        ) {
            let (mut set, mut model) = (BlockSet::EMPTY, BTreeSet::new());
            for (adds, from, length) in steps {
                let range = BlockRange { from: from + 1, to: from + length };
                let blocks = range.from..=range.to;
                if adds {
                    set.insert(range);
                    model.extend(blocks);
                } else {
                    set.remove(range);
                    model.retain(|block| !blocks.contains(block));
                }
                prop_assert_eq!(set.count(), model.len() as u64);
                prop_assert!((0..80).all(|block| set.contains(block) == model.contains(&block)));
                prop_assert!(set.0.windows(2).all(|pair| pair[0].to + 1 < pair[1].from));
            }
        }
    }

    #[test]
    fn the_last_block_of_all_is_no_trap() {
        let mut set = BlockSet::from(BlockRange { from: u64::MAX - 1, to: u64::MAX });
        set.insert(BlockRange { from: 0, to: u64::MAX });
        assert_eq!(set.ranges(), [BlockRange { from: 0, to: u64::MAX }]);
        set.remove(BlockRange { from: 5, to: u64::MAX });
        assert_eq!(set.ranges(), [BlockRange { from: 0, to: 4 }]);
    }
}
