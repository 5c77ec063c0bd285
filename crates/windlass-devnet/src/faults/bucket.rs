//! A token bucket: so many calls a second, and so many at once.
//!
//! It counts in millionths of a call, so that a microsecond at one call a second is
//! not lost. Time is an argument.

use std::time::Duration;

/// One call, in the bucket's unit.
const CALL: u64 = 1_000_000;

/// How many calls may still be made.
#[derive(Debug)]
pub(super) struct TokenBucket {
    calls_per_s: u64,
    burst: u64,
    level: u64,
    filled_at_us: u64,
}

impl TokenBucket {
    /// A full bucket.
    pub(super) fn new(calls_per_s: u32, burst: u32, now_us: u64) -> Self {
        let burst = u64::from(burst) * CALL;
        Self { calls_per_s: calls_per_s.into(), burst, level: burst, filled_at_us: now_us }
    }

    /// Takes this many calls, or none of them and says how long they would have to wait.
    /// More calls than the burst never pass.
    pub(super) fn take(&mut self, calls: u64, now_us: u64) -> Result<(), Duration> {
        let elapsed_us = now_us.saturating_sub(self.filled_at_us);
        self.level = self.level.saturating_add(elapsed_us.saturating_mul(self.calls_per_s)).min(self.burst);
        self.filled_at_us = self.filled_at_us.max(now_us);
        let wanted = calls.saturating_mul(CALL);
        match self.level.checked_sub(wanted) {
            Some(rest) => {
                self.level = rest;
                Ok(())
            }
            None => Err(Duration::from_micros((wanted - self.level).div_ceil(self.calls_per_s))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_US: u64 = 1_000_000;

    #[test]
    fn a_burst_passes_and_then_the_rate() {
        let mut bucket = TokenBucket::new(10, 3, 0);
        assert_eq!(bucket.take(3, 0), Ok(()));
        assert_eq!(bucket.take(1, 0), Err(Duration::from_millis(100)));
        assert_eq!(bucket.take(1, 99_999), Err(Duration::from_micros(1)));
        assert_eq!(bucket.take(1, 100_000), Ok(()));
        assert_eq!(bucket.take(3, 100_000 + SECOND_US), Ok(()));
        assert!(bucket.take(1, 100_000 + SECOND_US).is_err(), "a long pause saves up one burst, no more");
    }

    #[test]
    fn the_rate_is_met_in_the_long_run() {
        let mut bucket = TokenBucket::new(7, 2, 0);
        let passed = (0..100 * SECOND_US).step_by(10_007).filter(|now| bucket.take(1, *now).is_ok()).count();
        assert!((700..=702).contains(&passed), "{passed}");
    }

    #[test]
    fn more_than_the_burst_never_passes_and_costs_nothing() {
        let mut bucket = TokenBucket::new(10, 3, 0);
        for second in 0..10 {
            assert!(bucket.take(4, second * SECOND_US).is_err());
        }
        assert_eq!(bucket.take(3, 10 * SECOND_US), Ok(()));
    }
}
