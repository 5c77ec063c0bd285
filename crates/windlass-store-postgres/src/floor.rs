//! Where a claim begins to look.
//!
//! Every taking and freeing of a lane leaves a dead entry at the old end of the
//! index of runnable lanes, until the next vacuum. At tens of thousands of jobs a
//! second, walking past them would take longer than the claim itself. So a store
//! remembers for a moment where it last met the first live entry of a queue. What
//! becomes available has the present as its time and thus stands above; only a
//! lane that was locked just then, or whose transaction took long, may stand
//! below, and is found when the moment is over.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::lane::Lane;

/// How long a floor is good for: the longest that a lane below it is overlooked.
const KEEP_FLOOR: Duration = Duration::from_secs(1);
/// Floors of so many queues are remembered.
const MAX_FLOORS: usize = 1_024;

/// Nothing is below this one.
pub(crate) const NO_FLOOR_MS: i64 = i64::MIN;

/// The floors of queues that were claimed from lately.
#[derive(Default)]
pub(crate) struct Floors {
    known: Mutex<HashMap<String, Floor>>,
}

struct Floor {
    at_ms: i64,
    /// The store's time then. Should it have gone back since, the floor proves nothing.
    now_ms: i64,
    found: Instant,
}

impl Floors {
    /// Where to begin.
    pub(crate) fn get(&self, queue: &str) -> i64 {
        let known = self.known();
        let fresh = known.get(queue).filter(|floor| floor.found.elapsed() < KEEP_FLOOR);
        fresh.map_or(NO_FLOOR_MS, |floor| floor.at_ms)
    }

    /// Whether lanes found from the floor on are the right ones: as many as were
    /// wanted, at a time that is not before the floor's.
    pub(crate) fn holds(&self, queue: &str, lanes: &[Lane], limit: u32) -> bool {
        let Some(first) = lanes.first().filter(|_| lanes.len() as u64 == u64::from(limit)) else {
            return false;
        };
        self.known().get(queue).is_some_and(|floor| first.now.as_ms() >= floor.now_ms)
    }

    /// Remembers the first of the lanes that were found without a floor.
    pub(crate) fn set(&self, queue: &str, lanes: &[Lane]) {
        let mut known = self.known();
        known.remove(queue);
        if let Some(first) = lanes.first() {
            if known.len() >= MAX_FLOORS {
                known.clear();
            }
            let (at_ms, now_ms) = (first.available_at.as_ms(), first.now.as_ms());
            known.insert(queue.to_owned(), Floor { at_ms, now_ms, found: Instant::now() });
        }
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Floor>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::lease::Epoch;
    use windlass_core::time::Timestamp;

    use super::*;

    fn lane(available_at_ms: i64, now_ms: i64) -> Lane {
        Lane {
            id: 1,
            queue: "q".to_owned(),
            key: "k".to_owned(),
            partition_id: None,
            tail_seq: 1,
            done_seq: 0,
            held_seq: 0,
            epoch: Epoch(0),
            available_at: Timestamp::from_ms(available_at_ms),
            attempts: 0,
            last_error: None,
            now: Timestamp::from_ms(now_ms),
        }
    }

    #[test]
    fn a_floor_is_where_the_first_lane_was() {
        let floors = Floors::default();
        assert_eq!(floors.get("q"), NO_FLOOR_MS);
        floors.set("q", &[lane(5, 9), lane(7, 9)]);
        assert_eq!((floors.get("q"), floors.get("other")), (5, NO_FLOOR_MS));
        floors.set("q", &[]);
        assert_eq!(floors.get("q"), NO_FLOOR_MS);
    }

    #[test]
    fn a_floor_proves_nothing_once_lanes_are_short_or_the_clock_goes_back() {
        let floors = Floors::default();
        floors.set("q", &[lane(5, 9)]);
        assert!(floors.holds("q", &[lane(6, 9)], 1));
        assert!(!floors.holds("q", &[lane(6, 9)], 2));
        assert!(!floors.holds("q", &[lane(6, 8)], 1));
        assert!(!floors.holds("other", &[lane(6, 9)], 1));
    }

    #[test]
    fn floors_are_bounded() {
        let floors = Floors::default();
        for queue in 0..=MAX_FLOORS {
            floors.set(&queue.to_string(), &[lane(1, 1)]);
        }
        assert_eq!(floors.known().len(), 1);
    }
}
