//! Keeps the store small: messages that every sink is past are forgotten.
//!
//! Any number of processes may do this at once; forgetting twice is harmless.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::error::{RetryAdvice, StoreError, StoreResult};
use windlass_core::store::Store;

/// At most this many messages in one transaction, so that others get their turn.
const MAX_PRUNED: u32 = 10_000;
/// How long to wait when nothing is left to forget.
const IDLE_WAIT: Duration = Duration::from_secs(60);

/// The upkeep of one store.
pub(super) struct Upkeep {
    store: Arc<dyn Store>,
}

impl Upkeep {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Forgets one batch and says how many messages it was.
    async fn step(&self) -> StoreResult<u64> {
        self.store.prune_outbox(MAX_PRUNED).await
    }

    /// Steps until told to stop, or until an error that no waiting helps against.
    pub(super) async fn run(self, shutdown: CancellationToken) -> Result<(), StoreError> {
        while !shutdown.is_cancelled() {
            let wait = match self.step().await {
                Ok(pruned) if pruned >= u64::from(MAX_PRUNED) => Duration::ZERO,
                Ok(pruned) => {
                    tracing::debug!(pruned, "upkeep done for now");
                    IDLE_WAIT
                }
                Err(error) => match error.retry() {
                    RetryAdvice::After(delay) => {
                        tracing::warn!(%error, ?delay, "upkeep failed and will be tried again");
                        delay
                    }
                    RetryAdvice::Never => return Err(error),
                },
            };
            tokio::select! {
                () = shutdown.cancelled() => break,
                () = tokio::time::sleep(wait) => {}
            }
        }
        Ok(())
    }
}
