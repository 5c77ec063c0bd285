//! Block ranges. Claiming one moves the cursor and creates its job in one
//! transaction, so that no crash can leave a range that nobody has.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::{CursorName, LaneKey, Owner, Queue};

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

    /// The range of a job as its payload tells it. `None` where that was lost, or altered to another
    /// first block than its lane's or to blocks that nobody wants.
    pub fn of_job(key: &LaneKey, payload: &str, last: u64) -> Option<Self> {
        let told: Self = serde_json::from_str(payload).ok()?;
        let is_sound = told.from <= told.to && told.to <= last && told.lane_key() == key.as_str();
        is_sound.then_some(told)
    }

    /// The ranges of a queue's jobs, told by payload or, where that was lost, by lane key. Such a
    /// range goes on up to the next one that begins above it, or to `last`: what was stored in
    /// between is collected again, and nothing is left out. `None` where neither tells it.
    pub fn of_jobs(jobs: &[(LaneKey, String)], last: u64) -> Vec<Option<Self>> {
        let told: Vec<Option<Self>> =
            jobs.iter().map(|(key, payload)| Self::of_job(key, payload, last)).collect();
        let first = |(key, _): &(LaneKey, String)| key.as_str().parse::<u64>().ok();
        let firsts: BTreeSet<u64> = jobs.iter().filter_map(first).collect();
        let up_to_next = |from: u64| {
            let next = firsts.range(from.saturating_add(1)..).next();
            let to = next.map_or(last, |next| last.min(next - 1));
            Self { from, to: to.max(from) }
        };
        jobs.iter().zip(told).map(|(job, told)| told.or_else(|| first(job).map(up_to_next))).collect()
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

    #[test]
    fn a_range_whose_job_lost_its_payload_reaches_up_to_the_next() {
        let job = |from: u64, payload: &str| {
            let key = BlockRange { from, to: from }.lane_key();
            (LaneKey::new(key).expect("a key"), payload.to_owned())
        };
        let range = |from, to| Some(BlockRange { from, to });
        let altered = r#"{"from":1,"to":18446744073709551615}"#;
        let jobs = [job(40, "null"), job(10, altered), job(20, r#"{"from":20,"to":24}"#), job(30, "")];
        let expected = [range(40, 49), range(10, 19), range(20, 24), range(30, 39)];
        assert_eq!(BlockRange::of_jobs(&jobs, 49), expected);
        assert_eq!(BlockRange::of_jobs(&jobs[..1], 39), [range(40, 40)]);
        let nameless = (LaneKey::new("a").expect("a key"), "null".to_owned());
        assert_eq!(BlockRange::of_jobs(&[nameless], 49), [None]);
    }
}
