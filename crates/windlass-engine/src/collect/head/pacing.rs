//! The loop: what each step asks of the chain, and the pauses between steps.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::error::RetryAdvice;

use super::{Followed, Follower, Look};
use crate::collect::error::CollectError;
use crate::pace::{Paced, warn_once};

/// While another process holds the chain, its lease is asked for this often.
const NOT_OURS_PAUSE: Duration = Duration::from_secs(1);
/// The first pause after a failure of the endpoints; it doubles with each in a row.
const FIRST_BACKOFF: Duration = Duration::from_millis(50);
/// The longest such pause.
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// With more blocks known than a step takes, the chain is not asked for newer ones for so long.
const MAX_LOOK_AGE: Duration = Duration::from_secs(5);
/// More doublings than these reach the longest pause.
const MAX_BACKOFF_DOUBLINGS: u32 = 8;

impl Follower {
    /// What the next step asks.
    fn next_look(&self, now: Instant) -> Look {
        let Some((_, newest)) = &self.seen else { return Look::Everything };
        let step = u64::from(self.chain.options.max_blocks_per_step);
        let is_behind = newest.block.number >= self.stored_up_to.saturating_add(step);
        if is_behind && !self.polls.is_older(MAX_LOOK_AGE, now) {
            return Look::Nothing;
        }
        let starts = self.poll.as_ref().map_or_else(|| self.polls.due(now), |poll| poll.starts);
        if starts > now { Look::Nothing } else { Look::Newest }
    }

    /// How long to wait after a step.
    fn pause_after(&self, done: Followed) -> Duration {
        let now = Instant::now();
        let starts = self.poll.as_ref().map_or_else(|| self.polls.due(now), |poll| poll.starts);
        let until_poll = starts.saturating_duration_since(now);
        let newest = self.seen.as_ref().map_or(0, |(_, newest)| newest.block.number);
        match done {
            Followed::NotOurs => NOT_OURS_PAUSE,
            Followed::Idle => until_poll,
            // Endpoints that disagree for ever are not asked without a pause.
            Followed::Rechecked { mended: 1.., .. } => self.polls.interval(),
            Followed::Advanced { .. } if self.stored_up_to >= newest => until_poll,
            _ => Duration::ZERO,
        }
    }

    /// How long to wait after another failure of the endpoints.
    fn backoff(&mut self) -> Duration {
        let doublings = self.failures.min(MAX_BACKOFF_DOUBLINGS);
        self.failures += 1;
        (FIRST_BACKOFF * (1 << doublings)).min(MAX_BACKOFF)
    }
}

impl Paced for Follower {
    const WHAT: &'static str = "following";
    /// An endpoint may hang; whatever was not committed is read again.
    const STOPS_WITHIN: Option<Duration> = Some(Duration::from_secs(1));
    type Error = CollectError;

    async fn pace(&mut self) -> Result<Duration, CollectError> {
        self.follow_finality().await;
        let look = self.next_look(Instant::now());
        self.has_chores |= look == Look::Everything;
        match self.step_after(look).await {
            Ok(done) => {
                self.failures = 0;
                if matches!(done, Followed::Planned | Followed::Jumped { .. }) {
                    self.chain.replanned.send_modify(|changes| *changes += 1);
                }
                Ok(self.pause_after(done))
            }
            // The reporter says when the chain cannot be followed and when it can again.
            Err(CollectError::Chain(error)) => {
                let (chain, pause) = (self.chain.options.chain, self.backoff());
                tracing::debug!(%chain, %error, ?pause, "the head was not followed");
                Ok(pause)
            }
            Err(error) => Err(error),
        }
    }

    async fn wake(&mut self) {
        if let Some(heads) = &mut self.heads
            && heads.changed().await.is_ok()
        {
            // A poll that is under way may have been answered before the news.
            self.poll = None;
            self.polls.wake();
            return;
        }
        std::future::pending().await
    }

    fn retry(error: &CollectError) -> RetryAdvice {
        error.retry_in_loop()
    }

    fn tell(&self, error: &CollectError, delay: Duration) {
        let chain = self.chain.options.chain;
        match error {
            CollectError::FinalityViolated { rewind_to, .. } => {
                self.halt_log.tell(&self.chain.options, error, *rewind_to);
            }
            // The reporter tells when the chain is lost and when it is found again.
            _ if error.trouble().is_some() => {
                tracing::debug!(%chain, %error, ?delay, "the head was not followed")
            }
            _ => warn_once(&format!("{} chain {chain}", Self::WHAT), error, delay),
        }
    }
}
