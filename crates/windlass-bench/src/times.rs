//! How long something took, many times.

use std::time::Duration;

/// Durations, in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Times {
    ms: Vec<f64>,
}

impl Times {
    /// Notes one.
    pub(crate) fn push(&mut self, took: Duration) {
        let ms = took.as_secs_f64() * 1_000.0;
        let at = self.ms.partition_point(|other| *other <= ms);
        self.ms.insert(at, ms);
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.ms.len() as u64
    }

    /// The least that so many in a hundred do not exceed; 0 if there are none.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.ms.len() * percent).div_ceil(100);
        self.ms.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
    }

    /// The longest; 0 if there are none.
    pub(crate) fn longest(&self) -> f64 {
        self.percentile(100)
    }

    /// All together, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.ms.iter().sum::<f64>() / 1_000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_times() {
        let mut times = Times::default();
        assert_eq!(times.percentile(99), 0.0);
        (1..=200).rev().for_each(|ms| times.push(Duration::from_millis(ms)));
        let found = [1, 50, 99, 100].map(|percent| times.percentile(percent).round());
        assert_eq!(found, [2.0, 100.0, 198.0, 200.0]);
        assert_eq!((times.count(), times.longest().round()), (200, 200.0));
    }
}
