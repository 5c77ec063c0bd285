//! Block ranges. Claiming one moves the cursor and creates its job in one
//! transaction, so that no crash can leave a range that nobody has.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::{CursorName, Owner, Queue};

/// Blocks `from` to `to`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BlockRange {
    /// The first block.
    pub from: u64,
    /// The last block.
    pub to: u64,
}

impl fmt::Display for BlockRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.from, self.to)
    }
}

/// A wish for the next range behind a cursor. The cursor's primary is the next
/// block that nobody has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeClaim {
    /// The cursor that says where the next range begins.
    pub cursor: CursorName,
    /// The queue that gets the range's job; its lane is keyed by the first block.
    pub queue: Queue,
    /// At most this many blocks.
    pub size: u64,
    /// No block above this one.
    pub max_block: u64,
    /// Who takes it, and holds its job from the start.
    pub owner: Owner,
    /// For how long, unless extended.
    pub ttl: Duration,
}

/// The secondary of a range cursor: it identifies nothing, blocks are not known yet.
pub const RANGE_CURSOR_SECONDARY: &str = "next";

impl BlockRange {
    /// Whether a block is one of these.
    pub const fn contains(&self, block: u64) -> bool {
        self.from <= block && block <= self.to
    }

    /// The range a claim gets when the next unclaimed block is `next`: up to
    /// `size` blocks, none above `max_block`, and nothing once that is passed.
    pub fn next(next: u64, size: u64, max_block: u64) -> Option<Self> {
        if size == 0 || next > max_block {
            return None;
        }
        Some(Self { from: next, to: next.saturating_add(size - 1).min(max_block) })
    }

    /// How many blocks.
    pub const fn count(&self) -> u64 {
        self.to.saturating_sub(self.from).saturating_add(1)
    }

    /// The lane key of the range's job: sorts by block.
    pub fn lane_key(&self) -> String {
        format!("{:020}", self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_bounded_by_size_and_by_the_last_block() {
        assert_eq!(BlockRange::next(100, 10, 130), Some(BlockRange { from: 100, to: 109 }));
        assert_eq!(BlockRange::next(100, 10, 105), Some(BlockRange { from: 100, to: 105 }));
        assert_eq!(BlockRange::next(105, 10, 105), Some(BlockRange { from: 105, to: 105 }));
        assert_eq!(BlockRange::next(106, 10, 105), None);
        assert_eq!(BlockRange::next(0, 0, 105), None);
        assert_eq!(
            BlockRange::next(u64::MAX, 10, u64::MAX),
            Some(BlockRange { from: u64::MAX, to: u64::MAX })
        );
    }
}
