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
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_core::time::Timestamp;

/// How long a floor is good for: the longest that a lane below it is overlooked.
const KEEP_FLOOR: Duration = Duration::from_secs(1);
/// Floors of so many queues are remembered.
const MAX_FLOORS: usize = 1_024;

/// Where a claim begins, and the store's time when that was found out. Lanes found
/// from there on are the right ones if they are as many as were wanted, at a time
/// that is not before that: should the time have gone back, it proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) at_ms: i64,
    pub(crate) now_ms: i64,
}

impl Start {
    /// Nothing is below this one.
    pub(crate) const NOWHERE: Self = Self { at_ms: i64::MIN, now_ms: i64::MIN };
}

/// What is known of queues that were claimed from lately.
#[derive(Default)]
pub(crate) struct Floors {
    known: Mutex<HashMap<String, (Start, Instant)>>,
    sparse: Mutex<HashMap<String, Instant>>,
    /// What the caller's clock, if it brings one, last said.
    latest_ms: AtomicI64,
}

impl Floors {
    /// Looks at the caller's clock. Once it goes back, lanes become available below every floor.
    pub(crate) fn watch(&self, now_ms: i64) {
        if now_ms < self.latest_ms.swap(now_ms, Ordering::Relaxed) {
            locked(&self.known).clear();
        }
    }

    /// Where to begin.
    pub(crate) fn get(&self, queue: &str) -> Start {
        let known = locked(&self.known);
        let fresh = known.get(queue).filter(|(_, found)| found.elapsed() < KEEP_FLOOR);
        fresh.map_or(Start::NOWHERE, |(start, _)| *start)
    }

    /// Remembers when the first lane that was found without a floor became available, and the time.
    pub(crate) fn set(&self, queue: &str, first: Option<(Timestamp, Timestamp)>) {
        let mut known = locked(&self.known);
        match first {
            None => drop(known.remove(queue)),
            Some((available_at, now)) => {
                let start = Start { at_ms: available_at.as_ms(), now_ms: now.as_ms() };
                remember(&mut known, queue, (start, Instant::now()));
            }
        }
    }

    /// Whether lanes of a queue were lately found to have fewer jobs than could be
    /// taken of them, so that guessing how many lanes are needed is idle.
    pub(crate) fn is_sparse(&self, queue: &str) -> bool {
        locked(&self.sparse).get(queue).is_some_and(|found| found.elapsed() < KEEP_FLOOR)
    }

    /// Remembers that they have.
    pub(crate) fn set_sparse(&self, queue: &str) {
        remember(&mut locked(&self.sparse), queue, Instant::now());
    }
}

fn remember<V>(known: &mut HashMap<String, V>, queue: &str, value: V) {
    if let Some(old) = known.get_mut(queue) {
        *old = value;
        return;
    }
    if known.len() >= MAX_FLOORS {
        known.clear();
    }
    known.insert(queue.to_owned(), value);
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(available_at_ms: i64, now_ms: i64) -> Option<(Timestamp, Timestamp)> {
        Some((Timestamp::from_ms(available_at_ms), Timestamp::from_ms(now_ms)))
    }

    #[test]
    fn a_floor_is_where_the_first_lane_was() {
        let floors = Floors::default();
        assert_eq!(floors.get("q"), Start::NOWHERE);
        floors.set("q", first(5, 9));
        assert_eq!(floors.get("q"), Start { at_ms: 5, now_ms: 9 });
        assert_eq!(floors.get("other"), Start::NOWHERE);
        floors.set("q", None);
        assert_eq!(floors.get("q"), Start::NOWHERE);
    }

    #[test]
    fn a_clock_that_goes_back_takes_every_floor_with_it() {
        let floors = Floors::default();
        floors.watch(9);
        floors.set("q", first(5, 9));
        floors.watch(9);
        assert_eq!(floors.get("q").at_ms, 5);
        floors.watch(8);
        floors.watch(20);
        assert_eq!(floors.get("q"), Start::NOWHERE);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let floors = Floors::default();
        for queue in 0..=MAX_FLOORS {
            floors.set(&queue.to_string(), first(1, 1));
            floors.set_sparse(&queue.to_string());
        }
        assert_eq!((locked(&floors.known).len(), locked(&floors.sparse).len()), (1, 1));
        assert!(floors.is_sparse(&MAX_FLOORS.to_string()) && !floors.is_sparse("0"));
    }
}
