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

    fn retry(error: &StoreError) -> RetryAdvice {
        error.retry()
    }
}
