//! A second look at blocks once they are final: an endpoint may have had a block
//! before it had its logs. Where one endpoint's answer differs from what is stored, all
//! endpoints are asked about that block: what is proven is mended in one commit, what is not is
//! kept, reported and asked about again later.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;
use windlass_core::chain::BlockRef;
use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, LogFilter};

use super::{Followed, Follower, Step};
use crate::collect::compare;
use crate::collect::doubts::Doubts;
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::reread::{Reread, unknown_final};
use crate::collect::resolve::BlockResolver;
use crate::collect::routing::Routing;

/// At most this many blocks in one look.
const MAX_BLOCKS: u64 = 1_000;
/// A look that has found differences settles them for so long, then the head has its turn.
const SETTLE_TIME: Duration = Duration::from_secs(1);
/// At most this many blocks are mended in one look; the next one goes on.
const MAX_MENDED_BLOCKS: usize = 50;

impl Follower {
    pub(super) async fn recheck(&mut self, step: &Step) -> Result<Followed, CollectError> {
        let chain = self.chain.clone();
        let Some(done) = ledger::block(&*chain.store, &chain.names.recheck).await? else {
            return Ok(Followed::Idle);
        };
        if let Some(asked) = self.ask_again(step).await? {
            return Ok(asked);
        }
        let from = done.number + 1;
        let routing = self.routing_at(&step.plan, from).await?;
        // No more than the endpoint takes.
        let size = chain.reader.range_size(&routing.filter).min(self.look_blocks).clamp(1, MAX_BLOCKS);
        let to = step.sight.finalized.number.min(step.position.number).min(done.number + size);
        let to = self.before_campaigns(step, from, step.before_next_start(from, to)).await?;
        if to < from {
            return Ok(Followed::Idle);
        }
        let look = SecondLookKey { plan_version: step.plan.version, filter: routing.filter.clone() };
        let Some((blocks, answers)) = self.read_again(BlockRange { from, to }, look).await else {
            return Ok(Followed::Idle);
        };
        let read = answers.inspect_err(|_| {
            // Whatever the endpoint fails at, it may be less than that that it can do.
            self.look_blocks = (blocks.count() / 2).max(1);
        })?;
        if self.unheard.must_wait(&read) {
            tracing::debug!(error = ?read.unheard, %blocks, "a second look waits for an endpoint that was not heard");
            self.look_blocks = (blocks.count() / 2).max(1);
            return Ok(Followed::Idle);
        }
        self.look_blocks = self.look_blocks.saturating_mul(2);
        let to = blocks.to;
        let mut differing = BTreeSet::new();
        for logs in read.answers {
            let found = routing.sorted(&logs);
            let (store, id) = (&*chain.store, chain.options.chain);
            differing.extend(compare::differing_blocks(store, id, &routing, blocks, &found).await?);
        }
        // What is too much for one look is left to the next one.
        let next = differing.iter().nth(MAX_MENDED_BLOCKS).copied();
        let blocks = BlockRange { from, to: next.map_or(to, |next| next - 1) };
        differing.retain(|block| *block <= blocks.to);
        if !differing.is_empty() && Doubts::read(&*chain.store, &chain.names.doubts).await?.is_full() {
            // Whatever is found now could not be asked about again: it waits for those before it.
            return Ok(Followed::Idle);
        }
        let found = self.settle_differing(step, &routing, blocks, &differing).await?;
        let (mut writes, mended) = (found.writes, found.mended);
        let blocks = found.next.map_or(blocks, |next| BlockRange { from, to: next - 1 });
        let end = chain.reader.header(BlockTag::Number(blocks.to)).await?;
        let Some(end) = end else { return Ok(Followed::Idle) };
        // The chain may have been reorganised past what is final while it was looked at:
        // that is nothing to mend.
        if self.is_canonical(&step.position).await? != Some(true) {
            return Ok(Followed::Idle);
        }
        // What was mended may tell of contracts that nobody knew: then there is more to see.
        let tells_of_contracts = !chain.catalog.creations(step.plan.collected().map(|(id, _)| id)).is_empty();
        if mended == 0 || !tells_of_contracts {
            writes.extend(self.passed(end.block.block_ref()));
        }
        chain.store.commit(Commit::of(writes).under_lease(&step.lease).relaxed()).await?;
        Ok(Followed::Rechecked { blocks: blocks.count(), mended })
    }

