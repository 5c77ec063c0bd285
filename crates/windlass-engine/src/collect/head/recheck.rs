//! A second look at blocks once they are final: an endpoint may have had a block before it had
//! its logs. Where one endpoint's answer differs from what is stored, all endpoints are asked
//! about that block: what is proven is mended in one commit, what is not is kept, reported and
//! asked about again later.
//!
//! In the loop a look goes on beside the head, which waits for no endpoint; a step starts it, and
//! a later one commits what it found.

use tokio_util::task::AbortOnDropHandle;
use windlass_core::block_set::BlockSet;
use windlass_core::chain::BlockRef;
use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};

use super::second_look::{Findings, SecondLook, Target};
use super::{Followed, Follower, Step};
use crate::collect::doubts::Doubts;
use crate::collect::error::CollectError;
use crate::collect::ledger;

/// At most this many blocks in one look.
const MAX_BLOCKS: u64 = 1_000;
/// Which blocks were compared is kept in so many ranges at most.
const MAX_COMPARED_RANGES: usize = 1_000;
/// After so many looks in a row that failed, a block that no endpoint answers about is doubtful.
const MAX_LOOK_FAILURES: u32 = 10;

/// A look that is under way beside the head.
pub(super) struct RunningLook {
    look: SecondLook,
    findings: AbortOnDropHandle<Result<Findings, CollectError>>,
}

impl RunningLook {
    /// Whether what it will find can still be committed.
    fn is_current(&self, step: &Step, rechecked: BlockRef) -> bool {
        let is_next = match self.look.target {
            Target::Blocks(blocks) => blocks.from == rechecked.number + 1,
            Target::Doubtful(_) => true,
        };
        is_next && self.look.plan_version == step.plan.version && self.look.lease.epoch == step.lease.epoch
    }
}

impl Follower {
    pub(super) async fn recheck(&mut self, step: &Step) -> Result<Followed, CollectError> {
        let names = &self.chain.names;
        let Some(rechecked) = ledger::block(&*self.chain.store, &names.recheck).await? else {
            return Ok(Followed::Idle);
        };
        let running = self.running_look.take().filter(|running| running.is_current(step, rechecked));
        let (look, findings) = match running {
            Some(running) if !running.findings.is_finished() => {
                self.running_look = Some(running);
                return Ok(Followed::Idle);
            }
            Some(running) => {
                let findings = running.findings.await.unwrap_or_else(|_| Err(interrupted().into()));
                (running.look, findings)
            }
            None => {
                let Some(look) = self.next_look_at(step, rechecked).await? else {
                    return Ok(Followed::Idle);
                };
                if self.is_looping {
                    let findings = AbortOnDropHandle::new(tokio::spawn(look.clone().run()));
                    self.running_look = Some(RunningLook { look, findings });
                    return Ok(Followed::Idle);
                }
                let findings = look.clone().run().await;
                (look, findings)
            }
        };
        self.conclude_look(step, look.target, findings).await
    }

    /// What is looked at next, in turn: blocks in doubt that are due, and blocks that have become
    /// final. Neither holds up the other.
    async fn next_look_at(
        &mut self,
        step: &Step,
        rechecked: BlockRef,
    ) -> Result<Option<SecondLook>, CollectError> {
        let chain = self.chain.clone();
        let next = self.next_final(step, rechecked).await?;
        let is_turn_of_doubts = next.is_none() || !self.has_asked_again;
        let doubtful = self.next_doubtful(step).await?.filter(|_| is_turn_of_doubts);
        self.has_asked_again = doubtful.is_some();
        let (from, target) = match (doubtful, next) {
            (Some(alike), _) => (alike.from, Target::Doubtful(alike)),
            (None, Some(blocks)) => (blocks.from, Target::Blocks(blocks)),
            (None, None) => return Ok(None),
        };
        let routing = self.routing_at(&step.plan, from).await?;
        let (lease, plan_version) = (step.lease.clone(), step.plan.version);
        let (unheard, insists) = (self.unheard, self.look_failures >= MAX_LOOK_FAILURES);
        Ok(Some(SecondLook { chain, lease, plan_version, target, routing, unheard, insists }))
    }

