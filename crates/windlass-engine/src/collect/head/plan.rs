//! Makes the chain's plan, and changes it when something else is wanted.

use windlass_core::chain::BlockRef;
use windlass_core::commit::{Commit, Write};
use windlass_core::lease::Lease;
use windlass_core::plan::{Campaign, Plan, Standing};
use windlass_core::reader::BlockTag;

use super::{Followed, Follower, Step};
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::sight::Sight;

/// So many blocks below the head's first one are looked at again: those that a
/// lagging endpoint may not have had yet when their campaign went over them.
const RECHECK_BELOW_BLOCKS: u64 = 256;

/// So often endpoints must have both ends of what is left to a campaign.
const JUMP_ROUNDS: u32 = 3;

impl Follower {
    /// The very first step: the head goes on from the last final block, campaigns
    /// take care of what lies below.
    pub(super) async fn begin(
        &self,
        lease: &Lease,
        sight: &Sight,
        plan: &Plan,
    ) -> Result<Followed, CollectError> {
        let (names, finalized) = (&self.chain.names, sight.finalized.block_ref());
        let standing = Standing { head: finalized.number, settled: finalized.number, ..Standing::default() };
        let new = plan.replan(&self.chain.wanted(plan).await?, &standing);
        let recheck_from = self.recheck_from(finalized, first_block(&new.campaigns)).await?;
        let mut writes = ledger::change(names, (plan, &new), &standing.next_blocks)?;
        writes.extend([
            Write::SeedCursor { name: names.head.clone(), start: ledger::at(finalized) },
            Write::SeedCursor { name: names.recheck.clone(), start: ledger::at(recheck_from) },
            Write::Blocks { chain: self.chain.options.chain, headers: vec![sight.finalized] },
        ]);
        self.chain.store.commit(Commit::of(writes).under_lease(lease)).await?;
        Ok(Followed::Planned)
    }

    /// Changes the plan if something else is wanted.
    pub(super) async fn replan(&self, step: &Step) -> Result<Option<Followed>, CollectError> {
        if step.is_confirmed {
            self.go_on(step).await?;
        }
        let wanted = self.chain.wanted(&step.plan).await?;
        if !step.plan.serves(&wanted) {
            let mut standing = self.standing(step).await?;
            // Behind the cursors: a range that is claimed after they were read refuses the
            // commit, one that was claimed before is seen here.
            standing.open = ledger::open_blocks(&*self.chain.store, &self.chain.names, &step.plan).await?;
            let new = step.plan.replan(&wanted, &standing);
            let mut writes = ledger::change(&self.chain.names, (&step.plan, &new), &standing.next_blocks)?;
            writes.extend(self.look_back(step, &new).await?);
            self.chain.store.commit(Commit::of(writes).under_lease(&step.lease)).await?;
            return Ok(Some(Followed::Planned));
        }
        Ok(None)
    }

    /// Takes the second look back for whoever joins below it: it has the same margin as
    /// those who were there from the beginning.
    async fn look_back(&self, step: &Step, new: &Plan) -> Result<Option<Write>, CollectError> {
        let newest = step.sight.finalized.block_ref();
        let newest = if newest.number > step.position.number { step.position } else { newest };
        let below = newest.number.saturating_sub(RECHECK_BELOW_BLOCKS);
        let added = new.campaigns.iter().filter(|campaign| campaign.id >= step.plan.next_campaign);
        let joins = added.clone().map(|campaign| campaign.blocks.to).max().is_some_and(|to| to > below);
        let name = self.chain.names.recheck.clone();
        let done = ledger::block(&*self.chain.store, &name).await?;
        let Some(done) = done.filter(|done| joins && done.number > below) else { return Ok(None) };
        let to = self.recheck_from(newest, first_block(added)).await?;
        let (expected, to) = (ledger::at(done), ledger::at(to));
        Ok(Some(Write::ResetCursor { name, expected, to }))
    }

    /// Takes a campaign that is over out of the plan.
    pub(super) async fn retire(&self, step: &Step) -> Result<Option<Followed>, CollectError> {
        for campaign in &step.plan.campaigns {
            // A range may have been stored after the chain was replaced: while the plan has its
            // campaign, a rewind collects it anew.
            if self.is_over(campaign).await? && self.is_canonical(&step.position).await? == Some(true) {
                let new = step.plan.without(campaign.id);
                let queue = self.chain.names.campaign_queue(campaign.id)?;
                let writes = vec![Write::DropQueue(queue), ledger::put_plan(&self.chain.names, &new)?];
                self.chain.store.commit(Commit::of(writes).under_lease(&step.lease)).await?;
                return Ok(Some(Followed::Planned));
            }
        }
        Ok(None)
    }

