//! Follows the head of one chain, and keeps its plan.
//!
//! A step looks at the block behind the cursor. If it stands on the last stored
//! block, its logs are asked for by its hash, and logs, header, cursor and an
//! outbox message are committed together under the chain's lease. If it does not,
//! the chain was reorganised: the step goes back to the common ancestor, and
//! everything above is taken back in one commit. What lies so far behind that
//! ranges are faster is left to a campaign.

mod advance;
mod ancestor;
mod lease;
mod plan;
mod recheck;
mod reorg;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::chain::BlockRef;
use windlass_core::error::RetryAdvice;
use windlass_core::lease::Lease;
use windlass_core::mode::Mode;
use windlass_core::name::Owner;
use windlass_core::plan::{Plan, Source, SourceId};
use windlass_core::reader::BlockTag;

pub(super) use self::advance::logs_of;
use super::chain::CollectedChain;
use super::children::Children;
use super::error::CollectError;
use super::health::report;
use super::ledger;
use super::routing::Routing;
use super::sight::Sight;
use crate::pace::{Paced, step_until};

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Followed {
    /// Another worker follows this chain.
    NotOurs,
    /// Nothing new.
    Idle,
    /// The plan was made, or changed.
    Planned,
    /// Blocks were stored.
    Advanced {
        /// How many.
        blocks: u64,
        /// How many logs they held.
        events: u64,
    },
    /// The head was too far away to go there block by block.
    Jumped {
        /// How many blocks were left to a campaign.
        blocks: u64,
    },
    /// The chain was reorganised, and stored blocks were taken back.
    Reorganised {
        /// How many blocks.
        depth: u64,
        /// How many logs they held.
        retracted: u64,
    },
    /// Blocks that have become final were looked at again.
    Rechecked {
        /// How many blocks.
        blocks: u64,
        /// In how many of them something was mended.
        mended: u64,
    },
}

/// The loop.
pub struct Follower {
    chain: Arc<CollectedChain>,
    lease: Option<Lease>,
    mode: Mode,
    /// What sorts the logs, and what it was made for.
    routing: Option<(RoutingKey, Arc<Routing>)>,
    heads: Option<watch::Receiver<Option<u64>>>,
    /// A second look is at no more blocks: fewer after each that failed.
    look_blocks: u64,
    /// How many steps in a row had new blocks.
    busy_steps: u32,
    /// Who was last seen to hold the chain instead.
    waits_for: Option<Owner>,
}

/// A head that never stands still does not keep the house from being kept.
const MAX_BUSY_STEPS: u32 = 16;

/// The version of the plan, for whom of its sources, how many those are, and the contracts
/// that were created.
type RoutingKey = (u64, Whom, usize, Children);

/// Of the sources that are collected, those whose logs of a block are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whom {
    /// All that have begun there: for a second look at what is stored.
    Begun,
    /// Those that the head stores there; blocks below are a campaign's, also after a reorg.
    Followed,
}

impl Whom {
    fn at(self, plan: &Plan, block: u64) -> impl Iterator<Item = &SourceId> + Clone {
        let from = move |source: &Source| match self {
            Self::Begun => Some(source.start),
            Self::Followed => source.head_from.map(|from| from.max(source.start)),
        };
        let begun =
            plan.collected().filter(move |(_, source)| from(source).is_some_and(|from| from <= block));
        begun.map(|(id, _)| id)
    }
}

/// What a step stands on.
struct Step {
    lease: Lease,
    sight: Sight,
    plan: Plan,
    position: BlockRef,
    /// Whether the chain was seen to have the last stored block. Otherwise the node lags,
    /// or is on a branch that is too short to tell.
    is_confirmed: bool,
}

impl Step {
    /// The last block up to `to` at which the same sources are collected as at `from`.
    fn before_next_start(&self, from: u64, to: u64) -> u64 {
        let starts = self.plan.collected().map(|(_, source)| source.start);
        starts.filter(|start| (from + 1..=to).contains(start)).min().map_or(to, |start| start - 1)
    }
}

impl Follower {
    /// A follower that has not begun. `heads` says when there is a new block, where
    /// somebody knows; it looks by itself all the same.
    pub fn new(chain: Arc<CollectedChain>, heads: Option<watch::Receiver<Option<u64>>>) -> Self {
        let (lease, waits_for, routing) = (None, None, None);
        Self {
            chain,
            lease,
            mode: Mode::default(),
            routing,
            heads,
            look_blocks: u64::MAX,
            busy_steps: 0,
            waits_for,
        }
    }

