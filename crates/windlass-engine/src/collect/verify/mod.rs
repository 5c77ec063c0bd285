//! Verifies what is stored and final, in the background: endpoints are trusted while a past
//! is collected in ranges, and while one of them is alone at the head, and held to account here.
//!
//! A step looks at a segment of final blocks. Headers of some of its blocks, or of all, are
//! asked for: hashes and times of stored rows must be those of the header, and what is stored
//! must fit its bloom. Some blocks, or all that may have logs, are held against all of their
//! logs. What does not fit is asked of every endpoint and decided by the rule in `evidence`;
//! when a block was stored wrongly, its whole segment is collected again from each endpoint.
//!
//! | file | what it holds |
//! | --- | --- |
//! | this | the loop, and what it may cost |
//! | `work` | what is to be done next |
//! | `look` | a segment's headers and logs against what is stored |
//! | `recollect` | a suspicious range, collected again from each endpoint |
//! | `record` | which blocks were verified, and how |
//! | `sample` | which blocks of a segment are looked at |
//! | `budget`, `counted` | how many requests it may use, and has used |
//!
//! Invariants: one process at a time verifies a chain, under a lease of its own; mends happen
//! under the lease that excludes repairs and rewinds. A bloom alone never makes a stored row
//! wrong. The loop uses its share of requests on average, and holds up no other loop.

mod budget;
pub(in crate::collect) mod counted;
mod look;
mod recollect;
pub(super) mod record;
mod sample;
mod work;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::block_set::BlockSet;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::RetryAdvice;
use windlass_core::lease::Lease;
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainErrorKind};

use self::budget::Budget;
use self::counted::CountedReader;
pub use self::record::Verified;
use self::work::{NextWork, Work};
use super::chain::CollectedChain;
use super::doubts::Doubts;
use super::error::CollectError;
use super::ledger;
use super::reread::UnheardWait;
use super::resolve::{BlockResolver, Unanswered};
use super::routing::Routing;
use crate::pace::{Paced, step_until};

/// A segment that is looked at whole has so many blocks.
const FULL_BLOCKS: u64 = 100;
/// After so many failures in a row, a block that no endpoint answers about is called doubtful.
const MAX_FAILURES: u32 = 10;
/// A suspicious range that waits is collected again after as long as it has waited, but no sooner
/// than this …
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
/// … and no later.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// What is not proven is looked at again after this: endpoints change.
const UNPROVEN_PAUSE: Duration = Duration::from_secs(600);
/// After trouble it goes on no sooner than this: no other loop waits for it.
const TROUBLE_PAUSE: Duration = Duration::from_secs(5);

/// How much of what is stored and final is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerifyMode {
    /// Nothing.
    Off,
    /// Some blocks of every segment.
    #[default]
    Sample,
    /// Every block.
    Full,
}

/// How a chain is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyOptions {
    /// How much.
    pub mode: VerifyMode,
    /// The share of all requests that it may use, in parts per million.
    pub share_ppm: u32,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self { mode: VerifyMode::Sample, share_ppm: 20_000 }
    }
}

/// What a step did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyStep {
    /// Another process verifies this chain.
    NotOurs,
    /// Nothing is left to verify.
    Idle,
    /// The share of requests is used up for now.
    OverBudget,
    /// A segment was looked at.
    Looked {
        /// Which blocks.
        blocks: BlockRange,
        /// How many blocks of it were mended.
        mended: u64,
    },
    /// A suspicious range was collected again.
    Recollected {
        /// Which blocks.
        blocks: BlockRange,
        /// How many blocks of it were mended.
        mended: u64,
    },
    /// A suspicious range waits for an endpoint that was not heard, or for doubts to be settled.
    Waiting,
    /// Endpoints were asked again about doubtful blocks.
    AskedAgain {
        /// How many blocks.
        blocks: u64,
        /// How many of them were mended.
        mended: u64,
    },
}

/// The loop.
pub struct Verifier {
    chain: Arc<CollectedChain>,
    reader: CountedReader,
    budget: Budget,
    lease: Option<Lease>,
    /// Suspicious ranges are collected in pieces of so many blocks: fewer after each failure.
    piece_blocks: u64,
    /// Whether a suspicious range waits for an endpoint that was not heard.
    unheard: UnheardWait,
    /// Until when suspicious ranges wait: other work goes on.
    waits_until: Option<Instant>,
    /// Whether doubtful blocks were asked about in the last step.
    has_asked_again: bool,
    /// How many requests were used to mend: they are not of its share.
    free_requests: u64,
    /// How many steps in a row failed because of the endpoints.
    failures: u32,
    /// Whether the word of the only endpoint was taken in this step, for want of receipts.
    has_taken_lone_word: AtomicBool,
    /// When it last began to look again at what was not proven.
    looked_again: Option<Instant>,
    /// Whether the last suspicious range was told by one endpoint alone.
    was_alone: bool,
    /// Whether receipts of the chain have not hashed to the roots in their headers for long.
    ignores_receipts: AtomicBool,
    /// Which blocks are looked at is drawn from this.
    seed: u64,
    /// How much is looked at in this step.
    mode: VerifyMode,
}

