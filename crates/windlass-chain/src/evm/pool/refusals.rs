//! Whether refusals in an endpoint's own words are about the rate.
//!
//! An endpoint that refuses what is too much a second answers the same kind of question again once
//! it is asked less. One that cannot answer a kind of question refuses it however seldom it is
//! asked, and answers others: its refusals say nothing about the rate.

use std::time::Duration;

use tokio::time::Instant;

/// Refusals for so long without an answer …
const MIN_REFUSED: Duration = Duration::from_secs(3);
/// … and so many are not about the rate.
const MIN_REFUSALS: u32 = 8;

/// Refusals of one kind of question since it was last answered.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Refusals {
    since: Option<Instant>,
    count: u32,
    /// Whether it was concluded that they are not about the rate.
    is_concluded: bool,
}

impl Refusals {
    /// Such a question was refused.
    pub(super) fn refused(&mut self, now: Instant) {
        self.since = self.since.or(Some(now));
        self.count = self.count.saturating_add(1);
    }

    /// One was answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Since when such questions are refused; `None` if the last one was answered.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Whether such questions were answered since then.
    pub(super) fn began_after(&self, then: Instant) -> bool {
        self.since.is_none_or(|since| then < since)
    }

    /// Whether it is news that they are not about the rate.
    pub(super) fn conclude(&mut self) -> bool {
        !std::mem::replace(&mut self.is_concluded, true)
    }

    /// Whether they were refused too long and too often to be about the rate.
    pub(super) fn are_lasting(&self, now: Instant) -> bool {
        self.count >= MIN_REFUSALS && self.since.is_some_and(|since| now.duration_since(since) >= MIN_REFUSED)
    }
}
