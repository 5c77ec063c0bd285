//! Looks at the chain: its newest block, and whether it still has the last stored one.

use std::time::Duration;

use tokio::time::Instant;
use windlass_core::chain::BlockRef;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, Header};

use super::poll::{Poll, poll_finality};
use super::read_ahead::Link;
use super::{Follower, Look};
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::rewind_target::StoredBlocks;
use crate::collect::sight::{KnownFinal, Sight};

/// So many block times, and no less than this, a shorter branch is waited for to catch up with
/// what is stored before it is followed.
const LEFT_BLOCKS: u32 = 5;
const MIN_LEFT: Duration = Duration::from_secs(10);

impl Follower {
    /// Looks at the chain, or at what was seen of it last.
    pub(super) async fn look(&mut self, look: Look) -> Result<(Sight, Header), CollectError> {
        let known_final = match (look, &self.seen) {
            (Look::Nothing, Some(seen)) => return Ok(seen.clone()),
            (Look::Newest, Some((sight, _))) => KnownFinal::Enough(sight.finalized),
            (_, Some((sight, _))) => KnownFinal::Last(Some(sight.finalized)),
            (_, None) => {
                let stored: Option<Sight> = ledger::read(&*self.chain.store, &self.chain.names.sight).await?;
                match stored {
                    // An endpoint that hangs does not hold up a restart: the loop looks at what is
                    // final beside the head.
                    Some(sight) if self.is_looping => KnownFinal::Enough(sight.finalized),
                    Some(sight) => KnownFinal::Last(Some(sight.finalized)),
                    None => KnownFinal::First,
                }
            }
        };
        let mut seen = match self.poll.take() {
            Some(poll) => poll.answer.await.unwrap_or_else(|_| Err(interrupted()))?,
            None => {
                self.polls.start(Instant::now());
                if !matches!(known_final, KnownFinal::Enough(_)) {
                    self.polls.start_finality(Instant::now());
                }
                self.chain.look(known_final).await?
            }
        };
        if let (KnownFinal::Enough(_), Some((known, _))) = (known_final, &self.seen) {
            // More may have become final since the poll began.
            seen.0.finalized = known.finalized;
        }
        self.polls.seen(&seen.0, Instant::now());
        self.seen = Some(seen.clone());
        Ok(seen)
    }

    /// Starts the next poll, when it is due.
    pub(super) fn poll_next(&mut self) {
        if self.poll.is_some() || self.lease.is_none() {
            return;
        }
        let Some((sight, _)) = &self.seen else { return };
        let starts = self.polls.due(Instant::now());
        self.polls.start(starts);
        self.poll = Some(Poll::start(self.chain.clone(), starts, sight.finalized));
    }

    /// Takes what a look at finality has found, and starts the next one when it is due.
    pub(super) async fn follow_finality(&mut self) {
        if let Some(poll) = self.finality_poll.take_if(|poll| poll.is_finished()) {
            match poll.await.unwrap_or_else(|_| Err(interrupted())) {
                Ok(finalized) => {
                    if let Some((sight, _)) = &mut self.seen {
                        sight.finalized = finalized;
                    }
                    self.has_chores = true;
                }
                Err(error) => {
                    let chain = self.chain.options.chain;
                    tracing::debug!(%chain, %error, "the last final block was not found");
                }
            }
        }
        let now = Instant::now();
        let is_due = self.finality_poll.is_none() && self.lease.is_some() && self.polls.wants_finality(now);
        if let Some((sight, newest)) = self.seen.as_ref().filter(|_| is_due) {
            self.polls.start_finality(now);
            self.finality_poll = Some(poll_finality(self.chain.clone(), newest.clone(), sight.finalized));
        }
    }

    /// Reads the headers of the next blocks, and so finds out whether the chain still has the
    /// last stored block; `None` if that cannot be told. Far behind, that alone is asked.
    pub(super) async fn find_next(
        &mut self,
        position: BlockRef,
        newest: &Header,
        is_far: bool,
    ) -> Result<(Option<bool>, Option<ChainError>), CollectError> {
        if newest.block.block_ref() == position {
            return Ok((Some(true), None));
        }
        if is_far || newest.block.number <= position.number {
            return Ok((self.is_canonical(&position).await?, None));
        }
        let max_blocks = u64::from(self.chain.options.max_blocks_per_step);
        let reader = self.chain.reader.clone();
        let (link, error) = self.read_ahead.read_headers(&*reader, position, newest, max_blocks).await;
        match link {
            Link::Follows => Ok((Some(true), error)),
            Link::Nothing => Err(error.unwrap_or_else(|| lacks_next(position, newest)).into()),
            Link::Broken => match self.is_canonical(&position).await? {
                Some(true) => match self.next_from_each(position).await {
                    Some(next) => {
                        self.read_ahead.restart(next);
                        Ok((Some(true), None))
                    }
                    None => Err(does_not_follow(position).into()),
                },
                found => Ok((found, None)),
            },
        }
    }

