//! Keeps the store small: messages that every sink is past are forgotten.
//!
//! Any number of processes may do this at once; forgetting twice is harmless.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::error::{RetryAdvice, StoreError, StoreResult};
use windlass_core::store::Store;

use crate::pace::{Paced, step_until};

/// At most this many messages in one transaction, so that others get their turn.
const MAX_PRUNED: u32 = 10_000;
/// How long to wait when nothing is left to forget.
const IDLE_WAIT: Duration = Duration::from_secs(60);
/// A store in trouble is asked again after this, unless it says when.
const TROUBLE_WAIT: Duration = Duration::from_secs(5);

/// The upkeep of one store.
pub struct Upkeep {
    store: Arc<dyn Store>,
}

impl Upkeep {
    /// Upkeep that has not begun.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Forgets one batch and says how many messages it was.
    pub async fn step(&self) -> StoreResult<u64> {
        self.store.prune_outbox(MAX_PRUNED).await
    }

    /// Steps until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), StoreError> {
        step_until(&mut self, &shutdown).await
    }
}

impl Paced for Upkeep {
    const WHAT: &'static str = "upkeep";
    type Error = StoreError;

    async fn pace(&mut self) -> StoreResult<Duration> {
        let full = self.step().await? >= u64::from(MAX_PRUNED);
        Ok(if full { Duration::ZERO } else { IDLE_WAIT })
    }

    /// Housekeeping is no reason to end everything else: it is done again when the store
    /// is well, as after a failover, and only a store that can never be is left to its fate.
    fn retry(error: &StoreError) -> RetryAdvice {
        match (error, error.retry()) {
            (StoreError::Closed | StoreError::Gone { .. } | StoreError::Corrupt(_), _) => RetryAdvice::Never,
            (_, RetryAdvice::Never) => RetryAdvice::After(TROUBLE_WAIT),
            (_, after) => after,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_that_may_pass_does_not_end_the_process() {
        let place = || "here".to_owned();
        for error in [
            StoreError::Busy,
            StoreError::ReadOnly,
            StoreError::DiskFull,
            StoreError::Other("the server is starting up".to_owned()),
            StoreError::OutcomeUnknown { place: place() },
            StoreError::Unreachable { place: place(), reason: "it is away".to_owned() },
            StoreError::AuthFailed { user: "windlass".to_owned() },
        ] {
            assert!(matches!(Upkeep::retry(&error), RetryAdvice::After(_)), "{error}");
        }
        assert_eq!(Upkeep::retry(&StoreError::Busy), StoreError::Busy.retry());
    }

    #[test]
    fn a_store_that_is_no_more_ends_it() {
        for error in [
            StoreError::Closed,
            StoreError::Gone { place: "here".to_owned() },
            StoreError::Corrupt("a page".to_owned()),
        ] {
            assert_eq!(Upkeep::retry(&error), RetryAdvice::Never, "{error}");
        }
    }
}
