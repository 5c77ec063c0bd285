//! Keeps a range held for as long as a question about it takes, or until this worker is to stop.

use std::future::Future;
use std::pin::pin;

use windlass_core::job::JobTicket;

use super::Backfiller;

/// The hold is prolonged when this share of it has passed.
const SHARE: u32 = 3;

/// How a question about a held range ended.
pub(super) enum Held<T> {
    /// It was answered.
    Answered(T),
    /// Another has taken the range over.
    Lost,
    /// This worker is to stop: the question was given up.
    Stopped,
}

impl Backfiller {
    /// Waits for an answer while the hold on a range is prolonged.
    pub(super) async fn holding<T>(&self, ticket: JobTicket, asked: impl Future<Output = T>) -> Held<T> {
        let ttl = self.chain.options.lease_ttl;
        let mut asked = pin!(asked);
        loop {
            tokio::select! {
                answer = &mut asked => return Held::Answered(answer),
                () = self.shutdown.cancelled() => return Held::Stopped,
                () = tokio::time::sleep(ttl / SHARE) => {}
            }
            match self.chain.store.extend_jobs(&[ticket], ttl).await {
                Ok(refused) if !refused.is_empty() => return Held::Lost,
                Ok(_) => {}
                // The hold may last all the same; the commit will tell.
                Err(error) => tracing::warn!(%error, "the hold on a range could not be prolonged"),
            }
        }
    }
}
