//! Where numbered pages were found before, so that the next one need not be searched for.
//!
//! A numbered page has to know how many rows come before it, and counting them takes longer
//! the higher its number is. Whoever walks from page to page asks for the neighbour of a page
//! that was just found. An anchor keeps how many rows were above a block then. It holds as
//! long as rows have come above all others only: the rows that are new in all are then those
//! above the newest block of that time, which is counted. A row that goes while another comes
//! elsewhere escapes that, so an anchor is forgotten soon.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use windlass_core::table::Identifier;

/// How many anchors are kept, of all tables together.
const MAX_ANCHORS: usize = 256;
/// How long one is kept.
const MAX_AGE: Duration = Duration::from_secs(60);

/// What was known when a page was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Anchor {
    /// The tables whose rows were counted, by name.
    pub(super) tables: Vec<Identifier>,
    /// How many rows they had.
    pub(super) total: u64,
    /// The newest block with a row.
    pub(super) newest: u64,
    /// A block, and how many rows stood in it and above.
    pub(super) block: u64,
    /// So many.
    pub(super) above: u64,
}

/// The anchors that are kept, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Anchors {
    kept: Mutex<VecDeque<(Instant, Anchor)>>,
}

impl Anchors {
    /// The anchor nearest to a page behind `skip` rows, if it holds: it is for the caller to
    /// make sure of that, and to [`Self::forget`] one that does not.
    pub(super) fn nearest(&self, tables: &[Identifier], total: u64, skip: u64) -> Option<Anchor> {
        let mut kept = self.kept.lock().ok()?;
        while kept.front().is_some_and(|(made, _)| made.elapsed() >= MAX_AGE) {
            kept.pop_front();
        }
        let fits = |anchor: &&Anchor| {
            anchor.tables == tables && anchor.above_now(total).is_some_and(|above| above <= skip)
        };
        let anchors = kept.iter().map(|(_, anchor)| anchor);
        anchors.filter(fits).max_by_key(|anchor| anchor.above_now(total)).cloned()
    }

    pub(super) fn keep(&self, anchor: Anchor) {
        let Ok(mut kept) = self.kept.lock() else { return };
        kept.retain(|(_, other)| other.tables != anchor.tables || other.block != anchor.block);
        if kept.len() >= MAX_ANCHORS {
            kept.pop_front();
        }
        kept.push_back((Instant::now(), anchor));
    }

    /// Forgets every anchor of these tables.
    pub(super) fn forget(&self, tables: &[Identifier]) {
        if let Ok(mut kept) = self.kept.lock() {
            kept.retain(|(_, anchor)| anchor.tables != tables);
        }
    }
}

impl Anchor {
    /// How many rows stand in the block and above now, if all that are new stand above. A
    /// table that has become smaller has lost rows somewhere.
    pub(super) fn above_now(&self, total: u64) -> Option<u64> {
        Some(self.above + total.checked_sub(self.total)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Vec<Identifier> {
        vec![Identifier::new("t").unwrap()]
    }

    fn anchor(block: u64, above: u64) -> Anchor {
        Anchor { tables: tables(), total: 1_000, newest: 99, block, above }
    }

    #[test]
    fn the_nearest_anchor_before_a_page_is_taken() {
        let anchors = Anchors::default();
        for (block, above) in [(90, 100), (50, 500), (70, 300)] {
            anchors.keep(anchor(block, above));
        }
        let found = |total, skip| anchors.nearest(&tables(), total, skip).map(|anchor| anchor.block);
        assert_eq!(found(1_000, 99), None);
        assert_eq!(found(1_000, 499), Some(70));
        assert_eq!(found(1_000, 500), Some(50));
        assert_eq!(found(1_001, 500), Some(70), "a row has come above it");
        assert_eq!(found(999, 900), None, "a row has gone");
        assert_eq!(anchors.nearest(&[], 1_000, 900), None, "of other tables");
        anchors.forget(&tables());
        assert_eq!(found(1_000, 500), None);
    }

    #[test]
    fn anchors_are_bounded_and_one_block_has_one() {
        let anchors = Anchors::default();
        for block in 0..2 * MAX_ANCHORS as u64 {
            anchors.keep(anchor(block, block));
            anchors.keep(anchor(block, block));
        }
        assert_eq!(anchors.kept.lock().unwrap().len(), MAX_ANCHORS);
    }
}
