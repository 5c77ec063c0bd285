//! The rate at which an endpoint is asked, learned from its refusals.
//!
//! ```text
//! no limit ──► refusals are a tenth of the calls ──► nine tenths of what it answered, a second
//!    ▲                                                 ▲ │ good answers: more each second, if it is used;
//!    │ no refusal for a long time                      │ │ slowly where it was refused last
//!    └─────────────────────────────────────────────────┤ ▼
//!                                                      └─ refusals: four fifths
//! ```
//!
//! Single refusals among many good answers are faults, not a rate limit: they are answered
//! by a retry, and change nothing here. A batch costs as many calls as it has members,
//! because providers count so. One of more calls than any that was answered of late may be
//! refused for its length: it says nothing about the rate. `governor` holds the rate; this file
//! decides what it is. Time is the runtime's clock, so that tests can move it.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::StateInformationMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

/// How far back calls are counted.
const WINDOW: Duration = Duration::from_secs(5);
/// A rate is not measured over less time than this.
const MIN_WINDOW: Duration = Duration::from_secs(1);
/// The most answers that are kept of the window.
const MAX_ANSWERS: usize = 1_024;
/// Fewer refusals say nothing about a rate, as long as no limit is known …
const FIRST_REFUSALS: u32 = 3;
/// … and this share of all calls must be refused.
const FIRST_REFUSED_SHARE: f64 = 0.1;
/// How many show that the rate is still too high.
const MIN_REFUSALS: u32 = 2;
/// Which share does.
const REFUSED_SHARE: f64 = 0.04;
/// The first rate, as a part of what was answered.
const FIRST_CUT: f64 = 0.9;
/// Each later one, as a part of the last.
const CUT: f64 = 0.85;
/// How much the rate grows in a second without refusals.
const GROWTH_PER_S: f64 = 1.1;
/// How much it grows near the rate that was refused last.
const SLOW_GROWTH_PER_S: f64 = 1.01;
/// What is near: so much less, or so much more.
const NEAR: (f64, f64) = (0.75, 1.1);
/// How much it grows where it is less than half of what the endpoint has answered before: what
/// made it refuse everything for a while says little about the rate that it takes.
const FAST_GROWTH_PER_S: f64 = 1.5;
/// A rate grows only while so much of it is used: otherwise nobody knows that more would pass.
const USED_SHARE: f64 = 0.5;
/// A limit is forgotten when nothing was refused for this long.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(300);
/// How long a rate that was answered is remembered: it is halved in so many seconds.
const MEMORY_HALF_LIFE_S: f64 = 60.0;
/// The lowest rate, in calls a second.
const MIN_PER_S: f64 = 0.2;
/// A rate that has grown beyond this is no limit any more.
const MAX_PER_S: f64 = 1_000.0;
/// The part of the rate that calls about history may use.
const BACKGROUND_SHARE: f64 = 0.8;
/// The limiter is made anew when the rate has changed by this part.
const STEP: f64 = 0.1;
/// How many calls may follow each other at once: those of half a second, and no more than this.
const MAX_BURST: u32 = 50;

/// The runtime's clock, as time since a limiter was made.
#[derive(Debug, Clone, Copy)]
struct RuntimeClock {
    start: Instant,
}

impl Clock for RuntimeClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.start.elapsed()
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, RuntimeClock, StateInformationMiddleware>;

/// What was answered at one time.
#[derive(Debug, Clone, Copy)]
struct Answered {
    at: Instant,
    calls: u32,
    is_refused: bool,
}

/// The rate of one endpoint.
#[derive(Debug, Default)]
pub(super) struct Rate {
    answers: VecDeque<Answered>,
    limit: Option<Limit>,
    /// The highest rate that was answered, and when that was.
    answered_per_s: Option<(f64, Instant)>,
}

#[derive(Debug)]
struct Limit {
    per_s: f64,
    /// When it was learned.
    learned: Instant,
    /// When the rate was last cut or grew.
    changed: Instant,
    cut: Instant,
    /// The rate that was cut last.
    refused_per_s: f64,
    /// When the next call may be made, as far as is known.
    ready: Instant,
    /// What the limiter was made for.
    enforced_per_s: f64,
    clock: RuntimeClock,
    limiter: Limiter,
    /// For calls that are not urgent, besides.
    background_limiter: Limiter,
}

impl Limit {
    fn new(per_s: f64, refused_per_s: f64, now: Instant) -> Self {
        let clock = RuntimeClock { start: now };
        Self {
            per_s,
            learned: now,
            changed: now,
            cut: now,
            refused_per_s,
            ready: now + Duration::from_secs_f64(1.0 / per_s.max(MIN_PER_S)),
            enforced_per_s: per_s,
            clock,
            limiter: limiter(per_s, clock),
            background_limiter: limiter(per_s * BACKGROUND_SHARE, clock),
        }
    }

