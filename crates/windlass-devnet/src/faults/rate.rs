//! The rate limits of a plan: each counts the calls it concerns, by message.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use super::{
    bucket::TokenBucket,
    counts::Kind,
    fate::{Fate, Twist, WireFault},
    plan::{Fault, MAX_RETRY_AFTER_S, Plan, RateRefusal},
};

/// The buckets of a plan, each with the place of its rule.
#[derive(Debug)]
pub(super) struct RateLimits(Vec<RateLimit>);

#[derive(Debug)]
struct RateLimit {
    at: usize,
    refusal: RateRefusal,
    bucket: Mutex<TokenBucket>,
}

impl RateLimits {
    /// Full buckets.
    pub(super) fn new(plan: &Plan, now_us: u64) -> Self {
        let limit = |(at, fault): (usize, &Fault)| match *fault {
            Fault::RateLimit { calls_per_s, burst, refusal } => {
                let bucket = Mutex::new(TokenBucket::new(calls_per_s, burst, now_us));
                Some(RateLimit { at, refusal, bucket })
            }
            _ => None,
        };
        let faults = plan.rules().iter().map(|rule| &rule.fault).enumerate();
        Self(faults.filter_map(limit).collect())
    }

    /// Counts a message, and refuses it whole at the first limit that it exceeds. A rate
    /// limiter stands before the node: nothing else befalls what it refuses.
    pub(super) fn apply(&self, fates: &mut [Fate], now_us: u64, wording: u64) {
        for limit in &self.0 {
            let calls = fates.iter().filter(|fate| fate.rate_limits.contains(&limit.at)).count() as u64;
            let mut bucket = limit.bucket.lock().unwrap_or_else(PoisonError::into_inner);
            if calls > 0
                && let Err(wait) = bucket.take(calls, now_us)
            {
                return refuse(fates, limit.refusal, wait, wording);
            }
        }
    }
}

fn refuse(fates: &mut [Fate], refusal: RateRefusal, wait: Duration, wording: u64) {
    let wire = match refusal {
        RateRefusal::Bare => Some(WireFault::RateLimited { retry_after_s: None }),
        RateRefusal::RetryAfter => Some(WireFault::RateLimited { retry_after_s: Some(whole_seconds(wait)) }),
        RateRefusal::Words => None,
    };
    for fate in fates {
        fate.wire = wire;
        fate.twists = match wire {
            None => vec![Twist::Refuse { kind: Kind::Rate, wording }],
            Some(_) => Vec::new(),
        };
    }
}

/// After so many seconds the wait is over.
fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX).clamp(1, MAX_RETRY_AFTER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(plan: &str) -> RateLimits {
        RateLimits::new(&plan.parse().unwrap(), 0)
    }

    /// The fates of a message of this many calls, counted by the limit at this place.
    fn message(calls: usize, at: usize) -> Vec<Fate> {
        vec![Fate { rate_limits: vec![at], ..Fate::default() }; calls]
    }

    #[test]
    fn a_batch_costs_its_members_and_is_refused_as_a_whole() {
        let limits = limits("latency=1ms,rate=10:5");
        let mut fates = message(4, 1);
        limits.apply(&mut fates, 0, 7);
        assert_eq!(fates, message(4, 1));
        let mut fates = message(2, 1);
        limits.apply(&mut fates, 0, 7);
        let refused = Some(WireFault::RateLimited { retry_after_s: None });
        assert!(fates.iter().all(|fate| fate.wire == refused));
        let mut fates = message(1, 1);
        limits.apply(&mut fates, 0, 7);
        assert_eq!(fates, message(1, 1), "what is refused costs nothing");
    }

    #[test]
    fn a_retry_after_is_long_enough() {
        let limits = limits("rate=1:3/retry");
        let mut fates = message(3, 0);
        limits.apply(&mut fates, 0, 7);
        assert_eq!(fates[0].wire, None);
        limits.apply(&mut fates, 500_000, 7);
        assert_eq!(fates[0].wire, Some(WireFault::RateLimited { retry_after_s: Some(3) }));
        let mut fates = message(3, 0);
        limits.apply(&mut fates, 3_500_000, 7);
        assert_eq!(fates[0].wire, None);
    }

    #[test]
    fn calls_that_no_limit_counts_pass() {
        let limits = limits("rate=1:1@eth_getLogs");
        let mut fates = vec![Fate::default(); 100];
        limits.apply(&mut fates, 0, 7);
        assert_eq!(fates, vec![Fate::default(); 100]);
    }
}
