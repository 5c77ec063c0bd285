//! Stretches of time in which a table was behind, held against the faults of that time.

use std::time::Duration;

use super::schedule::Window;

/// A look at the lag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sample {
    pub(super) at: Duration,
    pub(super) lag: u64,
}

/// A time in which every sample was behind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    from: Duration,
    to: Duration,
    worst: u64,
}

impl Stretch {
    /// All stretches of more than so many blocks behind. One lasts until the first sample
    /// that is not.
    pub(super) fn all(samples: &[Sample], blocks: u64) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        let mut is_open = false;
        for sample in samples {
            match found.last_mut().filter(|_| is_open) {
                Some(open) => {
                    open.to = sample.at;
                    open.worst = open.worst.max(sample.lag);
                }
                None if sample.lag > blocks => {
                    found.push(Self { from: sample.at, to: sample.at, worst: sample.lag });
                }
                None => {}
            }
            is_open = sample.lag > blocks;
        }
        found
    }

    pub(super) fn length(&self) -> Duration {
        self.to - self.from
    }

    /// By how much it is longer than the faults that it met.
    pub(super) fn excess(&self, windows: &[Window]) -> Duration {
        let lasted: Duration = self.met(windows).map(|window| window.to - window.from).sum();
        self.length().saturating_sub(lasted)
    }

    /// One line for people.
    pub(super) fn described(&self, windows: &[Window]) -> String {
        let met: Vec<String> = self
            .met(windows)
            .map(|window| {
                format!("{} from {} to {} s", window.name, window.from.as_secs(), window.to.as_secs())
            })
            .collect();
        let met = if met.is_empty() { "no endpoint was bad".to_owned() } else { met.join(", ") };
        let (from, length) = (self.from.as_secs(), self.length().as_secs());
        format!("behind from {from} s on for {length} s, by up to {} blocks; {met}", self.worst)
    }

    fn met<'a>(&'a self, windows: &'a [Window]) -> impl Iterator<Item = &'a Window> {
        windows.iter().filter(|window| window.from <= self.to && self.from <= window.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn samples(lags: &[u64]) -> Vec<Sample> {
        (0..).zip(lags).map(|(at, lag)| Sample { at: s(at), lag: *lag }).collect()
    }

    #[test]
    fn a_stretch_lasts_until_the_lag_is_small_again() {
        let found = Stretch::all(&samples(&[0, 11, 14, 12, 10, 3, 11, 0, 11]), 10);
        let of = |from, to, worst| Stretch { from: s(from), to: s(to), worst };
        assert_eq!(found, [of(1, 4, 14), of(6, 7, 11), of(8, 8, 11)]);
    }

    #[test]
    fn a_stretch_may_last_as_long_as_its_fault() {
        let stretch = Stretch { from: s(30), to: s(55), worst: 20 };
        let window = |from, to| Window { name: "hang", from: s(from), to: s(to) };
        assert_eq!(stretch.excess(&[]), s(25));
        assert_eq!(stretch.excess(&[window(0, 29), window(56, 90)]), s(25));
        assert_eq!(stretch.excess(&[window(15, 35)]), s(5));
        assert_eq!(stretch.excess(&[window(10, 40)]), s(0));
        assert!(stretch.described(&[window(10, 40)]).ends_with("20 blocks; hang from 10 to 40 s"));
    }
}
