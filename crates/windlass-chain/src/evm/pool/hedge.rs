//! When a question is put to a second endpoint because the first is slow.

use std::time::Duration;

use super::latency::Recent;
use super::options::PoolOptions;
use super::question::Kind;

/// An answer is never called late before this.
const MIN_LATE: Duration = Duration::from_millis(20);
/// What a hedge costs; a question earns as many as hedges may be of a hundred.
const COST: u32 = 100;
/// The most that can be saved up: so many hedges in a row.
const MAX_SAVED: u32 = 10 * COST;

/// How long answers take, and how many hedges are left.
#[derive(Debug)]
pub(super) struct Hedges {
    recent: [Recent; Kind::COUNT],
    earned: u32,
    saved: u32,
    at_first: Duration,
}

impl Hedges {
    pub(super) fn new(options: &PoolOptions) -> Self {
        let saved = if options.hedge_percent == 0 { 0 } else { MAX_SAVED };
        Self {
            recent: Default::default(),
            earned: options.hedge_percent,
            saved,
            at_first: options.hedge_after,
        }
    }

    /// A question was answered.
    pub(super) fn answered(&mut self, kind: Kind, took: Duration) {
        self.recent[kind as usize].add(took);
        self.saved = self.saved.saturating_add(self.earned).min(MAX_SAVED);
    }

    /// When an answer is late; never, if nothing could be done about it.
    pub(super) fn late_after(&self, kind: Kind) -> Option<Duration> {
        let p95 = self.recent[kind as usize].p95();
        (self.saved >= COST).then(|| p95.unwrap_or(self.at_first).max(MIN_LATE))
    }

    /// Takes one of the hedges that are left.
    pub(super) fn spend(&mut self) -> bool {
        let left = self.saved.checked_sub(COST);
        self.saved = left.unwrap_or(self.saved);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hedges_are_a_small_share_of_all_questions() {
        let mut hedges = Hedges::new(&PoolOptions { hedge_percent: 5, ..PoolOptions::default() });
        let mut spent = 0;
        for _ in 0..10_000 {
            hedges.answered(Kind::Head, Duration::from_millis(1));
            spent += u32::from(hedges.late_after(Kind::Head).is_some() && hedges.spend());
        }
        assert!((500..=510).contains(&spent), "{spent}");
        let mut none = Hedges::new(&PoolOptions { hedge_percent: 0, ..PoolOptions::default() });
        none.answered(Kind::Head, Duration::from_millis(1));
        assert_eq!(none.late_after(Kind::Head), None);
        assert!(!none.spend());
    }

    #[test]
    fn late_is_what_few_answers_are() {
        let options = PoolOptions::default();
        let mut hedges = Hedges::new(&options);
        assert_eq!(hedges.late_after(Kind::Code), Some(options.hedge_after));
        (0..100).for_each(|_| hedges.answered(Kind::Code, Duration::from_millis(70)));
        assert_eq!(hedges.late_after(Kind::Code), Some(Duration::from_millis(70)));
        (0..200).for_each(|_| hedges.answered(Kind::Code, Duration::from_micros(70)));
        assert_eq!(hedges.late_after(Kind::Code), Some(MIN_LATE));
        assert_eq!(hedges.late_after(Kind::Head), Some(options.hedge_after), "each kind for itself");
    }
}
