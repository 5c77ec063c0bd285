//! How many blocks to ask an endpoint for: what its answers taught, filter by filter.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `lesson` | what is known of one filter, and how an answer or a refusal changes it |
//! | `fingerprint` | which filters share a lesson |
//! | `saved` | the form that survives a restart |
//!
//! Invariants: a size is from 1 to the largest allowed; there are no more lessons than
//! [`MAX_LESSONS`], those unused for longest go first; time comes from the runtime's clock,
//! so that tests can turn it.

mod fingerprint;
mod lesson;
mod saved;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::reader::LogFilter;

use super::error::RpcError;
use super::range_limit::{RangeAdvice, RangeLimit};
use fingerprint::Fingerprint;
use lesson::{Lesson, Refusal};
pub(crate) use saved::SavedEndpoint;

/// The most filters that are remembered for one endpoint.
pub const MAX_LESSONS: usize = 64;

/// What a good answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LearnOptions {
    /// How many blocks the first question asks for.
    pub start_blocks: u64,
    /// How many blocks a question asks for at most.
    pub max_blocks: u64,
    /// About how many logs an answer should hold.
    pub target_logs: u64,
    /// How long an answer should take at most.
    pub target_time: Duration,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            start_blocks: 1_000,
            max_blocks: 1_000_000,
            target_logs: 10_000,
            target_time: Duration::from_secs(5),
        }
    }
}

/// What has been learned of one filter, to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Learned {
    /// How many blocks are asked for next.
    pub blocks: u64,
    /// The smallest number of blocks that was refused, while that is believed.
    pub refused_blocks: Option<u64>,
}

/// What one endpoint taught.
#[derive(Debug)]
pub(crate) struct Learner {
    options: LearnOptions,
    lessons: Mutex<Lessons>,
}

#[derive(Debug, Default)]
struct Lessons {
    by_filter: HashMap<Fingerprint, Remembered>,
    /// Counts questions, to tell what was used last.
    clock: u64,
}

#[derive(Debug)]
struct Remembered {
    lesson: Lesson,
    used: u64,
}

/// A good answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answered {
    pub(crate) blocks: u64,
    pub(crate) logs: u64,
    pub(crate) took: Duration,
}

impl Learner {
    pub(crate) fn new(options: LearnOptions) -> Self {
        Self { options, lessons: Mutex::default() }
    }

    /// How many blocks to ask for next.
    pub(crate) fn size(&self, filter: &LogFilter) -> u64 {
        let lessons = self.lock();
        let known = lessons.by_filter.get(&Fingerprint::of(filter));
        known.map_or_else(|| Lesson::new(&self.options).size(), |known| known.lesson.size())
    }

    /// Whether so many blocks are known to be refused.
    pub(crate) fn refuses(&self, filter: &LogFilter, blocks: u64) -> bool {
        let lessons = self.lock();
        lessons.by_filter.get(&Fingerprint::of(filter)).is_some_and(|known| known.lesson.refuses(blocks))
    }

    /// Learns from a good answer.
    pub(crate) fn answered(&self, filter: &LogFilter, answer: Answered) {
        let options = self.options;
        self.with(filter, |lesson| lesson.answered(&options, answer, Instant::now()));
    }

    /// Learns from what another endpoint answered.
    pub(crate) fn observed(&self, filter: &LogFilter, blocks: u64, logs: u64) {
        self.with(filter, |lesson| lesson.observed(blocks, logs));
    }

    /// Learns from a failure, if it has to do with the size of what was asked for.
    pub(crate) fn failed(&self, filter: &LogFilter, blocks: u64, error: &RpcError) {
        if let Some(refusal) = refusal(error) {
            self.with(filter, |lesson| lesson.refused(blocks, refusal, Instant::now()));
        }
    }

    /// What is known, the filter used last first.
    pub(crate) fn learned(&self) -> Vec<Learned> {
        let lessons = self.lock();
        let mut known: Vec<&Remembered> = lessons.by_filter.values().collect();
        known.sort_unstable_by_key(|known| std::cmp::Reverse(known.used));
        known.into_iter().map(|known| known.lesson.learned()).collect()
    }

    fn with(&self, filter: &LogFilter, learn: impl FnOnce(&mut Lesson)) {
        let fingerprint = Fingerprint::of(filter);
        let mut lessons = self.lock();
        lessons.clock += 1;
        let used = lessons.clock;
        let fresh = || Remembered { lesson: Lesson::new(&self.options), used };
        let known = lessons.by_filter.entry(fingerprint).or_insert_with(fresh);
        known.used = used;
        learn(&mut known.lesson);
        lessons.forget_the_oldest();
    }

