//! What became of the ranges that this process took, counted since it began.

use std::sync::atomic::{AtomicU64, Ordering};

use super::backfill::Backfilled;

/// The counts of one chain.
#[derive(Debug, Default)]
pub struct RangeCounts {
    collected: AtomicU64,
    split: AtomicU64,
    failed: AtomicU64,
    lost: AtomicU64,
}

impl RangeCounts {
    /// Counts what a step did.
    pub(super) fn note(&self, done: &Backfilled) {
        let count = match done {
            Backfilled::Collected { .. } => &self.collected,
            Backfilled::Split { .. } => &self.split,
            Backfilled::Failed { .. } => &self.failed,
            Backfilled::Lost { .. } => &self.lost,
            Backfilled::Idle | Backfilled::Halted => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// How often each came about, by name.
    pub fn read(&self) -> [(&'static str, u64); 4] {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [
            ("collected", read(&self.collected)),
            ("split", read(&self.split)),
            ("failed", read(&self.failed)),
            ("lost", read(&self.lost)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::range::BlockRange;

    use super::*;

    #[test]
    fn only_ranges_are_counted() {
        let (counts, blocks) = (RangeCounts::default(), BlockRange { from: 1, to: 2 });
        counts.note(&Backfilled::Idle);
        counts.note(&Backfilled::Failed { blocks });
        counts.note(&Backfilled::Collected { blocks, events: 3 });
        counts.note(&Backfilled::Failed { blocks });
        assert_eq!(counts.read(), [("collected", 1), ("split", 0), ("failed", 2), ("lost", 0)]);
    }
}