    /// Makes the limiters anew, for the rate as it is now.
    fn enforce(&mut self, now: Instant) {
        let (learned, changed, cut) = (self.learned, self.changed, self.cut);
        *self = Self { learned, changed, cut, ..Self::new(self.per_s, self.refused_per_s, now) };
    }

    /// How much the rate grows in a second, where so much was answered before.
    fn growth_per_s(&self, known_per_s: f64) -> f64 {
        let near = self.refused_per_s * NEAR.0..=self.refused_per_s * NEAR.1;
        match self.per_s {
            per_s if per_s < known_per_s / 2.0 => FAST_GROWTH_PER_S,
            per_s if near.contains(&per_s) => SLOW_GROWTH_PER_S,
            _ => GROWTH_PER_S,
        }
    }
}

impl Rate {
    /// The limit in calls a second, if there is one.
    pub(super) fn per_s(&self) -> Option<f64> {
        self.limit.as_ref().map(|limit| limit.per_s)
    }

    /// Since when there is a limit, if there is one.
    pub(super) fn limited_since(&self) -> Option<Instant> {
        self.limit.as_ref().map(|limit| limit.learned)
    }

    /// What was refused since then was not too much: a limit that was learned from it is none.
    pub(super) fn forget_refusals(&mut self, since: Instant) {
        self.answers.retain(|answer| !answer.is_refused);
        if self.limited_since().is_some_and(|learned| learned >= since) {
            self.limit = None;
        }
    }

    /// Takes the right to make one call; otherwise says how long to wait. Calls that are not
    /// urgent leave a part of the rate to those that are.
    pub(super) fn try_take(&mut self, is_urgent: bool, now: Instant) -> Result<(), Duration> {
        let Some(limit) = &mut self.limit else { return Ok(()) };
        let wait = |not_yet: governor::NotUntil<Duration>| not_yet.wait_time_from(limit.clock.now());
        if !is_urgent {
            limit.background_limiter.check().map_err(wait)?;
        }
        match limit.limiter.check() {
            Ok(left) if left.remaining_burst_capacity() > 0 => limit.ready = now,
            Ok(_) => limit.ready = now + Duration::from_secs_f64(1.0 / limit.per_s.max(MIN_PER_S)),
            Err(not_yet) => {
                let wait = wait(not_yet);
                limit.ready = now + wait;
                return Err(wait);
            }
        }
        Ok(())
    }

    /// How long one more call would wait, behind so many others.
    pub(super) fn expected_wait(&self, others: u32, now: Instant) -> Duration {
        self.limit.as_ref().map_or(Duration::ZERO, |limit| {
            let behind_others = Duration::from_secs_f64(f64::from(others) / limit.per_s.max(MIN_PER_S));
            limit.ready.saturating_duration_since(now) + behind_others
        })
    }

    /// Calls were answered.
    pub(super) fn answered(&mut self, calls: u32, now: Instant) {
        self.note(Answered { at: now, calls, is_refused: false });
        let (used_per_s, known_per_s) = self.remember(now);
        let Some(limit) = &mut self.limit else { return };
        let quiet_s = now.duration_since(limit.changed).as_secs_f64();
        if quiet_s < MIN_WINDOW.as_secs_f64() {
            return;
        }
        limit.changed = now;
        if used_per_s >= limit.per_s * USED_SHARE {
            limit.per_s *= limit.growth_per_s(known_per_s).powf(quiet_s.min(WINDOW.as_secs_f64()));
        }
        if limit.per_s > MAX_PER_S || now.duration_since(limit.cut) > FORGOTTEN_AFTER {
            self.limit = None;
        } else if limit.per_s > limit.enforced_per_s * (1.0 + STEP) {
            limit.enforce(now);
        }
    }

    /// Calls that began then were refused because there were too many.
    pub(super) fn refused(&mut self, calls: u32, began: Instant, now: Instant) {
        let longest = self.answers.iter().filter(|answer| !answer.is_refused).map(|answer| answer.calls);
        if calls > longest.max().unwrap_or(1) {
            return;
        }
        // Calls that were under way together are refused together.
        if self.limit.as_ref().is_some_and(|limit| began < limit.cut) {
            return;
        }
        self.note(Answered { at: now, calls, is_refused: true });
        let (good, refused, events) = self.counted();
        let share = f64::from(refused) / f64::from((good + refused).max(1));
        let (min_refusals, min_share) = match self.limit {
            Some(_) => (MIN_REFUSALS, REFUSED_SHARE),
            None => (FIRST_REFUSALS, FIRST_REFUSED_SHARE),
        };
        if events < min_refusals || share < min_share {
            return;
        }
        let (refused_per_s, cut) = match self.per_s() {
            Some(per_s) => (per_s, CUT),
            None => (f64::from(good) / self.measured_s(now), FIRST_CUT),
        };
        let learned = self.limited_since().unwrap_or(now);
        let limit = Limit::new((refused_per_s * cut).max(MIN_PER_S), refused_per_s, now);
        self.limit = Some(Limit { learned, ..limit });
        // What was refused before says nothing about the new rate.
        self.answers.retain(|answer| !answer.is_refused);
    }

