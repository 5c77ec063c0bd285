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
        known.map_or(self.options.start_blocks, |known| known.lesson.size())
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
    const GATEWAY_TIMEOUTS: [u16; 3] = [408, 504, 524];
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
        RpcError::BodyTooLarge { .. } => Some(Refusal::Results { works: None, limit: None }),
        RpcError::Timeout { .. } => Some(Refusal::Time),
        RpcError::Status { status, .. } if GATEWAY_TIMEOUTS.contains(status) => Some(Refusal::Time),
        _ => None,
    }
}