    /// Where the blocks in doubt are that are asked about next: they have the same sources.
    async fn next_doubtful(&self, step: &Step) -> Result<Option<BlockRange>, CollectError> {
        let (store, names) = (&*self.chain.store, &self.chain.names);
        let due = Doubts::read(store, &names.doubts).await?.due(store.now().await?);
        Ok(due.map(|from| BlockRange { from, to: step.before_next_start(from, u64::MAX) }))
    }

    /// The next blocks that have become final, no more than the endpoint takes.
    async fn next_final(
        &mut self,
        step: &Step,
        rechecked: BlockRef,
    ) -> Result<Option<BlockRange>, CollectError> {
        let from = rechecked.number + 1;
        let last = step.sight.finalized.number.min(step.position.number);
        if last < from {
            return Ok(None);
        }
        let routing = self.routing_at(&step.plan, from).await?;
        let size = self.chain.reader.range_size(&routing.filter).min(self.look_blocks).clamp(1, MAX_BLOCKS);
        let to = last.min(rechecked.number + size);
        let to = self.before_campaigns(step, from, step.before_next_start(from, to)).await?;
        Ok((to >= from).then_some(BlockRange { from, to }))
    }

    /// Commits what a look has found.
    async fn conclude_look(
        &mut self,
        step: &Step,
        target: Target,
        findings: Result<Findings, CollectError>,
    ) -> Result<Followed, CollectError> {
        if let Target::Blocks(blocks) = target {
            // Whatever endpoints fail at, it may be less than that that they can do.
            let has_failed = findings.as_ref().map_or(true, |findings| findings.is_waiting);
            let fewer = (blocks.count() / 2).max(1);
            self.look_blocks = if has_failed { fewer } else { self.look_blocks.saturating_mul(2) };
            self.look_failures = if findings.is_err() { self.look_failures + 1 } else { 0 };
        }
        let Findings { done, looked, is_compared, mut writes, mended, unheard, .. } = findings?;
        self.unheard = unheard;
        let Some(done) = done else { return Ok(Followed::Idle) };
        let chain = self.chain.clone();
        // What was mended may tell of contracts that nobody knew: then there is more to see.
        let tells_of_contracts = !chain.catalog.creations(step.plan.collected().map(|(id, _)| id)).is_empty();
        if let Target::Blocks(BlockRange { from, .. }) = target
            && (mended == 0 || !tells_of_contracts)
        {
            let end = chain.reader.header(BlockTag::Number(done)).await?;
            let Some(end) = end else { return Ok(Followed::Idle) };
            writes.push(self.compared(BlockRange { from, to: done }, is_compared).await?);
            writes.extend(self.passed(end.block.block_ref()));
        }
        // The chain may have been reorganised past what is final while it was looked at:
        // that is nothing to mend.
        if self.is_canonical(&step.position).await? != Some(true) {
            return Ok(Followed::Idle);
        }
        chain.store.commit(Commit::of(writes).under_lease(&step.lease).relaxed()).await?;
        Ok(Followed::Rechecked { blocks: looked, mended })
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

    /// What says which blocks were held against more than one endpoint.
    async fn compared(&self, blocks: BlockRange, is_compared: bool) -> Result<Write, CollectError> {
        let key = &self.chain.names.compared;
        let mut compared: BlockSet = ledger::read(&*self.chain.store, key).await?.unwrap_or_default();
        if is_compared {
            compared.insert(blocks);
        } else {
            compared.remove(blocks);
        }
        compared.keep_largest(MAX_COMPARED_RANGES);
        let text = serde_json::to_string(&compared).map_err(|error| CollectError::strange(key, error))?;
        Ok(Write::PutState { key: key.clone(), value: Some(text) })
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
}

fn interrupted() -> ChainError {
    ChainError::new(ChainErrorKind::Unreachable, "a second look was interrupted")
}
