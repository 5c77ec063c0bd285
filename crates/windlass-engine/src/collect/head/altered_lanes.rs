//! Lanes of ranges that somebody altered in the database, so that they say that nothing is left, or are
//! not due for hours or ever: their jobs are made anew.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::commit::{Commit, Write};
use windlass_core::job::NewJob;
use windlass_core::plan::Campaign;

use super::{Follower, Step};
use crate::collect::error::CollectError;
use crate::collect::ledger;

/// No range is put off as long: its retries are minutes apart.
const LATEST: Duration = Duration::from_secs(5 * 3_600);
/// So often jobs are looked at while some are open.
const INTERVAL: Duration = Duration::from_secs(60);

impl Follower {
    /// Makes jobs anew whose lanes were altered. Whether there were any. A campaign is looked at once all
    /// of its ranges were claimed.
    pub(super) async fn restore_lanes(&mut self, step: &Step) -> Result<bool, CollectError> {
        let is_due = self.lanes_looked_at.is_none_or(|at| at.elapsed() >= INTERVAL);
        for campaign in &step.plan.campaigns {
            let Some(left) = self.left_of(campaign).await? else { continue };
            if (left.open == 0 || is_due) && self.restore_lanes_of(step, campaign, left.open == 0).await? {
                return Ok(true);
            }
        }
        if is_due {
            self.lanes_looked_at = Some(Instant::now());
        }
        Ok(false)
    }

    /// The same of one campaign, of which perhaps no lane has anything left.
    async fn restore_lanes_of(
        &self,
        step: &Step,
        campaign: &Campaign,
        is_drained: bool,
    ) -> Result<bool, CollectError> {
        let (store, names) = (&*self.chain.store, &self.chain.names);
        let jobs = ledger::open_jobs(store, names, campaign).await?;
        let latest = store.now().await?.after(LATEST);
        if jobs.is_empty() || !(is_drained || jobs.iter().any(|job| job.at > latest)) {
            return Ok(false);
        }
        let queue = names.campaign_queue(campaign.id)?;
        tracing::error!(
            %queue,
            ranges = jobs.len(),
            "jobs or lanes of ranges were altered in the database; they are made anew"
        );
        // The queue goes with its dead jobs: those are tried again, too.
        let jobs = ledger::all_jobs(store, &queue).await?;
        let jobs = jobs.into_iter().map(|(key, payload)| NewJob::new(queue.clone(), key, payload)).collect();
        let writes = vec![Write::DropQueue(queue), Write::Enqueue(jobs)];
        self.chain.store.commit(Commit::of(writes).under_lease(&step.lease)).await?;
        Ok(true)
    }
}
