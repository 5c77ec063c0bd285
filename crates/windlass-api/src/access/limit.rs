//! How often a key may ask: so many times a second, and some more at once after a pause.

use std::time::Duration;

use governor::clock::{Clock, MonotonicClock};
use governor::middleware::NoOpMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::limits::MAX_LIMITED_KEYS;
use crate::options::RateLimit;

type Limiter<C> = RateLimiter<String, HashMapStateStore<String>, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// Counts what keys ask for.
pub(crate) struct KeyLimiter<C: Clock = MonotonicClock> {
    limiter: Limiter<C>,
    clock: C,
}

impl KeyLimiter {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self::with_clock(limit, MonotonicClock)
    }
}

impl<C: Clock + Clone> KeyLimiter<C> {
    fn with_clock(limit: RateLimit, clock: C) -> Self {
        let quota = Quota::per_second(limit.per_second).allow_burst(limit.burst);
        Self { limiter: RateLimiter::hashmap_with_clock(quota, clock.clone()), clock }
    }

    /// Counts one request of a key; refused when it asks too often.
    pub(crate) fn check(&self, key: &str) -> ApiResult<()> {
        // A key that has not asked for a while is as good as new, and need not be remembered.
        if self.limiter.len() >= MAX_LIMITED_KEYS {
            self.limiter.retain_recent();
            if self.limiter.len() >= MAX_LIMITED_KEYS {
                return Err(limited("more keys are in use than are kept count of", Duration::from_secs(1)));
            }
        }
        self.limiter.check_key(&key.to_owned()).map_err(|until| {
            limited("the key asks more often than it may", until.wait_time_from(self.clock.now()))
        })
    }
}

fn limited(told: &str, wait: Duration) -> ApiError {
    // Rounded up: whoever comes back then is let in.
    let wait_s = wait.as_millis().div_ceil(1_000).max(1);
    ApiError::new(ErrorCode::RateLimited, told).retry_after_s(u64::try_from(wait_s).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use governor::clock::FakeRelativeClock;

    use super::*;

    fn limiter(per_second: u32, burst: u32) -> (KeyLimiter<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        let number = |number| NonZeroU32::new(number).unwrap();
        let limit = RateLimit { per_second: number(per_second), burst: number(burst) };
        (KeyLimiter::with_clock(limit, clock.clone()), clock)
    }

    #[test]
    fn a_key_has_a_burst_and_a_rate_of_its_own() {
        let (limiter, clock) = limiter(2, 3);
        assert!((0..3).all(|_| limiter.check("ann").is_ok()));
        let refused = limiter.check("ann").unwrap_err();
        assert_eq!((refused.code, refused.retry_after_s), (ErrorCode::RateLimited, Some(1)));
        assert!(limiter.check("bob").is_ok(), "another key is not concerned");
        clock.advance(Duration::from_millis(500));
        assert!(limiter.check("ann").is_ok());
        assert!(limiter.check("ann").is_err());
    }

    #[test]
    fn no_more_keys_are_remembered_than_there_is_room_for() {
        let (limiter, clock) = limiter(1, 1);
        for key in 0..MAX_LIMITED_KEYS {
            limiter.check(&key.to_string()).unwrap();
        }
        assert!(limiter.check("one more").is_err());
        clock.advance(Duration::from_secs(2));
        assert!(limiter.check("one more").is_ok(), "the others have paused");
        assert_eq!(limiter.limiter.len(), 1);
    }
}
