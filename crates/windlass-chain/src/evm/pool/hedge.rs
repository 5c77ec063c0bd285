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

/// An answer that takes so many times as long as nineteen of twenty do seems not to come.
const HANGING_FACTOR: u32 = 4;
/// After so many times that it is given up …
const TIMEOUT_FACTOR: u32 = 10;
/// … where that is longer than [`FIRST_TIMEOUT`] after so many times: a few slow answers must not
/// make it minutes …
const SLOW_TIMEOUT_FACTOR: u32 = 3;
/// … but not before this.
const MIN_TIMEOUT: Duration = Duration::from_secs(2);
/// As long as too few answers have come to know what is usual.
const FIRST_TIMEOUT: Duration = Duration::from_secs(5);
/// How often the time for an answer that is compared may double, while none comes within it.
const MAX_DOUBLINGS: u32 = 3;
/// The longest that an answer which is compared with others is waited for.
const MAX_COMPARE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long answers take, and how many hedges are left.
#[derive(Debug)]
pub(super) struct Hedges {
    recent: [Recent; Kind::COUNT],
    earned: u32,
    saved: u32,
    at_first: Duration,
    /// How often in a row no endpoint answered a question that is put to each of them.
    unanswered: u32,
}

impl Hedges {
    pub(super) fn new(options: &PoolOptions) -> Self {
        let saved = if options.hedge_percent == 0 { 0 } else { MAX_SAVED };
        Self {
            recent: Default::default(),
            earned: options.hedge_percent,
            saved,
            at_first: options.hedge_after,
            unanswered: 0,
        }
    }

    /// A question was put to each endpoint. Where all of them are slower than was waited for, the
    /// next one is waited for longer.
    pub(super) fn compared(&mut self, is_answered: bool) {
        self.unanswered = match is_answered {
            true => self.unanswered.saturating_sub(1),
            false => (self.unanswered + 1).min(MAX_DOUBLINGS),
        };
    }

    /// A question was answered.
    pub(super) fn answered(&mut self, kind: Kind, took: Duration) {
        self.recent[kind as usize].add(took);
        self.saved = self.saved.saturating_add(self.earned).min(MAX_SAVED);
    }

    /// When an answer is late; never, if nothing could be done about it. One that is so
    /// late that its endpoint seems to hang is worth a second question at any time.
    pub(super) fn late_after(&self, kind: Kind) -> Option<Duration> {
        let usual = self.recent[kind as usize].p95().unwrap_or(self.at_first).max(MIN_LATE);
        match self.saved >= COST {
            true => Some(usual),
            false => (self.earned > 0).then(|| (usual * HANGING_FACTOR).max(self.at_first)),
        }
    }

    /// How long an answer may take before its endpoint is taken to hang; `None` where there is
    /// no usual time.
    pub(super) fn hangs_after(&self, kind: Kind) -> Option<Duration> {
        kind.has_usual_time().then(|| self.far_too_long(kind, FIRST_TIMEOUT))
    }

    /// How long an answer that is compared with those of others is waited for: whatever takes
    /// far longer than usual holds up those that are there.
    pub(super) fn compared_within(&self, kind: Kind) -> Duration {
        (self.far_too_long(kind, MIN_TIMEOUT) * 2_u32.pow(self.unanswered)).min(MAX_COMPARE_TIMEOUT)
    }

    fn far_too_long(&self, kind: Kind, at_first: Duration) -> Duration {
        let usual = self.recent[kind as usize].p95();
        usual.map_or(at_first, |usual| {
            let longest = (usual * SLOW_TIMEOUT_FACTOR).max(FIRST_TIMEOUT);
            (usual * TIMEOUT_FACTOR).clamp(MIN_TIMEOUT, longest)
        })
    }

    /// Takes one of the hedges that are left, if there is one.
    pub(super) fn spend(&mut self) {
        self.saved = self.saved.saturating_sub(COST);
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
            if hedges.late_after(Kind::Head) == Some(MIN_LATE) {
                hedges.spend();
                spent += 1;
            }
        }
        assert!((500..=510).contains(&spent), "{spent}");
        let hanging = hedges.late_after(Kind::Head);
        assert_eq!(hanging, Some(PoolOptions::default().hedge_after), "one that hangs is no matter of share");
        let mut none = Hedges::new(&PoolOptions { hedge_percent: 0, ..PoolOptions::default() });
        none.answered(Kind::Head, Duration::from_millis(1));
        assert_eq!(none.late_after(Kind::Head), None);
    }

    #[test]
    fn slow_answers_do_not_make_a_hang_last() {
        let mut hedges = Hedges::new(&PoolOptions::default());
        let mut limit_with = |ms| {
            (0..200).for_each(|_| hedges.answered(Kind::BlockLogs, Duration::from_millis(ms)));
            hedges.hangs_after(Kind::BlockLogs).map(|limit| limit.as_millis())
        };
        assert_eq!(limit_with(50), Some(2_000));
        assert_eq!(limit_with(300), Some(3_000));
        assert_eq!(limit_with(1_000), Some(5_000));
        assert_eq!(limit_with(2_500), Some(7_500));
    }

    /// Guards against endpoints that all take longer than the first limit: nothing would ever be
    /// learned of them.
    #[test]
    fn a_comparison_that_no_endpoint_answers_is_waited_for_longer() {
        let mut hedges = Hedges::new(&PoolOptions::default());
        let limits: Vec<u64> = (0..5)
            .map(|_| {
                let limit = hedges.compared_within(Kind::Head).as_secs();
                hedges.compared(false);
                limit
            })
            .collect();
        assert_eq!(limits, [2, 4, 8, 10, 10]);
        (0..3).for_each(|_| hedges.compared(true));
        assert_eq!(hedges.compared_within(Kind::Head), MIN_TIMEOUT);
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
