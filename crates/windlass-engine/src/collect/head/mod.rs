//! Follows the head of one chain, and keeps its plan.
//!
//! ```text
//! poll ─► headers of the next blocks ─► their logs ─► commit what is complete, from the first on
//!             │ the first one follows another block than the last stored one
//!             └─► go back to the common ancestor: everything above is taken back in one commit
//! ```
//!
//! Headers and logs are read ahead for many blocks at once, and kept until they are stored.
//! Rows, headers, cursor and an outbox message are committed together under the chain's
//! lease. What lies so far behind that ranges are faster is left to a campaign.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | a step |
//! | `pacing` | the loop: what each step asks, and the pauses between steps |
//! | `look`, `poll` | the chain's newest block, and when it is asked for |
//! | `read_ahead` | blocks that were read and are not stored yet |
//! | `advance` | storing the blocks that are complete |
//! | `reorg`, `ancestor` | taking back what the chain does not have any more |
//! | `halt_log` | the line in the log when a final block is gone |
//! | `chores`, `recheck`, `second_look` | what has time, a second look at final blocks above all |
//! | `plan`, `lease` | which sources need which blocks; who follows the chain |

mod advance;
mod altered_lanes;
mod ancestor;
mod chores;
mod halt_log;
mod lease;
mod look;
mod pacing;
mod plan;
mod poll;
mod read_ahead;
mod recheck;
mod reorg;
mod second_look;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::chain::{B256, BlockRef};
use windlass_core::lease::{Epoch, Lease};
use windlass_core::mode::Mode;
use windlass_core::name::Owner;
use windlass_core::plan::{Plan, Source, SourceId};
use windlass_core::reader::{ChainError, Header};

use self::halt_log::HaltLog;
use self::look::endpoints_behind;
use self::poll::{FinalityPoll, Poll, Polls};
use self::read_ahead::ReadAhead;
use self::recheck::RunningLook;
use super::blooms::BloomTrust;
use super::chain::CollectedChain;
use super::children::Children;
use super::error::CollectError;
use super::health::report;
use super::ledger;
use super::reread::UnheardWait;
use super::routing::Routing;
use super::sight::Sight;
use crate::pace::step_until;

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
    /// When the lease was last taken or extended.
    leased: Option<Instant>,
    /// What sorts the logs, and what it was made for.
    routing: Option<(RoutingKey, Arc<Routing>)>,
    heads: Option<watch::Receiver<Option<u64>>>,
    polls: Polls,
    /// The next poll, while the loop runs.
    poll: Option<Poll>,
    /// A look at what is final that is under way, while the loop runs.
    finality_poll: Option<FinalityPoll>,
    is_looping: bool,
    /// Under which lease this process has made sure that the chain's first block is kept.
    anchor_looked_for: Option<Epoch>,
    /// How often the first block could not be asked for under the present lease.
    anchor_failures: u32,
    /// Whether there may be something that has time: what became final, campaigns that ended.
    has_chores: bool,
    /// What the last poll saw.
    seen: Option<(Sight, Header)>,
    read_ahead: ReadAhead,
    /// The plan that the logs read ahead are sorted by.
    read_for: u64,
    /// The last block that this process has stored.
    stored_up_to: u64,
    /// Whether the chain's blooms can be relied on, once that was read from the store.
    blooms: BloomTrust,
    has_blooms: bool,
    blooms_changed: bool,
    /// A block whose logs would show whether blooms are exact.
    bloom_candidate: Option<Header>,
    /// A block whose logs do not fit its bloom, and since when.
    doubted: Option<(B256, Instant)>,
    /// When jobs of ranges were last looked at for lanes that were altered.
    lanes_looked_at: Option<Instant>,
    /// Since when every endpoint is on another and shorter branch than what is stored.
    left_since: Option<Instant>,
    /// How many steps in a row failed because of the endpoints.
    failures: u32,
    /// A second look is at no more blocks: fewer after each that failed.
    look_blocks: u64,
    /// How many looks in a row have failed.
    look_failures: u32,
    /// Whether the last look was at blocks in doubt.
    has_asked_again: bool,
    /// One that is under way beside the head.
    running_look: Option<RunningLook>,
    /// Whether one waits for an endpoint that was not heard.
    unheard: UnheardWait,
    /// How many steps in a row had new blocks.
    busy_steps: u32,
    /// Who was last seen to hold the chain instead.
    waits_for: Option<Owner>,
    halt_log: HaltLog,
}

/// What a step asks the chain about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// Its newest and its last final block.
    Everything,
    /// Its newest block.
    Newest,
    /// Nothing: what was seen last is new enough.
    Nothing,
}

/// The lease is extended when this share of it has passed.
const LEASE_SHARE: u32 = 4;

