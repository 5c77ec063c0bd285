//! How long answers take and how many fail, of late; and what is slow.

use std::time::Duration;

use tokio::time::Instant;

/// The weight of a new answer.
const WEIGHT: f64 = 0.2;
/// After this long without an answer only half of what is known is believed, so that an
/// endpoint which was slow once is tried again.
const HALF_LIFE: Duration = Duration::from_secs(30);

/// A moving average of times.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Average {
    known: Option<(f64, Instant)>,
}

impl Average {
    pub(super) fn add(&mut self, took: Duration, now: Instant) {
        let ms = took.as_secs_f64() * 1_000.0;
        let value = self.known.map_or(ms, |(value, _)| value + WEIGHT * (ms - value));
        self.known = Some((value, now));
    }

    /// In milliseconds.
    pub(super) fn ms(&self) -> Option<f64> {
        self.known.map(|(value, _)| value)
    }

    /// In milliseconds, less the older it is; nothing is known at first.
    pub(super) fn faded_ms(&self, now: Instant) -> Option<f64> {
        let (value, at) = self.known?;
        Some(value * believed(at, now))
    }
}

/// How much of what was known then is believed now.
fn believed(at: Instant, now: Instant) -> f64 {
    let age = now.saturating_duration_since(at).as_secs_f64() / HALF_LIFE.as_secs_f64();
    0.5_f64.powf(age)
}

/// A moving share of outcomes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Share {
    known: Option<(f64, Instant)>,
}

impl Share {
    pub(super) fn add(&mut self, hit: bool, now: Instant) {
        let before = self.faded(now);
        self.known = Some((before + WEIGHT * (f64::from(u8::from(hit)) - before), now));
    }

    /// From 0 to 1, less the older it is.
    pub(super) fn faded(&self, now: Instant) -> f64 {
        self.known.map_or(0.0, |(share, at)| share * believed(at, now))
    }
}

/// How many answers are looked back at.
const WINDOW: usize = 128;
/// With fewer nothing is said about what is slow.
const MIN_ANSWERS: usize = 20;

/// The times of the last answers.
#[derive(Debug, Default)]
pub(super) struct Recent {
    times: Vec<Duration>,
    next: usize,
}

impl Recent {
    pub(super) fn add(&mut self, took: Duration) {
        if self.times.len() < WINDOW {
            self.times.push(took);
        } else {
            self.times[self.next] = took;
        }
        self.next = (self.next + 1) % WINDOW;
    }

    /// The time within which nineteen of twenty answers came.
    pub(super) fn p95(&self) -> Option<Duration> {
        if self.times.len() < MIN_ANSWERS {
            return None;
        }
        let mut times = self.times.clone();
        let place = (times.len() * 95).div_ceil(100) - 1;
        Some(*times.select_nth_unstable(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn an_average_follows_and_fades() {
        let mut average = Average::default();
        let start = Instant::now();
        assert_eq!(average.faded_ms(start), None);
        average.add(ms(100), start);
        assert_eq!(average.ms(), Some(100.0));
        (0..30).for_each(|_| average.add(ms(200), start));
        assert!(average.ms().is_some_and(|ms| ms > 199.0));
        let later = average.faded_ms(start + HALF_LIFE).expect("known");
        assert!((later - 100.0).abs() < 1.0, "{later}");
    }

    #[test]
    fn a_share_follows_and_fades() {
        let (mut share, now) = (Share::default(), Instant::now());
        (0..100).for_each(|at| share.add(at % 2 == 0, now));
        assert!((0.4..0.6).contains(&share.faded(now)), "{share:?}");
        assert!(share.faded(now + HALF_LIFE * 4) < 0.05);
    }

    #[test]
    fn slow_is_what_one_in_twenty_is() {
        let mut recent = Recent::default();
        (0..MIN_ANSWERS as u64 - 1).for_each(|_| recent.add(ms(10)));
        assert_eq!(recent.p95(), None);
        (0..81).for_each(|at| recent.add(if at % 20 == 0 { ms(900) } else { ms(10) }));
        assert_eq!(recent.p95(), Some(ms(10)));
        (0..WINDOW).for_each(|_| recent.add(ms(50)));
        assert_eq!(recent.p95(), Some(ms(50)), "what is long past does not count");
    }
}
