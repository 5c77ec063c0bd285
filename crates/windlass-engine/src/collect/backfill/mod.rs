//! Goes over the past of a chain in ranges, campaign by campaign.
//!
//! Any number of these work side by side, in one process or in many. A step takes
//! a range, first one that failed or whose holder is gone, then the next of a
//! campaign; asks for its logs; and commits rows, the end of the job and an outbox
//! message together. A range that is too large becomes smaller ones, in one commit.

mod hold;
mod work;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::error::{RetryAdvice, StoreError};
use windlass_core::job::{ClaimedJob, DeletedJobs, JobClaim, JobTicket};
use windlass_core::name::Owner;
use windlass_core::plan::{Campaign, Plan};
use windlass_core::range::{BlockRange, RangeClaim};

use super::chain::CollectedChain;
use super::children::Children;
use super::error::CollectError;
use super::ledger;
use super::persist::persist;
use super::routing::Routing;
use crate::pace::{Paced, step_until, warn_once};

/// So many times as often as it may fail, a range may be taken from a worker that has died.
const TAKEOVERS_PER_ATTEMPT: u32 = 10;

/// What a step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backfilled {
    /// No range is left, or none is due.
    Idle,
    /// Collecting the chain has stopped.
    Halted,
    /// A range was stored.
    Collected {
        /// Which one.
        blocks: BlockRange,
        /// How many logs it held.
        events: u64,
    },
    /// A range was too large.
    Split {
        /// Which one.
        blocks: BlockRange,
        /// Into how many.
        pieces: u64,
    },
    /// A range failed, and is tried again later or given up.
    Failed {
        /// Which one.
        blocks: BlockRange,
    },
    /// Another has taken the range over.
    Lost {
        /// Which one.
        blocks: BlockRange,
    },
}

/// The loop.
pub struct Backfiller {
    chain: Arc<CollectedChain>,
    owner: Owner,
    /// What sorts the logs of the last campaign.
    routing: Option<(Campaign, Children, Arc<Routing>)>,
    /// Whether the last range was given back: then the next one of the campaign goes first, so
    /// that ranges which nobody can read now do not hold up those that can be.
    gave_back: bool,
    /// Ranges that this worker still holds and does not work on, because the store took neither
    /// their outcome nor their release: they are released before anything else is claimed.
    unreleased: Vec<JobTicket>,
    /// Drawn from for the spread of delays.
    entropy: u64,
    replanned: watch::Receiver<u64>,
    /// Cancelled when this worker is to stop.
    shutdown: CancellationToken,
}

/// A range that this worker holds.
struct Range {
    blocks: BlockRange,
    job: ClaimedJob,
    routing: Arc<Routing>,
}

impl Backfiller {
    /// A worker of its own name.
    pub fn new(chain: Arc<CollectedChain>, owner: Owner) -> Self {
        let replanned = chain.replanned.subscribe();
        let shutdown = CancellationToken::new();
        Self {
            chain,
            owner,
            routing: None,
            gave_back: false,
            unreleased: Vec::new(),
            entropy: 0,
            replanned,
            shutdown,
        }
    }