    /// Steps until told to stop, then gives the lease back.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), CollectError> {
        let result = step_until(&mut self, &shutdown).await;
        if let Some(lease) = &self.lease {
            report::end(&self.chain, lease, result.as_ref().err()).await;
        }
        self.release().await;
        result
    }

    /// Does one unit of work.
    pub async fn step(&mut self) -> Result<Followed, CollectError> {
        let began = Instant::now();
        let done = self.stride().await;
        self.chain.pulse.followed(began, done.as_ref().err());
        done
    }

    async fn stride(&mut self) -> Result<Followed, CollectError> {
        let Some(lease) = self.take_lease().await? else { return Ok(Followed::NotOurs) };
        let chain = self.chain.clone();
        let sight = chain.sight().await?;
        let plan = ledger::plan(&*chain.store, &chain.names).await?;
        let Some(position) = ledger::block(&*chain.store, &chain.names.head).await? else {
            return self.begin(&lease, &sight, &plan).await;
        };
        let on_chain = self.is_canonical(&position).await?;
        let step = Step { lease, sight, plan, position, is_confirmed: on_chain == Some(true) };
        if on_chain == Some(false) {
            return self.go_back(&step).await;
        }
        if let Some(planned) = self.replan(&step).await? {
            return Ok(planned);
        }
        let lag = sight.latest.number.saturating_sub(position.number);
        self.mode = self.mode.after(lag, chain.options.batch_size);
        let behind = sight.finalized.number.saturating_sub(position.number);
        if Mode::is_past(behind, chain.options.batch_size) {
            return self.jump(&step).await;
        }
        if self.busy_steps >= MAX_BUSY_STEPS && step.is_confirmed {
            self.busy_steps = 0;
            return self.keep_house(&step).await;
        }
        match self.advance(&step).await? {
            Followed::Idle if step.is_confirmed => self.keep_house(&step).await,
            Followed::Idle => Ok(Followed::Idle),
            advanced => {
                self.busy_steps += 1;
                Ok(advanced)
            }
        }
    }

    /// What has time: campaigns that are over, and blocks that have become final.
    async fn keep_house(&mut self, step: &Step) -> Result<Followed, CollectError> {
        match self.retire(step).await? {
            Some(planned) => Ok(planned),
            None => self.recheck(step).await,
        }
    }

    /// Whether the chain still has the last stored block; `None` from a node that does
    /// not know that height.
    async fn is_canonical(&self, position: &BlockRef) -> Result<Option<bool>, CollectError> {
        let header = self.chain.reader.header(BlockTag::Number(position.number)).await?;
        Ok(header.map(|header| header.block.hash == position.hash))
    }

    /// What sorts the logs of every source that is collected at a block.
    async fn routing_at(&mut self, plan: &Plan, block: u64) -> Result<Arc<Routing>, CollectError> {
        let children = self.chain.children(Whom::Begun.at(plan, block)).await?;
        Ok(self.routing_with(plan, Whom::Begun, block, children))
    }

    /// The same, with contracts that the store may not know yet.
    fn routing_with(&mut self, plan: &Plan, whom: Whom, block: u64, children: Children) -> Arc<Routing> {
        let key = (plan.version, whom, whom.at(plan, block).count(), children);
        if let Some((made_for, routing)) = &self.routing
            && *made_for == key
        {
            return routing.clone();
        }
        let chain = self.chain.options.chain;
        let routing = self.chain.catalog.routing(whom.at(plan, block), &key.3);
        let routing = Arc::new(routing.unwrap_or_else(|| Routing::new(chain, &[], Vec::new())));
        self.routing = Some((key, routing.clone()));
        routing
    }

    /// How long to wait with nothing to do.
    fn interval(&self) -> Duration {
        match self.mode {
            Mode::Historical => self.chain.options.historical_interval,
            Mode::Realtime => self.chain.options.realtime_interval,
        }
    }
}

impl Paced for Follower {
    const WHAT: &'static str = "following";
    type Error = CollectError;

    async fn pace(&mut self) -> Result<Duration, CollectError> {
        match self.step().await? {
            // Endpoints that disagree for ever are not asked without a pause.
            Followed::Idle | Followed::NotOurs | Followed::Rechecked { mended: 1.., .. } => {
                return Ok(self.interval());
            }
            Followed::Planned | Followed::Jumped { .. } => {
                self.chain.replanned.send_modify(|changes| *changes += 1);
            }
            _ => {}
        }
        Ok(Duration::ZERO)
    }

    async fn wake(&mut self) {
        if let Some(heads) = &mut self.heads
            && heads.changed().await.is_ok()
        {
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
            CollectError::FinalityViolated { .. } => {
                let code = error.code();
                tracing::error!(%chain, %code, "{error}; nothing is deleted, and it goes on once the chain has the block again");
            }
            // The reporter tells when the chain is lost and when it is found again.
            _ if error.trouble().is_some() => {
                tracing::debug!(%chain, %error, ?delay, "the head was not followed")
            }
            _ => {
                tracing::warn!(%chain, %error, ?delay, "{} was interrupted and goes on after a pause", Self::WHAT);
            }
        }
    }
}
