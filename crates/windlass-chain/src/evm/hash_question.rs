//! Whether an endpoint takes `blockHash` in `eth_getLogs`, learned from its answers.
//!
//! ```text
//! fails, or is not answered in time ─► answered by number ─┐
//! no logs against the header's bloom ─► logs by number ────┴─► three times in a row: asked by number
//! ```
//!
//! Whatever words, status or broken connection the failure came with, an answer by number of the
//! very block shows that the question was to blame. Where the question by number fails too, the
//! endpoint is: after three such failures in a row one in eight is followed by number.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use alloy_primitives::Bloom;
use tokio::time::Instant;
use windlass_core::reader::LogFilter;

/// After so many refusals in a row that were answered by number, an endpoint is asked by number.
const MAX_REFUSALS: u32 = 3;
/// One question in so many is put by hash again: the endpoint may take it by now.
const RETRY_EVERY: u32 = 256;
/// After so many blocks in a row that are unknown by hash, that counts as a refusal: …
const MAX_UNKNOWN: u32 = 8;
/// … after so many where the endpoint has answered questions by hash before.
const MAX_UNKNOWN_TAKEN: u32 = 64;
/// After so many failures in a row by hash and by number, the endpoint itself is failing: then …
const MAX_FAILURES: u32 = 3;
/// … one failure in so many is followed by a question by number.
const FOLLOW_EVERY: u32 = 8;
/// A question that is given up after so long was not answered; one that is given up sooner was
/// not waited for, because another endpoint has answered.
const MIN_SILENCE: Duration = Duration::from_secs(2);

/// What was learned of one endpoint.
#[derive(Debug, Default)]
pub(super) struct HashQuestion {
    /// Failures in a row that were answered by number.
    refusals: AtomicU32,
    /// How often it had no logs by hash and some by number, since it last had some by hash.
    lacks: AtomicU32,
    /// Whether an answer by hash has had logs, and none has lacked them since.
    has_had_logs: AtomicBool,
    /// Whether it was ever answered by hash.
    is_taken: AtomicBool,
    /// Unknown blocks in a row since then.
    unknown: AtomicU32,
    /// Failures in a row that were not answered by number either.
    failures: AtomicU32,
    /// How many questions were put by number since the last one by hash.
    by_number: AtomicU32,
    /// Whether the last question by hash was given up without an answer.
    was_silent: AtomicBool,
}

/// A question by hash that is under way.
pub(super) struct Pending<'a> {
    question: &'a HashQuestion,
    began: Instant,
    is_answered: bool,
}

impl HashQuestion {
    /// Whether the next question is put by hash.
    pub(super) fn is_asked(&self) -> bool {
        (self.refusals.load(Ordering::Relaxed) < MAX_REFUSALS && !self.is_ignored())
            || self.by_number.fetch_add(1, Ordering::Relaxed) % RETRY_EVERY == RETRY_EVERY - 1
    }

    /// Whether the last question was not answered in time: then the next one is put by number.
    pub(super) fn was_silent(&self) -> bool {
        self.was_silent.swap(false, Ordering::Relaxed)
    }

    /// A question by hash begins. One that is dropped after a long wait was not answered.
    pub(super) fn begin(&self) -> Pending<'_> {
        Pending { question: self, began: Instant::now(), is_answered: false }
    }

    /// Whether the endpoint is known to ignore `blockHash`.
    pub(super) fn is_ignored(&self) -> bool {
        self.lacks.load(Ordering::Relaxed) >= MAX_REFUSALS
    }

    /// Whether an answer without logs says little: the header's bloom may have some, and either
    /// all logs were asked for, or no answer by hash has had any yet.
    pub(super) fn doubts_none(&self, filter: &LogFilter, bloom: Option<&Bloom>) -> bool {
        bloom.is_some_and(|bloom| filter.may_match(bloom))
            && (*filter == LogFilter::default() || !self.has_had_logs.load(Ordering::Relaxed))
    }

    /// It was answered, with or without logs.
    pub(super) fn answered(&self, has_logs: bool) {
        self.refusals.store(0, Ordering::Relaxed);
        self.failures.store(0, Ordering::Relaxed);
        self.unknown.store(0, Ordering::Relaxed);
        self.is_taken.store(true, Ordering::Relaxed);
        if has_logs {
            self.lacks.store(0, Ordering::Relaxed);
            self.has_had_logs.store(true, Ordering::Relaxed);
        }
    }

    /// A block is unknown by its hash: whether that is believed, or may be how the endpoint refuses
    /// such questions. One that has answered some before is believed for longer.
    pub(super) fn is_unknown_believed(&self) -> bool {
        let unknown = self.unknown.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        unknown < if self.is_taken.load(Ordering::Relaxed) { MAX_UNKNOWN_TAKEN } else { MAX_UNKNOWN }
    }

    /// It failed, and the same block's logs came by number.
    pub(super) fn refused(&self, endpoint: &str, why: &dyn fmt::Display) {
        self.answered_by_number();
        if self.refusals.fetch_add(1, Ordering::Relaxed).saturating_add(1) == MAX_REFUSALS {
            log_learned(endpoint, why);
        }
    }

    /// It was answered without logs, and the same block's logs came by number.
    pub(super) fn lacked_logs(&self, endpoint: &str) {
        self.has_had_logs.store(false, Ordering::Relaxed);
        if self.lacks.fetch_add(1, Ordering::Relaxed).saturating_add(1) == MAX_REFUSALS {
            log_learned(endpoint, &"it has no logs by hash where it has some by number");
        }
    }

    /// It has failed: whether the question by number follows.
    pub(super) fn is_followed(&self) -> bool {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed);
        failures < MAX_FAILURES || failures.is_multiple_of(FOLLOW_EVERY)
    }

    /// The question by number was answered, if only with the news that there is another block.
    pub(super) fn answered_by_number(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }
}

impl Pending<'_> {
    /// The endpoint has answered, or failed.
    pub(super) fn end(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        if !self.is_answered && self.began.elapsed() >= MIN_SILENCE {
            self.question.was_silent.store(true, Ordering::Relaxed);
        }
    }
}

fn log_learned(endpoint: &str, why: &dyn fmt::Display) {
    tracing::info!(
        endpoint,
        %why,
        "the endpoint does not take `blockHash` in `eth_getLogs`; it is asked by block number"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An endpoint that is down costs one question more now and then, not one with every failure.
    #[test]
    fn few_failures_in_a_row_are_followed_by_number() {
        let question = HashQuestion::default();
        let followed = (0..80).filter(|_| question.is_followed()).count();
        assert_eq!(followed, 3 + 9);
        question.answered_by_number();
        assert!(question.is_followed(), "it answers again");
    }

    /// An endpoint that ignores `blockHash` answers blocks without logs like any other.
    #[test]
    fn only_logs_by_hash_show_that_the_hash_is_not_ignored() {
        let question = HashQuestion::default();
        for _ in 0..3 {
            assert!(question.is_asked());
            question.lacked_logs("http://a");
            question.answered(false);
        }
        assert!(!question.is_asked());
        question.answered(true);
        assert!(question.is_asked());
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_given_up_late_was_not_answered() {
        let question = HashQuestion::default();
        let wait = async |seconds| {
            let pending = question.begin();
            tokio::time::advance(Duration::from_secs(seconds)).await;
            pending
        };
        drop(wait(1).await);
        assert!(!question.was_silent(), "another endpoint was faster");
        wait(5).await.end();
        assert!(!question.was_silent(), "it was answered");
        drop(wait(5).await);
        assert!(question.was_silent());
        assert!(!question.was_silent(), "one question by number");
    }
}
