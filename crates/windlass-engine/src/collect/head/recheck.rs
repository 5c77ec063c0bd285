//! A second look at blocks once they are final: an endpoint may have had a block
//! before it had its logs. What differs is asked for block by block, checked
//! against its header, and mended in one commit.

use std::collections::BTreeSet;

use windlass_core::chain::BlockRef;
use windlass_core::commit::{Commit, Write};
use windlass_core::cursor::CursorRule;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, LogSpan};

use super::{Followed, Follower, Step};
use crate::collect::compare;
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::mend::Mend;
use crate::collect::routing::Routing;

/// At most this many blocks in one look.
const MAX_BLOCKS: u64 = 1_000;
/// At most this many blocks are mended in one look; the next one goes on.
const MAX_MENDED_BLOCKS: usize = 50;

impl Follower {
    pub(super) async fn recheck(&mut self, step: &Step) -> Result<Followed, CollectError> {
        let chain = self.chain.clone();
        let Some(done) = ledger::block(&*chain.store, &chain.names.recheck).await? else {
            return Ok(Followed::Idle);
        };
        let from = done.number + 1;
        let routing = self.routing_at(&step.plan, from).await?;
        // No more than the endpoint takes.
        let size = chain.reader.range_size(&routing.filter).min(self.look_blocks).clamp(1, MAX_BLOCKS);
        let to = step.sight.finalized.number.min(step.position.number).min(done.number + size);
        let to = self.before_campaigns(step, from, step.before_next_start(from, to)).await?;
        if to < from {
            return Ok(Followed::Idle);
        }
        let blocks = BlockRange { from, to };
        let logs = self.logs_again(blocks, &routing).await.inspect_err(|_| {
            // Whatever the endpoint fails at, it may be less than that that it can do.
            self.look_blocks = (blocks.count() / 2).max(1);
        })?;
        self.look_blocks = self.look_blocks.saturating_mul(2);
        let found = routing.sorted(&logs);
        let mut differing =
            compare::differing_blocks(&*chain.store, chain.options.chain, &routing, blocks, &found).await?;
        // What is too much for one look is left to the next one.
        let next = differing.iter().nth(MAX_MENDED_BLOCKS).copied();
        let blocks = BlockRange { from, to: next.map_or(to, |next| next - 1) };
        differing.retain(|block| *block <= blocks.to);
        let end = chain.reader.header(BlockTag::Number(blocks.to)).await?;
        let Some(end) = end else { return Ok(Followed::Idle) };
        let (mut writes, mended) = self.mend(step, &routing, &differing).await?;
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

    /// The logs of some blocks. One that is too large for a range of its own was had by its
    /// hash before.
    async fn logs_again(&self, blocks: BlockRange, routing: &Routing) -> Result<Vec<LogEvent>, ChainError> {
        let reader = &*self.chain.reader;
        match reader.logs(LogSpan::Range(blocks), &routing.filter).await {
            Err(ChainError { kind: ChainErrorKind::RangeTooLarge { .. }, .. }) if blocks.count() == 1 => {
                let header = reader.header(BlockTag::Number(blocks.from)).await?;
                let header = header.ok_or_else(|| unknown(blocks.from))?;
                reader.block_logs(&header, &routing.filter).await
            }
            answer => answer,
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

    /// Collects blocks anew, each checked against its header; says how many it was
    /// right to doubt.
    async fn mend(
        &self,
        step: &Step,
        routing: &Routing,
        blocks: &BTreeSet<u64>,
    ) -> Result<(Vec<Write>, u64), CollectError> {
        let (mut writes, mut mended) = (Vec::new(), 0);
        let mend = Mend::new(&self.chain, routing, &format!("mend-{}", step.lease.epoch.0)).await?;
        for number in blocks {
            let header = self.chain.reader.header(BlockTag::Number(*number)).await?;
            let header = header.ok_or_else(|| unknown(*number))?;
            let logs = self.chain.reader.block_logs(&header, &routing.filter).await?;
            let sorted = routing.sorted(&logs);
            let span = BlockRange { from: *number, to: *number };
            if compare::differing_blocks(&*self.chain.store, self.chain.options.chain, routing, span, &sorted)
                .await?
                .is_empty()
            {
                continue;
            }
            tracing::warn!(chain = %self.chain.options.chain, block = number, "a block was not complete and is mended");
            writes.extend(mend.block(header.block.block_ref(), sorted).await?);
            mended += 1;
        }
        Ok((writes, mended))
    }
}

fn unknown(number: u64) -> ChainError {
    let told = format!("the endpoint does not know block {number}, which is final");
    ChainError::new(ChainErrorKind::UnknownBlock, told)
}