    fn lock(&self) -> MutexGuard<'_, Lessons> {
        self.lessons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lessons {
    fn forget_the_oldest(&mut self) {
        while self.by_filter.len() > MAX_LESSONS {
            let oldest = self.by_filter.iter().min_by_key(|(_, known)| known.used).map(|(filter, _)| *filter);
            let Some(oldest) = oldest else { return };
            self.by_filter.remove(&oldest);
        }
    }
}

/// What a failure says about the size; nothing if it had other causes.
fn refusal(error: &RpcError) -> Option<Refusal> {
    let works = |advice: &RangeAdvice| match advice {
        RangeAdvice::Range(range) => Some((range.to - range.from).saturating_add(1)),
        RangeAdvice::Blocks(blocks) => Some(*blocks),
        RangeAdvice::Smaller => None,
    };
    match error {
        RpcError::RangeTooLarge { advice, limit: RangeLimit::Blocks, .. } => {
            Some(Refusal::Blocks { works: works(advice) })
        }
        RpcError::RangeTooLarge { advice, limit: RangeLimit::Results(limit), .. } => {
            Some(Refusal::Results { works: works(advice), limit: *limit })
        }
        RpcError::RangeTooLarge { limit: RangeLimit::Unexplained, .. } => Some(Refusal::Unexplained),
        RpcError::BodyTooLarge { .. } => Some(Refusal::Results { works: None, limit: None }),
        RpcError::RangeTooLarge { limit: RangeLimit::Time, .. } => Some(Refusal::Time),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::chain::Address;

    use super::*;

    fn filter(number: u64) -> LogFilter {
        let address = Address::left_padding_from(&number.to_be_bytes());
        LogFilter { addresses: vec![address], topics: vec![] }
    }

    fn good(logs: u64) -> Answered {
        Answered { blocks: 1_000, logs, took: Duration::from_millis(10) }
    }

    #[tokio::test]
    async fn filters_are_learned_apart_and_the_oldest_are_forgotten() {
        let learner = Learner::new(LearnOptions::default());
        let count = MAX_LESSONS as u64 + 10;
        (0..count).for_each(|number| learner.answered(&filter(number), good(0)));
        assert_eq!(learner.learned().len(), MAX_LESSONS);
        assert_eq!(learner.size(&filter(0)), 1_000, "forgotten");
        assert_eq!(learner.size(&filter(count - 1)), 8_000);
        learner.answered(&filter(count - 1), good(1_000_000));
        assert_eq!(learner.size(&filter(count - 1)), 4_000);
        assert_eq!(learner.size(&filter(count - 2)), 8_000, "another's answer");
    }

    #[tokio::test]
    async fn only_failures_that_have_to_do_with_size_make_ranges_smaller() {
        let place = || "p".to_owned();
        let (connection, timeout) = (
            RpcError::Connection { place: place(), reason: "reset".to_owned(), was_connected: true },
            RpcError::Timeout { place: place(), limit_ms: 1 },
        );
        let status = |status| RpcError::Status { place: place(), status };
        let large = RpcError::BodyTooLarge { place: place(), limit_bytes: 1 };
        let found = |limit| RpcError::RangeTooLarge {
            place: place(),
            message: "smaller ones pass".to_owned(),
            advice: RangeAdvice::Smaller,
            limit,
        };
        for (error, size) in [
            (connection, 1_000),
            (status(503), 1_000),
            (timeout, 1_000),
            (status(504), 1_000),
            (large, 500),
            (found(RangeLimit::Time), 500),
            (found(RangeLimit::Unexplained), 500),
        ] {
            let learner = Learner::new(LearnOptions::default());
            learner.failed(&filter(1), 1_000, &error);
            assert_eq!(learner.size(&filter(1)), size, "{error}");
        }
    }

    #[tokio::test]
    async fn where_logs_are_many_is_learned_from_others_too() {
        let learner = Learner::new(LearnOptions::default());
        (0..5).for_each(|_| learner.observed(&filter(1), 10, 10_000));
        assert!(learner.size(&filter(1)) <= 32);
        learner.observed(&filter(2), 1_000_000, 0);
        assert_eq!(learner.size(&filter(2)), 1_000, "what this endpoint can take is not known by that");
    }
}
