//! Whether the endpoints still serve the chain that is stored: nothing of another one, or of one
//! that began anew under the same id, is stored among its rows.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};

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
        let stored: Option<Sight> = ledger::read(&*self.store, &self.names.sight).await?;
        if let Some(Sight { finalized, .. }) = stored {
            let found = self.reader.header(BlockTag::Number(finalized.number)).await?;
            let unknown = || {
                let message =
                    format!("the endpoint does not know block {}, which is final", finalized.number);
                ChainError::new(ChainErrorKind::UnknownBlock, message)
            };
            if found.ok_or_else(unknown)?.block.hash != finalized.hash {
                return Ok(false);
            }
        }
        *self.same_chain.seen_at() = Some(asked_at);
        Ok(true)
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
