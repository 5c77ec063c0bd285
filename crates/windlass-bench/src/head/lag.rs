//! How far behind a table was, from when blocks became visible and when readable.

use std::ops::Range;
use std::time::Duration;

use crate::times::Times;

/// How often the lag is sampled.
const SAMPLE_EVERY: Duration = Duration::from_millis(50);

/// When the newest readable block changed, on the shared clock.
pub(super) struct Stored {
    changes: Vec<(Duration, u64)>,
}

impl Stored {
    /// A table that has this block at this time.
    pub(super) fn new(at: Duration, number: u64) -> Self {
        Self { changes: vec![(at, number)] }
    }

    /// Notes a look at the table.
    pub(super) fn note(&mut self, at: Duration, newest: Option<u64>) {
        let last = self.changes.last().map(|(_, number)| *number);
        if let Some(number) = newest.filter(|number| Some(*number) > last) {
            self.changes.push((at, number));
        }
    }

    fn newest_at(&self, at: Duration) -> u64 {
        newest_at(&self.changes, at)
    }

    /// When a block became readable.
    fn since(&self, number: u64) -> Option<Duration> {
        self.changes.iter().find(|(_, newest)| *newest >= number).map(|(at, _)| *at)
    }
}

fn newest_at(changes: &[(Duration, u64)], at: Duration) -> u64 {
    let before = changes.partition_point(|(since, _)| *since <= at);
    before.checked_sub(1).map_or(0, |last| changes[last].1)
}

/// The lag in blocks at every sample, and each block's time from visible to readable.
pub(super) struct Lag {
    sorted: Vec<u64>,
    pub(super) times: Times,
}

impl Lag {
    /// Samples a time. All blocks have been stored by now.
    pub(super) fn new(visible: &[(u64, Duration)], stored: &Stored, time: Range<Duration>) -> Self {
        let shown: Vec<(Duration, u64)> = visible.iter().map(|(number, since)| (*since, *number)).collect();
        let mut sorted = Vec::new();
        let mut at = time.start;
        while at < time.end {
            sorted.push(newest_at(&shown, at).saturating_sub(stored.newest_at(at)));
            at += SAMPLE_EVERY;
        }
        sorted.sort_unstable();
        let mut times = Times::default();
        for (number, since) in visible {
            if let Some(stored) = stored.since(*number) {
                times.push(stored.saturating_sub(*since));
            }
        }
        Self { sorted, times }
    }

    /// The least that so many samples in a hundred do not exceed.
    pub(super) fn percentile(&self, percent: usize) -> u64 {
        let rank = (self.sorted.len() * percent).div_ceil(100);
        self.sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Blocks 11 to 14 come every 100 ms; 11 is stored after 60 ms, the others together.
    #[test]
    fn lag_and_times_follow_from_what_was_seen_when() {
        let visible = [(11, ms(100)), (12, ms(200)), (13, ms(300)), (14, ms(400))];
        let mut stored = Stored::new(ms(0), 10);
        for (at, newest) in [(50, Some(10)), (160, Some(11)), (240, Some(11)), (450, Some(14)), (460, None)] {
            stored.note(ms(at), newest);
        }
        let lag = Lag::new(&visible, &stored, ms(0)..ms(500));
        // At 0, 50, then 100, 150, then 200, 250, then 300, 350, then 400, then 450.
        assert_eq!(lag.sorted, [0, 0, 0, 1, 1, 1, 1, 2, 2, 3]);
        assert_eq!((lag.percentile(50), lag.percentile(99)), (1, 3));
        assert_eq!(lag.times.count(), 4);
        assert_eq!(lag.times.percentile(25).round(), 50.0);
        assert_eq!(lag.times.longest().round(), 250.0);
    }
}
