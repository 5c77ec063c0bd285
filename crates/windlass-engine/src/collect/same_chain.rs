//! Whether the endpoints still serve the chain that is stored: nothing of another one, or of one
//! that began anew under the same id, is stored among its rows. Each answer about a range of the
//! past is held against a final block of the endpoint that gave it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::chain::BlockRef;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, LogSpan, expect_anchor};

use super::chain::CollectedChain;
use super::error::CollectError;
use super::ledger;
use super::sight::Sight;

/// What was seen counts for so long. The follower looks more often, but may be another process.
const TRUSTED_FOR: Duration = Duration::from_secs(5);

/// When the endpoints were last seen to have the last final block that is stored.
#[derive(Debug, Default)]
pub(super) struct SameChain(Mutex<Option<Instant>>);

impl SameChain {
    fn seen_at(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_fresh(&self) -> bool {
        self.seen_at().is_some_and(|seen_at| seen_at.elapsed() < TRUSTED_FOR)
    }
}

impl CollectedChain {
    /// Whether the endpoints have the last final block that is stored. Those of another chain do
    /// not: the follower finds out, and says so.
    pub(super) async fn has_stored_final_block(&self) -> Result<bool, CollectError> {
        if self.same_chain.is_fresh() {
            return Ok(true);
        }
        let asked_at = Instant::now();
        if let Some(anchor) = self.stored_final_block().await? {
            let found = self.reader.header(BlockTag::Number(anchor.number)).await?;
            let found = found.map(|found| found.block.block_ref());
            if found.is_some_and(|found| found != anchor) {
                return Ok(false);
            }
            expect_anchor(anchor, found)?;
        }
        *self.same_chain.seen_at() = Some(asked_at);
        Ok(true)
    }

    /// How logs of blocks of the past are asked for.
    pub(super) async fn span_of(&self, blocks: BlockRange) -> Result<LogSpan, CollectError> {
        Ok(match self.stored_final_block().await? {
            Some(anchor) => LogSpan::RangeOnChain { blocks, anchor },
            None => LogSpan::Range(blocks),
        })
    }

    async fn stored_final_block(&self) -> Result<Option<BlockRef>, CollectError> {
        let stored: Option<Sight> = ledger::read(&*self.store, &self.names.sight).await?;
        Ok(stored.map(|sight| sight.finalized.block_ref()))
    }

    /// The endpoints may serve another chain by now: they are asked again.
    pub(super) fn doubt_endpoints(&self) {
        *self.same_chain.seen_at() = None;
    }

    /// Whether the endpoints have the last stored block. While they have not, they lag, or the
    /// chain was replaced, and nothing that is stored is mended from what they say.
    pub(super) async fn has_last_stored_block(&self) -> Result<bool, CollectError> {
        let Some(position) = ledger::block(&*self.store, &self.names.head).await? else {
            return self.has_stored_final_block().await;
        };
        let found = self.reader.header(BlockTag::Number(position.number)).await?;
        Ok(found.is_some_and(|found| found.block.block_ref() == position))
    }
}