    /// Steps until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), CollectError> {
        self.shutdown = shutdown.clone();
        step_until(&mut self, &shutdown).await
    }

    /// Does one unit of work.
    pub async fn step(&mut self) -> Result<Backfilled, CollectError> {
        let began = Instant::now();
        let done = self.stride().await;
        if let Err(error @ CollectError::Chain(_)) = &done {
            self.chain.pulse.failed_in_past(began, error);
        }
        done
    }

    async fn stride(&mut self) -> Result<Backfilled, CollectError> {
        self.release_ranges().await?;
        if self.chain.halt().await?.is_some() || !self.chain.has_stored_final_block().await? {
            return Ok(Backfilled::Halted);
        }
        let plan = ledger::plan(&*self.chain.store, &self.chain.names).await?;
        let mut is_busy = false;
        for campaign in &plan.campaigns {
            match self.take(&plan, campaign).await {
                Ok(Some(range)) => {
                    let ticket = range.job.ticket;
                    let done = self.work(range).await;
                    if matches!(done, Err(CollectError::Store(_))) {
                        self.unreleased.push(ticket);
                    }
                    return done;
                }
                Ok(None) => {}
                // Perhaps nobody is at the next one just now.
                Err(CollectError::Store(StoreError::Busy)) => is_busy = true,
                Err(error) => return Err(error),
            }
        }
        if is_busy { Err(StoreError::Busy.into()) } else { Ok(Backfilled::Idle) }
    }

    /// Releases ranges that the store could not be told about before. One that was stored after
    /// all, or taken over, has another holder or none: it is not touched.
    async fn release_ranges(&mut self) -> Result<(), CollectError> {
        if !self.unreleased.is_empty() {
            self.chain.store.release_jobs(&self.unreleased).await?;
            self.unreleased.clear();
        }
        Ok(())
    }

    /// A range of a campaign: one that was begun before, or the next.
    async fn take(&mut self, plan: &Plan, campaign: &Campaign) -> Result<Option<Range>, CollectError> {
        let Some(routing) = self.routing(plan, campaign).await? else { return Ok(None) };
        let taken = match std::mem::take(&mut self.gave_back) {
            true => match self.take_next(campaign, &routing).await? {
                Some(next) => Some(next),
                None => self.take_again(campaign).await?,
            },
            false => match self.take_again(campaign).await? {
                Some(again) => Some(again),
                None => self.take_next(campaign, &routing).await?,
            },
        };
        Ok(taken.map(|(blocks, job)| Range { blocks, job, routing }))
    }

    async fn take_again(
        &self,
        campaign: &Campaign,
    ) -> Result<Option<(BlockRange, ClaimedJob)>, CollectError> {
        let options = &self.chain.options;
        let claim = JobClaim {
            queue: self.chain.names.campaign_queue(campaign.id)?,
            owner: self.owner.clone(),
            ttl: options.lease_ttl,
            max_jobs: 1,
            max_per_lane: 1,
            // Most who took it and did not end it were stopped: that says little about the range.
            max_attempts: options.retry.max_attempts.saturating_mul(TAKEOVERS_PER_ATTEMPT),
            deleted: DeletedJobs::Restore,
        };
        let store = &*self.chain.store;
        let Some(job) = persist(store, || store.claim_jobs(&claim)).await?.pop() else { return Ok(None) };
        let blocks = match BlockRange::of_job(&job.key, &job.payload, campaign.blocks.to) {
            Some(blocks) => blocks,
            None => ledger::restored_range(store, &self.chain.names, campaign, &job.key).await?,
        };
        Ok(Some((blocks, job)))
    }

    /// The next range of a campaign; `None` when all were claimed. A busy store gives none
    /// either, though there are some: that is told, or the worker would rest until the next look.
    async fn take_next(
        &self,
        campaign: &Campaign,
        routing: &Routing,
    ) -> Result<Option<(BlockRange, ClaimedJob)>, CollectError> {
        let options = &self.chain.options;
        let claim = RangeClaim {
            cursor: self.chain.names.campaign_cursor(campaign.id)?,
            queue: self.chain.names.campaign_queue(campaign.id)?,
            size: self.chain.reader.range_size(&routing.filter).clamp(1, options.max_range_blocks),
            max_block: self.chain.final_up_to(campaign.blocks.to).await?,
            owner: self.owner.clone(),
            ttl: options.lease_ttl,
        };
        let store = &*self.chain.store;
        let next = persist(store, || store.claim_range(&claim)).await?;
        if next.is_none() {
            let stands = store.cursor(&claim.cursor).await?.map(|cursor| cursor.primary());
            if stands.and_then(|next| u64::try_from(next).ok()).is_some_and(|next| next <= claim.max_block) {
                return Err(StoreError::Busy.into());
            }
        }
        Ok(next)
    }

    /// What sorts the logs of a campaign; `None` when this process does not know its
    /// sources: then others have to do it.
    async fn routing(
        &mut self,
        plan: &Plan,
        campaign: &Campaign,
    ) -> Result<Option<Arc<Routing>>, CollectError> {
        let sources = plan.sources_of(&campaign.sources);
        let children = self.chain.children(sources.clone()).await?;
        if let Some((made_for, knowing, routing)) = &self.routing
            && (made_for.id, &made_for.sources, knowing) == (campaign.id, &campaign.sources, &children)
        {
            return Ok(Some(routing.clone()));
        }
        let Some(routing) = self.chain.catalog.routing(sources, &children) else { return Ok(None) };
        let routing = Arc::new(routing);
        self.routing = Some((campaign.clone(), children, routing.clone()));
        Ok(Some(routing))
    }
}

impl Paced for Backfiller {
    const WHAT: &'static str = "backfilling";
    type Error = CollectError;

    async fn pace(&mut self) -> Result<Duration, CollectError> {
        let done = self.step().await?;
        self.chain.counts.note(&done);
        match done {
            Backfilled::Idle | Backfilled::Halted => Ok(self.chain.options.historical_interval),
            _ => Ok(Duration::ZERO),
        }
    }

    async fn wake(&mut self) {
        if self.replanned.changed().await.is_err() {
            std::future::pending().await
        }
    }

    /// Trouble with the store is waited out however long it takes.
    fn retry(error: &CollectError) -> RetryAdvice {
        error.retry_in_loop()
    }

    fn tell(&self, error: &CollectError, delay: Duration) {
        let chain = self.chain.options.chain;
        match error {
            // The reporter tells it once for all workers.
            CollectError::Chain(_) => tracing::debug!(%chain, %error, ?delay, "a range was given back"),
            // Workers that claim side by side get in each other's way now and then.
            CollectError::Store(StoreError::Busy) => {
                tracing::debug!(%chain, %error, ?delay, "no range was claimed")
            }
            _ => warn_once(&format!("{} chain {chain}", Self::WHAT), error, delay),
        }
    }
}