    /// Leaves what lies between the position and the last final block to a campaign.
    pub(super) async fn jump(&self, step: &Step) -> Result<Followed, CollectError> {
        let (names, finalized) = (&self.chain.names, step.sight.finalized.block_ref());
        // The blocks in between are not followed one by one: an endpoint that has served another
        // chain for a moment would have led away from what is stored.
        for _ in 0..JUMP_ROUNDS {
            let found = self.chain.reader.header(BlockTag::Number(finalized.number)).await?;
            let is_there = found.is_some_and(|header| header.block.hash == finalized.hash);
            if !is_there || self.is_canonical(&step.position).await? != Some(true) {
                return Ok(Followed::Idle);
            }
        }
        let standing = self.standing(step).await?;
        let new = step.plan.jump(&standing, finalized.number);
        let mut writes = ledger::change(names, (&step.plan, &new), &standing.next_blocks)?;
        writes.extend([
            Write::ResetCursor {
                name: names.head.clone(),
                expected: ledger::at(step.position),
                to: ledger::at(finalized),
            },
            Write::Blocks { chain: self.chain.options.chain, headers: vec![step.sight.finalized] },
            self.seen(step)?,
        ]);
        self.chain.store.commit(Commit::of(writes).under_lease(&step.lease)).await?;
        Ok(Followed::Jumped { blocks: finalized.number - step.position.number })
    }

    async fn standing(&self, step: &Step) -> Result<Standing, CollectError> {
        let next_blocks = ledger::next_blocks(&*self.chain.store, &self.chain.names, &step.plan).await?;
        let rechecked = ledger::block(&*self.chain.store, &self.chain.names.recheck).await?;
        // It never ran past what was final, whatever an endpoint says today.
        let settled = rechecked.map_or(0, |block| block.number);
        let unknown_from = self.chain.unknown_from(&step.plan);
        let head = step.position.number;
        Ok(Standing { head, settled, next_blocks, unknown_from, ..Standing::default() })
    }

    /// Whether a campaign has ranges that nobody has claimed, or that somebody is at.
    pub(super) async fn is_under_way(&self, campaign: &Campaign) -> Result<bool, CollectError> {
        Ok(self.left_of(campaign).await?.is_none_or(|left| left.open > 0))
    }

    /// Whether all of a campaign's ranges were claimed and none is open or was given up.
    async fn is_over(&self, campaign: &Campaign) -> Result<bool, CollectError> {
        Ok(self.left_of(campaign).await?.is_some_and(|left| left.open + left.dead == 0))
    }

    /// The ranges of a campaign that are not done; `None` while some were not even claimed.
    pub(super) async fn left_of(&self, campaign: &Campaign) -> Result<Option<Left>, CollectError> {
        let cursor = self.chain.store.cursor(&self.chain.names.campaign_cursor(campaign.id)?).await?;
        let next = cursor.and_then(|cursor| u64::try_from(cursor.primary()).ok());
        if next.is_none_or(|next| next <= campaign.blocks.to) {
            return Ok(None);
        }
        let queue = self.chain.names.campaign_queue(campaign.id)?;
        let counts = self.chain.store.count_jobs().await?;
        let left = counts.iter().find(|counts| counts.queue == queue);
        Ok(Some(left.map_or(Left::default(), |counts| Left { open: counts.open, dead: counts.dead })))
    }

    /// Up to where nothing is looked at again: so many blocks below the newest, and not below
    /// those that are collected. A chain, or its endpoints, may have no blocks before them.
    async fn recheck_from(&self, newest: BlockRef, first: Option<u64>) -> Result<BlockRef, CollectError> {
        let below = newest.number.saturating_sub(RECHECK_BELOW_BLOCKS);
        let below = first.map_or(below, |first| below.max(first.saturating_sub(1)));
        for number in (below..newest.number).take(2) {
            // An endpoint that has forgotten it may say so in an error.
            if let Ok(Some(found)) = self.chain.reader.header(BlockTag::Number(number)).await {
                return Ok(found.block.block_ref());
            }
        }
        Ok(newest)
    }
}

/// The lowest block of campaigns.
fn first_block<'a>(campaigns: impl IntoIterator<Item = &'a Campaign>) -> Option<u64> {
    campaigns.into_iter().map(|campaign| campaign.blocks.from).min()
}

/// Ranges that are not done.
#[derive(Default)]
pub(super) struct Left {
    pub(super) open: u64,
    pub(super) dead: u64,
}
