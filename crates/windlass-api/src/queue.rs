//! How many requests are answered at once, and how long the others wait.
//!
//! The limit protects the store: more requests at once than it has connections would only
//! wait inside it. A request beyond the limit queues for a short time, first come, first
//! served; when its time or the queue's room runs out it is refused with 503 and
//! `Retry-After`.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::limits::{MAX_CONCURRENT_REQUESTS, MAX_QUEUED_REQUESTS};
use crate::options::ApiOptions;

/// The requests that are answered, and those that wait for their turn.
pub(crate) struct RequestQueue {
    running: Semaphore,
    queued: Semaphore,
    timeout: Duration,
}

impl RequestQueue {
    pub(crate) fn new(options: &ApiOptions) -> Self {
        Self {
            running: Semaphore::new(options.concurrent_requests.min(MAX_CONCURRENT_REQUESTS)),
            queued: Semaphore::new(MAX_QUEUED_REQUESTS),
            timeout: options.queue_timeout,
        }
    }

    /// Waits for a request's turn. The turn ends when the permit is dropped.
    pub(crate) async fn enter(&self) -> ApiResult<SemaphorePermit<'_>> {
        if let Ok(permit) = self.running.try_acquire() {
            return Ok(permit);
        }
        let _place = self.queued.try_acquire().map_err(|_| overloaded())?;
        match tokio::time::timeout(self.timeout, self.running.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(overloaded()),
        }
    }
}

fn overloaded() -> ApiError {
    ApiError::new(ErrorCode::Overloaded, "too many requests at once").hint("ask again after `Retry-After`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(concurrent_requests: usize) -> RequestQueue {
        RequestQueue::new(&ApiOptions { concurrent_requests, ..ApiOptions::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_beyond_the_limit_waits_for_its_turn() {
        let queue = queue(1);
        let first = queue.enter().await.unwrap();
        let (second, ()) = tokio::join!(queue.enter(), async { drop(first) });
        assert!(second.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_has_waited_too_long_is_refused() {
        let queue = queue(1);
        let _first = queue.enter().await.unwrap();
        assert_eq!(queue.enter().await.unwrap_err().code, ErrorCode::Overloaded);
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_refuses_at_once() {
        let queue = queue(0);
        let _places = queue.queued.try_acquire_many(MAX_QUEUED_REQUESTS as u32).unwrap();
        let begun = tokio::time::Instant::now();
        assert_eq!(queue.enter().await.unwrap_err().code, ErrorCode::Overloaded);
        assert_eq!(begun.elapsed(), Duration::ZERO, "the clock stands still unless somebody waits");
    }
}