    /// Reads final blocks again. In the loop that goes on beside the head, which waits for no
    /// endpoint: `None` until it is done. What was begun for fewer blocks is brought to its end.
    async fn read_again(
        &mut self,
        blocks: BlockRange,
        key: SecondLookKey,
    ) -> Option<(BlockRange, Result<Reread, ChainError>)> {
        let reader = self.chain.reader.clone();
        if !self.is_looping {
            return Some((blocks, Reread::ask(&*reader, blocks, &key.filter).await));
        }
        let is_current = |look: &SecondLook| {
            look.blocks.from == blocks.from && look.blocks.to <= blocks.to && look.key == key
        };
        match self.second_look.take().filter(is_current) {
            Some(look) if look.answer.is_finished() => {
                Some((look.blocks, look.answer.await.unwrap_or_else(|_| Err(unknown_final(blocks.from)))))
            }
            Some(look) => {
                self.second_look = Some(look);
                None
            }
            None => {
                let filter = key.filter.clone();
                let asked = tokio::spawn(async move { Reread::ask(&*reader, blocks, &filter).await });
                self.second_look = Some(SecondLook { blocks, key, answer: AbortOnDropHandle::new(asked) });
                None
            }
        }
    }

    /// The last block up to `to` that no campaign is still to store: what it has not
    /// stored yet is not missing.
    async fn before_campaigns(&self, step: &Step, from: u64, to: u64) -> Result<u64, CollectError> {
        let mut last = to;
        for campaign in &step.plan.campaigns {
            let overlaps = campaign.blocks.from <= last && campaign.blocks.to >= from;
            if overlaps && self.is_under_way(campaign).await? {
                last = campaign.blocks.from.max(from) - 1;
            }
        }
        Ok(last)
    }

    /// What is written when all is well up to a block.
    fn passed(&self, end: BlockRef) -> [Write; 2] {
        let (name, chain) = (self.chain.names.recheck.clone(), self.chain.options.chain);
        [
            Write::AdvanceCursor { name, to: ledger::at(end), rule: CursorRule::Identified },
            // The last final block stays: it is what a violation is told by.
            Write::ForgetBlocks { chain, below: end.number },
        ]
    }

    /// Asks all endpoints about blocks that one answered otherwise than they are stored.
    /// What is proven is mended; what is not is kept, and asked about again later.
    async fn settle_differing(
        &self,
        step: &Step,
        routing: &Routing,
        blocks: BlockRange,
        differing: &BTreeSet<u64>,
    ) -> Result<Settled, CollectError> {
        let mut settled = Settled { writes: Vec::new(), mended: 0, is_empty: true, next: None };
        if differing.is_empty() {
            return Ok(settled);
        }
        let chain = &*self.chain;
        let by = format!("mend-{}", step.lease.epoch.0);
        let mut resolver = BlockResolver::new(chain, &*chain.reader, routing, &by).await?;
        let mut doubts = Doubts::read(&*chain.store, &chain.names.doubts).await?;
        let began = Instant::now();
        for number in differing {
            // The head waits meanwhile: the rest is left to the next look.
            if self.is_looping && !settled.is_empty && began.elapsed() >= SETTLE_TIME {
                settled.next = Some(*number);
                break;
            }
            settled.writes.extend(resolver.resolve(*number, &mut doubts).await?);
            settled.is_empty = false;
        }
        if settled.next.is_none() {
            resolver.name_false_ranges(blocks, &mut doubts).await;
        }
        settled.mended = resolver.finish();
        settled.writes.push(doubts.write(&chain.names.doubts)?);
        Ok(settled)
    }

    /// Asks about a block again that nobody could tell about; `None` when none is due.
    async fn ask_again(&mut self, step: &Step) -> Result<Option<Followed>, CollectError> {
        let chain = self.chain.clone();
        let mut doubts = Doubts::read(&*chain.store, &chain.names.doubts).await?;
        let now = chain.store.now().await?;
        let Some(number) = doubts.due(now) else { return Ok(None) };
        let routing = self.routing_at(&step.plan, number).await?;
        let by = format!("mend-{}", step.lease.epoch.0);
        let mut resolver = BlockResolver::new(&chain, &*chain.reader, &routing, &by).await?;
        let mut writes = match resolver.resolve(number, &mut doubts).await {
            // One block holds up no other: it is asked about later.
            Err(CollectError::Chain(_)) => {
                doubts.postpone(number, now);
                Vec::new()
            }
            resolved => resolved?,
        };
        let mended = resolver.finish();
        writes.push(doubts.write(&chain.names.doubts)?);
        if self.is_canonical(&step.position).await? != Some(true) {
            return Ok(Some(Followed::Idle));
        }
        chain.store.commit(Commit::of(writes).under_lease(&step.lease).relaxed()).await?;
        Ok(Some(Followed::Rechecked { blocks: 1, mended }))
    }
}

/// What became of blocks that differ.
struct Settled {
    writes: Vec<Write>,
    mended: u64,
    /// Whether none was settled yet.
    is_empty: bool,
    /// The first that was not settled for want of time.
    next: Option<u64>,
}

/// Final blocks that are being read again.
pub(super) struct SecondLook {
    blocks: BlockRange,
    key: SecondLookKey,
    answer: AbortOnDropHandle<Result<Reread, ChainError>>,
}

/// What a second look was begun for.
#[derive(PartialEq, Eq)]
struct SecondLookKey {
    plan_version: u64,
    filter: LogFilter,
}
