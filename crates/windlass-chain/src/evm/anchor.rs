//! Whether an endpoint still serves the chain that its logs are wanted of.
//!
//! The endpoint is asked for a block of that chain behind its answer. Answers that came before it
//! was asked are covered as well, so that many ranges at once take few such questions. Of an endpoint
//! that limits the rate, answers wait for one another a little: there each question is one range less.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};
use windlass_core::chain::BlockRef;
use windlass_core::error::RetryAdvice;
use windlass_core::reader::{BlockTag, ChainError, expect_anchor};

use super::client::EvmRpc;

/// So often the endpoint is asked before its logs are given up: they cost much more.
const MAX_TRIES: u32 = 3;

/// How long after a question the next one is put to an endpoint that limits the rate.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of the endpoint's chain.
#[derive(Debug, Default)]
pub(super) struct AnchorCheck {
    /// Which block the endpoint was last seen to have, and when it was asked.
    seen: Mutex<Option<(BlockRef, Instant)>>,
    is_rate_limited: AtomicBool,
}

impl AnchorCheck {
    /// Takes note whether the endpoint is known to limit the rate.
    pub(super) fn set_rate_limited(&self, is_rate_limited: bool) {
        self.is_rate_limited.store(is_rate_limited, Ordering::Relaxed);
    }

    /// Refuses an answer that has just come, unless the endpoint has the block now. Who waits for
    /// another's question may be covered by it.
    pub(super) async fn expect(&self, rpc: &EvmRpc, anchor: BlockRef) -> Result<(), ChainError> {
        let answered_at = Instant::now();
        let mut seen = self.seen.lock().await;
        if seen.is_some_and(|(block, asked_at)| block == anchor && asked_at >= answered_at) {
            return Ok(());
        }
        if let Some((_, asked_at)) = seen.filter(|_| self.is_rate_limited.load(Ordering::Relaxed)) {
            sleep_until(asked_at + PATIENCE).await;
        }
        let asked_at = Instant::now();
        let found = asked(rpc, anchor.number).await?;
        expect_anchor(anchor, found).map_err(|error| ChainError {
            message: format!("{}: {}", rpc.place(), error.message),
            ..error
        })?;
        *seen = Some((anchor, asked_at));
        Ok(())
    }
}

async fn asked(rpc: &EvmRpc, number: u64) -> Result<Option<BlockRef>, ChainError> {
    let mut tries = 1;
    loop {
        match rpc.header(BlockTag::Number(number)).await.map_err(ChainError::from) {
            Ok(found) => return Ok(found.map(|header| header.block.block_ref())),
            Err(error) if tries == MAX_TRIES || error.retry == RetryAdvice::Never => return Err(error),
            Err(_) => tries += 1,
        }
    }
}
