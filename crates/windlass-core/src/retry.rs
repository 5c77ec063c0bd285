//! How often and how late to try again. Pure: the caller brings the entropy.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Exponential backoff with a ceiling, jitter and a limit on attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// The delay after the first failure.
    pub base_ms: u32,
    /// No delay is longer.
    pub ceiling_ms: u32,
    /// The share of the delay that is drawn at random, in percent, 0 to 100.
    pub jitter_percent: u8,
    /// At this many attempts it is over.
    pub max_attempts: u32,
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Try again, not before this delay has passed.
    RetryAfter(Duration),
    /// Give up and keep it for a person.
    Dead,
}

impl Default for RetryPolicy {
    /// Ten attempts, from one second to five minutes, half of it jitter.
    fn default() -> Self {
        Self { base_ms: 1_000, ceiling_ms: 300_000, jitter_percent: 50, max_attempts: 10 }
    }
}

impl RetryPolicy {
    /// The verdict after `attempt` (1 for the first) has failed. `entropy` is any
    /// number: the same one gives the same delay.
    pub fn verdict(&self, attempt: u32, entropy: u64) -> Verdict {
        if attempt >= self.max_attempts {
            return Verdict::Dead;
        }
        Verdict::RetryAfter(self.delay(attempt, entropy))
    }

    /// The delay after `attempt` has failed: between (1 − jitter) and 1 times the
    /// doubled base, so that the ceiling holds and a crowd spreads out.
    pub fn delay(&self, attempt: u32, entropy: u64) -> Duration {
        let doublings = attempt.saturating_sub(1).min(32);
        let full = (u64::from(self.base_ms) << doublings).min(u64::from(self.ceiling_ms));
        let spread = full * u64::from(self.jitter_percent.min(100)) / 100;
        Duration::from_millis(full - entropy % (spread + 1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: RetryPolicy =
        RetryPolicy { base_ms: 100, ceiling_ms: 1_000, jitter_percent: 0, max_attempts: 3 };

    #[test]
    fn delays_double_up_to_the_ceiling_and_attempts_end() {
        let delays: Vec<u128> = (1..=6).map(|attempt| PLAIN.delay(attempt, 9).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1_000, 1_000]);
        assert_eq!(PLAIN.verdict(2, 0), Verdict::RetryAfter(Duration::from_millis(200)));
        assert_eq!(PLAIN.verdict(3, 0), Verdict::Dead);
        assert_eq!(PLAIN.verdict(u32::MAX, 0), Verdict::Dead);
    }

    proptest! {
        #[test]
        fn jitter_stays_between_its_share_and_the_ceiling(
            base_ms: u32, ceiling_ms: u32, jitter_percent in 0u8..=100, attempt: u32, entropy: u64,
        ) {
            let policy = RetryPolicy { base_ms, ceiling_ms, jitter_percent, max_attempts: u32::MAX };
            let full = RetryPolicy { jitter_percent: 0, ..policy }.delay(attempt, 0).as_millis();
            let delay = policy.delay(attempt, entropy).as_millis();
            prop_assert!(delay <= full && full <= u128::from(ceiling_ms));
            prop_assert!(delay * 100 >= full * u128::from(100 - jitter_percent));
        }
    }
}
