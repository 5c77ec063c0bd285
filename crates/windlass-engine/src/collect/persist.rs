//! Writing what must be written: trouble that passes is outlasted.

use std::future::Future;
use std::time::Duration;

use windlass_core::error::{RetryAdvice, StoreError, StoreResult};
use windlass_core::store::Store;

/// How often a write is tried.
const MAX_ATTEMPTS: u32 = 3;
/// The pause after the first failure; after the second it is twice as long.
const BASE_PAUSE: Duration = Duration::from_secs(2);

/// Tries an operation up to three times, with growing pauses, and asks the store
/// whether it is there before it is tried again. What would fail the same way is
/// not repeated; nor is a commit whose outcome is unknown.
pub(super) async fn persist<T, F>(store: &dyn Store, mut operation: impl FnMut() -> F) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    let mut attempt = 1;
    loop {
        let error = match operation().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        if attempt == MAX_ATTEMPTS || !passes(&error) {
            return Err(error);
        }
        let pause = BASE_PAUSE * attempt;
        tracing::debug!(%error, attempt, ?pause, "the store failed in passing; trying again");
        tokio::time::sleep(pause).await;
        // The store connects anew by itself; whether that worked shows in the next try.
        if let Err(error) = store.now().await {
            tracing::debug!(%error, "the store does not answer");
        }
        attempt += 1;
    }
}

fn passes(error: &StoreError) -> bool {
    matches!(error.retry(), RetryAdvice::After(_))
}