/// What a step stands on.
struct Step {
    lease: Lease,
    plan: Plan,
    record: Verified,
}

impl Verifier {
    /// A verifier that has not begun.
    pub fn new(chain: Arc<CollectedChain>, seed: u64) -> Self {
        let (reader, budget) =
            (CountedReader::new(chain.reader.clone()), Budget::new(chain.options.verify.share_ppm));
        let mode = chain.options.verify.mode;
        Self {
            chain,
            reader,
            budget,
            lease: None,
            piece_blocks: u64::MAX,
            unheard: UnheardWait::default(),
            waits_until: None,
            has_asked_again: false,
            free_requests: 0,
            failures: 0,
            has_taken_lone_word: AtomicBool::new(false),
            looked_again: None,
            was_alone: false,
            ignores_receipts: AtomicBool::new(false),
            seed,
            mode,
        }
    }

    /// Steps until told to stop, then gives the lease back.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), CollectError> {
        let result = step_until(&mut self, &shutdown).await;
        self.release().await;
        result
    }

    /// Gives the lease back, so that another process need not wait for its end.
    pub async fn release(&mut self) {
        if let Some(lease) = self.lease.take()
            && let Err(error) = self.chain.store.release_lease(&lease).await
        {
            tracing::warn!(%error, "the lease on verification could not be given back and will run out");
        }
    }

    /// How many requests it has used.
    pub fn requests(&self) -> u64 {
        self.reader.count()
    }

    /// Whether everything is looked at because the only endpoint was proven to lie. That is not of the share
    /// of requests: what may be false is mended whatever that takes.
    fn is_lied_to(&self) -> bool {
        self.mode != self.chain.options.verify.mode
    }

    /// Everything is looked at where the only endpoint was proven to leave out logs, or to alter them: a
    /// sample would pass over most of what it left out elsewhere.
    fn mode_after(&self, doubts: &Doubts, record: &mut Verified) -> VerifyMode {
        let names = self.chain.reader.endpoint_names();
        let [name] = &names[..] else { return self.chain.options.verify.mode };
        // One that was taken out of the configuration since tells nothing any more.
        let is_its = |doubts: &Doubts| doubts.false_endpoints.iter().any(|one| one.endpoint == *name);
        if !is_its(doubts) && !is_its(&record.doubts) {
            return self.chain.options.verify.mode;
        }
        record.sampled = BlockSet::EMPTY;
        VerifyMode::Full
    }

    /// Does one unit of work.
    pub async fn step(&mut self) -> Result<VerifyStep, CollectError> {
        let chain = self.chain.clone();
        let options = &chain.options;
        if options.verify.mode == VerifyMode::Off || chain.halt().await?.is_some() {
            return Ok(VerifyStep::Idle);
        }
        let doubts = Doubts::read(&*chain.store, &chain.names.doubts).await?;
        let lease = chain.store.acquire_lease(&chain.names.verify, &options.owner, options.lease_ttl).await?;
        let Some(lease) = lease else { return Ok(VerifyStep::NotOurs) };
        self.lease = Some(lease.clone());
        let mut record = Verified::read(&*chain.store, &chain.names.verified).await?;
        if record.has_logs_outside_blooms {
            chain.has_logs_outside_blooms.store(true, Ordering::Relaxed);
        }
        let plan = ledger::plan(&*chain.store, &chain.names).await?;
        record.follow_plan(&plan);
        record.release_settled();
        record.suspect_ranges(&doubts.false_ranges);
        self.mode = self.mode_after(&doubts, &mut record);
        let looks_again = self.looked_again.is_none_or(|at| at.elapsed() >= UNPROVEN_PAUSE);
        if looks_again {
            record.unproven = BlockSet::EMPTY;
        }
        let work = match self.next_work(&plan, &record).await? {
            NextWork::Some(work) => work,
            NextWork::None => return Ok(VerifyStep::Idle),
            NextWork::OverBudget => return Ok(VerifyStep::OverBudget),
        };
        let before = self.reader.count();
        let done = self.work(Step { lease, plan, record }, work).await;
        let is_committed = matches!(
            done,
            Ok(VerifyStep::Looked { .. } | VerifyStep::Recollected { .. } | VerifyStep::AskedAgain { .. })
        );
        if is_committed && looks_again {
            self.looked_again = Some(Instant::now());
        }
        if work.is_free() || self.is_lied_to() {
            self.free_requests += self.reader.count().saturating_sub(before);
        }
        done
    }

    async fn work(&mut self, step: Step, work: Work) -> Result<VerifyStep, CollectError> {
        self.has_asked_again = matches!(work, Work::AskAgain(_));
        let done = match work {
            Work::AskAgain(blocks) => self.ask_again(step, blocks).await,
            Work::Recollect(blocks) => self.recollect(step, blocks).await,
            Work::Look(blocks) => self.look(step, blocks).await,
        };
        self.failures = if matches!(done, Err(CollectError::Chain(_))) { self.failures + 1 } else { 0 };
        // Who withholds an answer is asked for the same again, not for something else.
        if done.is_ok() {
            self.seed = sample::mixed(self.seed);
        }
        done
    }

    fn ignores_receipts(&self) -> bool {
        self.ignores_receipts.load(Ordering::Relaxed)
    }

    /// Whether endpoints have failed for long.
    const fn insists(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Blocks that endpoints do not answer about for long are passed over as doubtful: one of them
    /// holds up no other.
    const fn unanswered(&self) -> Unanswered {
        if self.insists() { Unanswered::Doubt } else { Unanswered::Fail }
    }

    /// What sorts the logs of every source that is collected at a block.
    async fn routing_at(&self, plan: &Plan, block: u64) -> Result<Option<Routing>, CollectError> {
        let begun = plan.collected().filter(|(_, source)| source.start <= block).map(|(id, _)| id);
        self.chain.routing(begun.collect::<Vec<_>>()).await
    }

    /// Asks about blocks again that are in doubt: those among these that are due.
    async fn ask_again(&mut self, mut step: Step, blocks: BlockRange) -> Result<VerifyStep, CollectError> {
        let Some(routing) = self.routing_at(&step.plan, blocks.from).await? else {
            return Ok(VerifyStep::Idle);
        };
        let (chain, doubts) = (self.chain.clone(), &mut step.record.doubts);
        let numbers = doubts.due_within(blocks, chain.store.now().await?);
        let mut resolver = BlockResolver::new(&chain, &self.reader, &routing, "verify").await?;
        let (writes, _) = resolver.resolve_all(&numbers, doubts, Unanswered::Postpone, Duration::MAX).await?;
        let mended = resolver.finish();
        self.commit(step, writes, mended).await?;
        Ok(VerifyStep::AskedAgain { blocks: numbers.len() as u64, mended })
    }

    /// Suspicious ranges wait for so long, within bounds. Other work goes on.
    fn wait(&mut self, pause: Duration) -> VerifyStep {
        self.waits_until = Some(Instant::now() + pause.clamp(SHORTEST_WAIT, LONGEST_WAIT));
        VerifyStep::Waiting
    }

    /// How long suspicious ranges still wait, if they do.
    fn waits_for(&self) -> Option<Duration> {
        let left = self.waits_until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Writes what was mended, and the record. Who mends excludes repairs for that moment; a
    /// rewind is excluded by the lease on verification.
    async fn commit(&self, step: Step, mut writes: Vec<Write>, mended: u64) -> Result<(), CollectError> {
        let Step { lease, mut record, .. } = step;
        let (store, options) = (&self.chain.store, &self.chain.options);
        record.mended += mended;
        record.has_logs_outside_blooms |= self.chain.has_logs_outside_blooms.load(Ordering::Relaxed);
        writes.push(record.write(&self.chain.names.verified)?);
        let commit = Commit::of(writes).under_lease(&lease).relaxed();
        if mended == 0 {
            store.commit(commit).await?;
            return Ok(());
        }
        // Looked at behind all else: what was found before may be of a chain that began anew.
        if !self.chain.has_last_stored_block().await? {
            let message = "nothing is mended while no endpoint has the last stored block";
            return Err(ChainError::new(ChainErrorKind::UnknownBlock, message).into());
        }
        let mend = store.acquire_lease(&self.chain.names.mend, &options.owner, options.lease_ttl).await?;
        let Some(mend) = mend else { return Err(CollectError::Mending { chain: options.chain }) };
        let done = store.commit(commit.under_lease(&mend)).await;
        store.release_lease(&mend).await?;
        done?;
        Ok(())
    }
}

impl Paced for Verifier {
    const WHAT: &'static str = "verifying";
    /// An endpoint may hang or limit its rate; whatever was not committed is looked at again.
    const STOPS_WITHIN: Option<Duration> = Some(Duration::from_secs(1));
    type Error = CollectError;

    async fn pace(&mut self) -> Result<Duration, CollectError> {
        Ok(match self.step().await? {
            VerifyStep::NotOurs | VerifyStep::Idle | VerifyStep::OverBudget => {
                let interval = self.chain.options.historical_interval;
                self.waits_for().map_or(interval, |left| interval.min(left))
            }
            _ => Duration::ZERO,
        })
    }

    fn retry(error: &CollectError) -> RetryAdvice {
        match error.retry_in_loop() {
            // Whatever it fails at, it does not end the loops beside it.
            RetryAdvice::Never => RetryAdvice::After(TROUBLE_PAUSE),
            RetryAdvice::After(pause) => RetryAdvice::After(pause.max(TROUBLE_PAUSE)),
        }
    }

    fn tell(&self, error: &CollectError, delay: Duration) {
        let chain = self.chain.options.chain;
        tracing::debug!(%chain, %error, ?delay, "a segment was not verified");
    }
}