    /// The block after the last stored one from an endpoint that has it, when the block that was
    /// read names another parent: one endpoint's unlinked header does not hold up the others.
    async fn next_from_each(&self, position: BlockRef) -> Option<Header> {
        let answers = self.chain.reader.header_from_each(BlockTag::Number(position.number + 1)).await;
        let headers = answers.into_iter().filter_map(|one| one.answer.ok().flatten());
        let following: Vec<Header> = headers.filter(|header| header.block.follows(&position)).collect();
        // Endpoints that agree come before one whose header is its own.
        let backers =
            |header: &Header| following.iter().filter(|other| other.block.hash == header.block.hash).count();
        following.iter().max_by_key(|header| backers(header)).cloned()
    }

    /// Whether the chain still has the last stored block; `None` from a node that does
    /// not know that height.
    pub(super) async fn is_canonical(&self, position: &BlockRef) -> Result<Option<bool>, CollectError> {
        let header = self.chain.reader.header(BlockTag::Number(position.number)).await?;
        Ok(header.map(|header| header.block.hash == position.hash))
    }
}

impl Follower {
    /// The same as [`Self::left_below`], once it has been so for a while: most shorter branches are
    /// soon the longer ones, or gone.
    pub(super) async fn left_for_long(&mut self, position: &BlockRef) -> Result<Option<u64>, CollectError> {
        let top = match self.left_below(position).await? {
            Branch::Left(top) => top,
            Branch::Kept => {
                self.left_since = None;
                return Ok(None);
            }
            // A passing refusal does not make it wait anew.
            Branch::Unknown => return Ok(None),
        };
        let since = *self.left_since.get_or_insert_with(Instant::now);
        let patience = (self.polls.block_time() * LEFT_BLOCKS).max(MIN_LEFT);
        Ok((since.elapsed() >= patience).then_some(top))
    }

    /// Whether the chain has left the last stored block although no endpoint has come to its height
    /// again: every one that is heard has another block than the stored one at its own newest
    /// height, or began anew. An endpoint that has the stored block only lags.
    async fn left_below(&self, position: &BlockRef) -> Result<Branch, CollectError> {
        let (mut lowest, mut is_unknown) = (None, false);
        for one in self.chain.reader.header_from_each(BlockTag::Latest).await {
            let Some(newest) = one.answer.ok().flatten().map(|header| header.block) else { continue };
            if newest.number >= position.number {
                return Ok(Branch::Kept);
            }
            let stored = self.chain.store.blocks(self.chain.options.chain, newest.number, 1).await?;
            match stored.first().filter(|stored| stored.number == newest.number) {
                Some(stored) if stored.hash == newest.hash => return Ok(Branch::Kept),
                Some(_) => {}
                None => is_unknown = true,
            }
            lowest = Some(lowest.map_or(newest.number, |lowest: u64| lowest.min(newest.number)));
        }
        let Some(lowest) = lowest else { return Ok(Branch::Unknown) };
        if is_unknown { self.began_anew(lowest).await } else { Ok(Branch::Left(lowest)) }
    }

    /// Whether every endpoint that is heard has another first block, or another block than the newest one
    /// that is stored up to a height.
    async fn began_anew(&self, height: u64) -> Result<Branch, CollectError> {
        // What is stored may be of the new chain already, where history is collected. The first block is not.
        let anchor: Option<BlockRef> = ledger::read(&*self.chain.store, &self.chain.names.anchor).await?;
        if let Some(anchor) = anchor
            && let Branch::Left(height) = self.branch_at(anchor, height).await
        {
            return Ok(Branch::Left(height));
        }
        match StoredBlocks::read(&self.chain).await?.newest_at(height).await? {
            Some(stored) => Ok(self.branch_at(stored, height).await),
            None => Ok(Branch::Kept),
        }
    }

    /// How every endpoint that is heard stands to a stored block.
    async fn branch_at(&self, stored: BlockRef, height: u64) -> Branch {
        let answers = self.chain.reader.header_from_each(BlockTag::Number(stored.number)).await;
        let found: Vec<BlockRef> =
            answers.into_iter().filter_map(|one| Some(one.answer.ok()??.block.block_ref())).collect();
        match found.contains(&stored) {
            true => Branch::Kept,
            false if found.is_empty() => Branch::Unknown,
            false => Branch::Left(height),
        }
    }
}

/// How endpoints that are below the last stored block stand to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Branch {
    /// One of them has what is stored.
    Kept,
    /// None of them has. This is the lowest of their newest blocks.
    Left(u64),
    /// None of them was heard.
    Unknown,
}

fn lacks_next(position: BlockRef, newest: &Header) -> ChainError {
    let (next, newest) = (position.number + 1, newest.block.number);
    let message = format!("no endpoint has block {next}, although the newest is {newest}");
    ChainError::new(ChainErrorKind::UnknownBlock, message)
}

pub(super) fn endpoints_behind(position: BlockRef, newest: &Header) -> String {
    let (stored, newest) = (position.number, newest.block.number);
    format!("the endpoints are at block {newest} and do not know block {stored}, which is stored")
}

fn does_not_follow(position: BlockRef) -> ChainError {
    let next = position.number + 1;
    let message = format!(
        "block {next} names another parent than block {position}, which is stored and which the chain has"
    );
    ChainError::new(ChainErrorKind::Malformed, message)
}

fn interrupted() -> ChainError {
    ChainError::new(ChainErrorKind::Unreachable, "a look at the chain was interrupted")
}