    /// Remembers the rate that is answered now, if it is higher than what is still remembered;
    /// gives both.
    fn remember(&mut self, now: Instant) -> (f64, f64) {
        let (good, ..) = self.counted();
        let measured = f64::from(good) / self.measured_s(now);
        let faded = self.answered_per_s.map_or(0.0, |(per_s, at)| {
            per_s * 0.5_f64.powf(now.duration_since(at).as_secs_f64() / MEMORY_HALF_LIFE_S)
        });
        if measured >= faded {
            self.answered_per_s = Some((measured, now));
        }
        (measured, measured.max(faded))
    }

    fn note(&mut self, answer: Answered) {
        self.answers.push_back(answer);
        let is_old = |first: &Answered| answer.at.duration_since(first.at) > WINDOW;
        while self.answers.len() > MAX_ANSWERS || self.answers.front().is_some_and(is_old) {
            self.answers.pop_front();
        }
    }

    /// Good and refused calls of the window, and how often some were refused.
    fn counted(&self) -> (u32, u32, u32) {
        self.answers.iter().fold((0, 0, 0), |(good, refused, events), answer| match answer.is_refused {
            true => (good, refused + answer.calls, events + 1),
            false => (good + answer.calls, refused, events),
        })
    }

    fn measured_s(&self, now: Instant) -> f64 {
        let since = self.answers.front().map_or(now, |first| first.at);
        now.duration_since(since).max(MIN_WINDOW).as_secs_f64()
    }
}

/// A limiter that has nothing saved up: what was refused came too fast already.
fn limiter(per_s: f64, clock: RuntimeClock) -> Limiter {
    let period = Duration::from_secs_f64(1.0 / per_s.clamp(MIN_PER_S, MAX_PER_S));
    let burst = ((per_s / 2.0) as u32).clamp(1, MAX_BURST);
    let burst = NonZeroU32::new(burst).unwrap_or(NonZeroU32::MIN);
    let quota = Quota::with_period(period).unwrap_or_else(|| Quota::per_second(NonZeroU32::MIN));
    let limiter = RateLimiter::direct_with_clock(quota.allow_burst(burst), clock).with_middleware();
    while limiter.check().is_ok() {}
    limiter
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    /// An endpoint that allows so many calls a second, asked as fast as its rate lets us.
    async fn ask_for(rate: &mut Rate, allowed_per_s: f64, seconds: u64) -> (u32, u32) {
        let (mut tokens, mut last) = (allowed_per_s, Instant::now());
        let (mut good, mut refused) = (0, 0);
        let end = last + Duration::from_secs(seconds);
        while Instant::now() < end {
            match rate.try_take(true, Instant::now()) {
                Err(wait) => sleep(wait).await,
                Ok(()) => {
                    advance(Duration::from_millis(2)).await;
                    let now = Instant::now();
                    tokens = (tokens + (now - last).as_secs_f64() * allowed_per_s).min(allowed_per_s);
                    last = now;
                    if tokens >= 1.0 {
                        tokens -= 1.0;
                        good += 1;
                        rate.answered(1, now);
                    } else {
                        refused += 1;
                        rate.refused(1, now, now);
                    }
                }
            }
        }
        (good, refused)
    }

    #[tokio::test(start_paused = true)]
    async fn the_allowed_rate_is_found_and_used() {
        for allowed in [2.0, 10.0, 50.0] {
            let mut rate = Rate::default();
            ask_for(&mut rate, allowed, 20).await;
            let (good, refused) = ask_for(&mut rate, allowed, 60).await;
            let used = f64::from(good) / (60.0 * allowed);
            assert!(used > 0.75, "{allowed}/s: {used} of it is used");
            assert!(f64::from(refused) < 0.25 * f64::from(good), "{allowed}/s: {refused} of {good} refused");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn single_refusals_are_no_rate_limit() {
        let mut rate = Rate::default();
        for call in 0..1_000_u32 {
            advance(Duration::from_millis(50)).await;
            let now = Instant::now();
            if call % 50 == 0 { rate.refused(1, now, now) } else { rate.answered(1, now) }
        }
        assert_eq!(rate.per_s(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_that_is_over_is_forgotten() {
        let mut rate = Rate::default();
        ask_for(&mut rate, 10.0, 10).await;
        assert!(rate.per_s().is_some_and(|per_s| per_s < 15.0), "{:?}", rate.per_s());
        ask_for(&mut rate, 10_000.0, 200).await;
        assert_eq!(rate.per_s(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_under_way_together_is_cut_once() {
        let mut rate = Rate::default();
        let began = Instant::now();
        advance(Duration::from_secs(1)).await;
        let now = Instant::now();
        (0..20).for_each(|_| rate.answered(1, now));
        (0..20).for_each(|_| rate.refused(1, began, now));
        assert!(rate.per_s().is_some_and(|per_s| per_s > 10.0), "{:?}", rate.per_s());
    }
}
