//! Jobs in lanes: put in, taken, finished, failed, listed.

mod bury;
mod claim;
mod drop_queue;
mod enqueue;
mod finish;
mod list;
mod ordinary;
mod together;

use std::time::Duration;

use async_trait::async_trait;
use windlass_core::commit::Durability;
use windlass_core::error::StoreResult;
use windlass_core::job::{
    ClaimedJob, JobClaim, JobFailure, JobFilter, JobId, JobRow, JobTicket, MAX_CLAIMED_JOBS, QueueCounts,
};
use windlass_core::store::Jobs;

pub(crate) use self::drop_queue::drop_queue;
pub(crate) use self::enqueue::enqueue;
pub(crate) use self::finish::{complete, complete_each, done_together, fenced, is_head};
pub(crate) use self::together::Completions;

use crate::PostgresStore;
use crate::lane::{self, Hold};

#[async_trait]
impl Jobs for PostgresStore {
    async fn claim_jobs(&self, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>> {
        claim.validate()?;
        let claim = JobClaim { max_jobs: claim.max_jobs.min(MAX_CLAIMED_JOBS), ..claim.clone() };
        self.claim_or_free(Vec::is_empty, || Box::pin(claim::claim(self, &claim))).await
    }

    /// Relaxed: an extension that a crash takes back makes the hold run out earlier,
    /// and whoever takes the lane then fences its holder.
    async fn extend_jobs(&self, tickets: &[JobTicket], ttl: Duration) -> StoreResult<Vec<JobTicket>> {
        let holds = holds(tickets);
        let extended = self
            .write(Durability::Relaxed, &holds, |tx, holds| Box::pin(lane::extend(tx, holds, ttl)))
            .await?;
        Ok(tickets.iter().filter(|ticket| !extended.contains(&hold(ticket))).copied().collect())
    }

    async fn complete_jobs(&self, tickets: &[JobTicket]) -> StoreResult<Vec<JobTicket>> {
        finish::complete_all(self, tickets).await
    }

    async fn fail_job(&self, failure: &JobFailure) -> StoreResult<()> {
        self.write(Durability::Full, failure, |tx, failure| Box::pin(finish::fail(tx, failure))).await
    }

    /// Relaxed: a release that a crash takes back leaves a hold that runs out by itself.
    async fn release_jobs(&self, tickets: &[JobTicket]) -> StoreResult<()> {
        let holds = holds(tickets);
        self.write(Durability::Relaxed, &holds, |tx, holds| Box::pin(lane::release(tx, holds))).await
    }

    async fn requeue_dead_jobs(&self, ids: &[JobId]) -> StoreResult<Vec<JobId>> {
        self.write(Durability::Full, ids, |tx, ids| Box::pin(bury::requeue(tx, ids))).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> StoreResult<Vec<JobRow>> {
        self.read(filter, |tx, filter| Box::pin(list::page(tx, filter))).await
    }

    async fn show_job(&self, id: JobId) -> StoreResult<Option<JobRow>> {
        self.read(&id, |tx, id| Box::pin(list::show(tx, *id))).await
    }

    async fn count_jobs(&self) -> StoreResult<Vec<QueueCounts>> {
        self.read(&(), |tx, ()| Box::pin(list::count(tx))).await
    }
}

fn hold(ticket: &JobTicket) -> Hold {
    (ticket.job.lane, ticket.epoch)
}

/// The lanes of tickets, each once.
fn holds(tickets: &[JobTicket]) -> Vec<Hold> {
    let mut holds: Vec<Hold> = tickets.iter().map(hold).collect();
    holds.sort_unstable();
    holds.dedup();
    holds
}
