//! How long what is final waits for endpoints that do not answer about it, or have no news of it.
//!
//! The time is kept with the chain's record of how it goes, so that a process which is restarted
//! often does not begin to wait anew each time. Time while no process ran does not count: an
//! endpoint has to be asked to be heard.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_core::time::{Timestamp, duration_ms};

use super::reread::{MAX_UNHEARD_TIME, UnheardWait};

/// How long an endpoint whose last final block stands still holds back what others call final.
/// Chains make blocks final every few minutes, some every half hour.
const MAX_HELD_TIME: Duration = Duration::from_secs(2 * 3_600);

/// What the last final block waits for.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FinalityWait {
    /// One endpoint alone was heard about it.
    unheard: UnheardWait,
    /// One endpoint has no news of it.
    held: UnheardWait,
}

/// A stored wait that is older is over: the endpoint may be back, and has to be asked again.
const MAX_STORED_AGE: Duration = Duration::from_secs(300);

/// How long it has waited for each, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FinalityWaited {
    /// When a process last waited, by the store's clock.
    #[serde(default)]
    pub at: Timestamp,
    /// The endpoints of that process.
    #[serde(default)]
    pub endpoints: Vec<String>,
    /// For an endpoint that is not heard, in milliseconds.
    pub unheard_ms: Option<i64>,
    /// For an endpoint that has no news, in milliseconds.
    pub held_ms: Option<i64>,
}

impl FinalityWait {
    /// Whether nothing becomes final for now. One that stands still for long does not count.
    pub(super) fn must_wait(&mut self, is_unheard: bool, is_held: bool) -> bool {
        let waits = self.unheard.must_wait(is_unheard, MAX_UNHEARD_TIME);
        self.held.must_wait(is_held, MAX_HELD_TIME) || waits
    }

    /// Goes on where another process has stopped a short while ago, if it had the same endpoints.
    pub(super) fn resume(&mut self, waited: &FinalityWaited, endpoints: &[String], now: Timestamp) {
        let age_ms = now.as_ms().saturating_sub(waited.at.as_ms());
        if !(0..=duration_ms(MAX_STORED_AGE)).contains(&age_ms) || waited.endpoints != endpoints {
            return;
        }
        let time = |ms: i64| Duration::from_millis(u64::try_from(ms).unwrap_or(0));
        self.unheard.resume(waited.unheard_ms.map(time));
        self.held.resume(waited.held_ms.map(time));
    }

    /// The wait for an endpoint that is not heard.
    pub(super) const fn unheard(&self) -> UnheardWait {
        self.unheard
    }

    /// How long it has waited, to be stored.
    pub(super) fn waited(&self, endpoints: Vec<String>, at: Timestamp) -> FinalityWaited {
        let waited = |wait: &UnheardWait| wait.is_waiting().then(|| duration_ms(wait.elapsed()));
        FinalityWaited { at, endpoints, unheard_ms: waited(&self.unheard), held_ms: waited(&self.held) }
    }

    /// What is to be said about it, a sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let waits = |wait: &UnheardWait, limit: Duration| wait.is_waiting() && wait.elapsed() < limit;
        let mut notes = Vec::new();
        if waits(&self.unheard, MAX_UNHEARD_TIME) {
            let minutes = MAX_UNHEARD_TIME.as_secs() / 60;
            notes.push(format!(
                "one endpoint alone answers about what is final: nothing becomes final until another answers, for {minutes} minutes at most; an endpoint that is gone for good is best taken out of `rpc`"
            ));
        }
        if waits(&self.held, MAX_HELD_TIME) {
            let hours = MAX_HELD_TIME.as_secs() / 3_600;
            notes.push(format!(
                "one endpoint has no newer final block and another has: nothing becomes final until both have, for {hours} hours at most; one whose finality stands still is best taken out of `rpc`"
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_wait_goes_on_only_where_another_process_has_just_stopped() {
        let endpoints = ["a".to_owned(), "b".to_owned()];
        let at = Timestamp::from_ms(1_000_000);
        let over = Some(duration_ms(MAX_UNHEARD_TIME) + 1);
        let waited =
            FinalityWaited { at, endpoints: endpoints.to_vec(), unheard_ms: over, ..Default::default() };
        let must_wait = |endpoints: &[String], now_ms| {
            let mut wait = FinalityWait::default();
            wait.resume(&waited, endpoints, Timestamp::from_ms(now_ms));
            wait.must_wait(true, false)
        };
        tokio::time::advance(MAX_UNHEARD_TIME * 2).await;
        assert!(!must_wait(&endpoints, 1_000_000) && !must_wait(&endpoints, 1_300_000), "it was waited for");
        assert!(must_wait(&endpoints, 1_300_001), "too long ago");
        assert!(must_wait(&endpoints, 999_999), "the clock went back");
        assert!(must_wait(&endpoints[..1], 1_000_000), "other endpoints");
    }
}