/// After so many steps with new blocks, chores have their turn beside them.
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
    /// Why not all of the next headers could be read.
    header_error: Option<ChainError>,
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
        let polls = Polls::new(chain.options.realtime_interval);
        Self {
            chain,
            lease: None,
            leased: None,
            routing: None,
            heads,
            polls,
            poll: None,
            finality_poll: None,
            is_looping: false,
            anchor_looked_for: None,
            anchor_failures: 0,
            has_chores: true,
            seen: None,
            read_ahead: ReadAhead::default(),
            read_for: 0,
            stored_up_to: 0,
            blooms: BloomTrust::default(),
            has_blooms: false,
            blooms_changed: false,
            bloom_candidate: None,
            doubted: None,
            lanes_looked_at: None,
            left_since: None,
            failures: 0,
            look_blocks: u64::MAX,
            look_failures: 0,
            has_asked_again: false,
            running_look: None,
            unheard: UnheardWait::default(),
            busy_steps: 0,
            waits_for: None,
            halt_log: HaltLog::default(),
        }
    }

    /// Steps until told to stop, then gives the lease back.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), CollectError> {
        self.is_looping = true;
        let result = step_until(&mut self, &shutdown).await;
        if let Some(lease) = &self.lease {
            report::end(&self.chain, lease, result.as_ref().err()).await;
        }
        self.release().await;
        result
    }

    /// Does one unit of work, after a look at the chain and at the lease.
    pub async fn step(&mut self) -> Result<Followed, CollectError> {
        self.leased = None;
        self.has_chores = true;
        self.step_after(Look::Everything).await
    }

    async fn step_after(&mut self, look: Look) -> Result<Followed, CollectError> {
        let began = Instant::now();
        let done = self.step_inner(look).await;
        // A step that asked nothing does not know whether anybody would have answered.
        if look != Look::Nothing || !matches!(done, Ok(Followed::Idle)) {
            self.chain.pulse.followed(began, done.as_ref().err());
        }
        if matches!(done, Err(CollectError::Store(_))) {
            self.leased = None;
        }
        done
    }

    async fn step_inner(&mut self, look: Look) -> Result<Followed, CollectError> {
        let began = Instant::now();
        let Some(lease) = self.take_lease().await? else { return Ok(Followed::NotOurs) };
        let chain = self.chain.clone();
        let (sight, newest) = self.look(look).await?;
        let position = ledger::block(&*chain.store, &chain.names.head).await?;
        self.polls.stored(position.map_or(sight.latest.number, |position| position.number));
        if self.is_looping {
            self.poll_next();
        }
        let plan = ledger::plan(&*chain.store, &chain.names).await?;
        let Some(position) = position else { return self.begin(&lease, &sight, &plan).await };
        self.stored_up_to = position.number;
        chain.pulse.stands_at(position.number, Instant::now());
        self.prepare(plan.version).await?;
        let behind = sight.finalized.number.saturating_sub(position.number);
        let is_far = Mode::is_past(behind, chain.options.batch_size);
        let (on_chain, header_error) = self.find_next(position, &newest, is_far).await?;
        let is_confirmed = on_chain == Some(true);
        let step = Step { lease, sight, plan, position, is_confirmed, header_error };
        if on_chain == Some(false) {
            chain.doubt_endpoints();
            return self.go_back(&step, position.number).await;
        }
        if is_confirmed {
            self.keep_anchor(&step).await?;
        } else if newest.block.number < position.number {
            // They lag, or the chain began anew: history is not stored before that is known.
            chain.doubt_endpoints();
        }
        if on_chain.is_some() {
            self.left_since = None;
        } else if let Some(top) = self.left_for_long(&position).await? {
            return self.go_back(&step, top).await;
        }
        if let Some(planned) = self.replan(&step).await? {
            return Ok(planned);
        }
        if is_far {
            return self.jump(&step).await;
        }
        match self.advance(&step).await? {
            Followed::Idle if step.is_confirmed => {
                self.chain.pulse.cleared();
                self.do_chores(&step).await
            }
            Followed::Idle => {
                let behind = endpoints_behind(step.position, &newest);
                self.chain.pulse.obstructed(began, behind, self.polls.block_time());
                Ok(Followed::Idle)
            }
            advanced => {
                self.chain.pulse.cleared();
                self.busy_steps += 1;
                if self.busy_steps >= MAX_BUSY_STEPS {
                    self.busy_steps = 0;
                    self.do_chores(&step).await?;
                }
                Ok(advanced)
            }
        }
    }

    /// Reads what is known of the chain's blooms, and forgets logs that were sorted for
    /// another plan.
    async fn prepare(&mut self, plan_version: u64) -> Result<(), CollectError> {
        if !self.has_blooms {
            self.blooms = self.chain.bloom_trust().await?;
            self.has_blooms = true;
        }
        self.blooms_changed |= self.blooms.heed(&self.chain);
        if self.read_for != plan_version {
            self.read_ahead.forget_logs();
            self.read_for = plan_version;
        }
        Ok(())
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
}
