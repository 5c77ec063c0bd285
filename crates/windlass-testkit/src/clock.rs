//! A clock that tests set: forward, backwards, or not at all.

use std::sync::atomic::{AtomicI64, Ordering};

use windlass_core::time::{Clock, Timestamp};

/// A settable clock, shared between a test and the stores it opens.
#[derive(Debug)]
pub struct ManualClock {
    now_ms: AtomicI64,
}

impl ManualClock {
    /// Where a new clock stands: an arbitrary instant well after 1970, so that a
    /// store that mixes in zero or its own time is found out.
    pub const START_MS: i64 = 1_700_000_000_000;

    /// A clock that stands at [`Self::START_MS`].
    pub fn new() -> Self {
        Self { now_ms: AtomicI64::new(Self::START_MS) }
    }

    /// Sets the clock, to an earlier instant too.
    pub fn set_ms(&self, now_ms: i64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }

    /// Moves the clock by a number of milliseconds; a negative one moves it back.
    pub fn advance_ms(&self, by_ms: i64) {
        self.now_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    /// Where it stands.
    pub fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.now_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_still_and_goes_both_ways() {
        let clock = ManualClock::new();
        assert_eq!(clock.now().as_ms(), ManualClock::START_MS);
        clock.advance_ms(-5);
        assert_eq!(clock.now().as_ms(), ManualClock::START_MS - 5);
        clock.set_ms(7);
        assert_eq!(clock.now(), clock.now());
        assert_eq!(clock.now_ms(), 7);
    }
}
