//! One second look at final blocks: what endpoints say about them now, compared with what is
//! stored, and what is to be written about it.
//!
//! It asks every endpoint and may wait for the slowest of them, so the follower runs it beside
//! the head. Invariant: it writes nothing. The follower commits what it found, under the lease
//! that it was begun under; for another lease or another plan it is begun anew.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::commit::Write;
use windlass_core::lease::Lease;
use windlass_core::range::BlockRange;

use crate::collect::chain::CollectedChain;
use crate::collect::compare;
use crate::collect::doubts::Doubts;
use crate::collect::error::CollectError;
use crate::collect::reread::{MAX_UNHEARD_TIME, Reread, UnheardWait};
use crate::collect::resolve::{BlockResolver, Unanswered};
use crate::collect::routing::Routing;

/// Differences are settled for so long; the rest is left to the next look, so that a process
/// which dies has not settled them for nothing.
const SETTLE_TIME: Duration = Duration::from_secs(5);
/// At most this many blocks are mended in one look; the next one goes on.
const MAX_MENDED_BLOCKS: usize = 50;

/// Which blocks are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// The next ones that have become final.
    Blocks(BlockRange),
    /// Those among these that were in doubt before, and are due.
    Doubtful(BlockRange),
}

/// A look, ready to be run.
#[derive(Clone)]
pub(super) struct SecondLook {
    pub(super) chain: Arc<CollectedChain>,
    pub(super) lease: Lease,
    pub(super) plan_version: u64,
    pub(super) target: Target,
    pub(super) routing: Arc<Routing>,
    pub(super) unheard: UnheardWait,
    /// Whether blocks that endpoints do not answer about are passed over as doubtful.
    pub(super) insists: bool,
}

/// What a look has found.
pub(super) struct Findings {
    /// Up to where blocks are done with; `None` where the look has to be repeated.
    pub(super) done: Option<u64>,
    /// How many blocks were looked at.
    pub(super) looked: u64,
    /// Whether more than one endpoint was heard.
    pub(super) is_compared: bool,
    pub(super) writes: Vec<Write>,
    pub(super) mended: u64,
    /// Whether it waits for an endpoint that was not heard.
    pub(super) is_waiting: bool,
    pub(super) unheard: UnheardWait,
}

impl SecondLook {
    /// Looks. What cannot be settled goes to the doubts, which are among the writes.
    pub(super) async fn run(self) -> Result<Findings, CollectError> {
        match self.target {
            Target::Blocks(blocks) => self.look_at(blocks).await,
            Target::Doubtful(blocks) => self.ask_again(blocks).await,
        }
    }

    async fn look_at(mut self, blocks: BlockRange) -> Result<Findings, CollectError> {
        let (store, id) = (&*self.chain.store, self.chain.options.chain);
        let read = Reread::ask(&*self.chain.reader, blocks, &self.routing.filter).await?;
        if self.unheard.must_wait(read.unheard.is_some(), MAX_UNHEARD_TIME) {
            tracing::debug!(error = ?read.unheard, %blocks, "a second look waits for an endpoint that was not heard");
            return Ok(Findings { is_waiting: true, ..self.nothing() });
        }
        let is_compared = read.answers.len() > 1;
        let mut differing = BTreeSet::new();
        for logs in &read.answers {
            let found = self.routing.sorted(logs);
            differing.extend(compare::differing_blocks(store, id, &self.routing, blocks, &found).await?);
        }
        if differing.is_empty() {
            let (done, looked) = (Some(blocks.to), blocks.count());
            return Ok(Findings { done, looked, is_compared, ..self.nothing() });
        }
        let doubts = Doubts::read(store, &self.chain.names.doubts).await?;
        // What is too much for one look, or could not be asked about again, is left to the next one.
        let next = differing.iter().nth(MAX_MENDED_BLOCKS.min(doubts.room())).copied();
        if next == Some(blocks.from) {
            return Ok(self.nothing());
        }
        let blocks = BlockRange { to: next.map_or(blocks.to, |next| next - 1), ..blocks };
        differing.retain(|block| *block <= blocks.to);
        let settled = self.settle(blocks, &differing, doubts).await?;
        Ok(Findings { is_compared, ..settled })
    }

    /// Asks all endpoints about blocks that one answered otherwise than they are stored.
    /// What is proven is mended; what is not is kept, and asked about again later.
    async fn settle(
        self,
        blocks: BlockRange,
        differing: &BTreeSet<u64>,
        mut doubts: Doubts,
    ) -> Result<Findings, CollectError> {
        let chain = &*self.chain;
        let mut resolver = self.resolver().await?;
        let numbers: Vec<u64> = differing.iter().copied().collect();
        let unanswered = if self.insists { Unanswered::Doubt } else { Unanswered::Fail };
        let (mut writes, left) = resolver.resolve_all(&numbers, &mut doubts, unanswered, SETTLE_TIME).await?;
        if left.is_none() {
            resolver.name_false_ranges(blocks, &mut doubts).await;
        }
        let mended = resolver.finish();
        writes.push(doubts.write(&chain.names.doubts)?);
        let done = BlockRange { to: left.map_or(blocks.to, |left| left - 1), ..blocks };
        Ok(Findings { done: Some(done.to), looked: done.count(), writes, mended, ..self.nothing() })
    }

    /// Asks about blocks again that nobody could tell about.
    async fn ask_again(self, blocks: BlockRange) -> Result<Findings, CollectError> {
        let chain = &*self.chain;
        let mut doubts = Doubts::read(&*chain.store, &chain.names.doubts).await?;
        let numbers = doubts.due_within(blocks, chain.store.now().await?);
        let mut resolver = self.resolver().await?;
        let (mut writes, left) =
            resolver.resolve_all(&numbers, &mut doubts, Unanswered::Postpone, SETTLE_TIME).await?;
        let mended = resolver.finish();
        writes.push(doubts.write(&chain.names.doubts)?);
        let looked = numbers.iter().filter(|number| left.is_none_or(|left| **number < left)).count() as u64;
        let done = numbers.last().copied();
        Ok(Findings { done, looked, writes, mended, ..self.nothing() })
    }

    async fn resolver(&self) -> Result<BlockResolver<'_>, CollectError> {
        let by = format!("mend-{}", self.lease.epoch.0);
        BlockResolver::new(&self.chain, &*self.chain.reader, &self.routing, &by).await
    }

    fn nothing(&self) -> Findings {
        Findings {
            done: None,
            looked: 0,
            is_compared: false,
            writes: Vec::new(),
            mended: 0,
            is_waiting: false,
            unheard: self.unheard,
        }
    }
}
