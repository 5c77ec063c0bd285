//! The logs of one block, by its hash; from endpoints that refuse that question, by its number.
//!
//! Some endpoints do not take `blockHash` in `eth_getLogs`. What they have at a number is then held
//! against the hash: every log names it, and where there is none the header does, before and after.

use std::sync::atomic::{AtomicU32, Ordering};

use windlass_core::chain::BlockRef;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, LogFilter, LogSpan};

use super::check;
use super::client::EvmRpc;
use super::error::RpcError;
use super::log::RpcLog;

/// An endpoint that has refused so often in a row, and answered by number, is asked by number.
const MAX_REFUSALS: u32 = 3;
/// One question in so many is put by hash again: the endpoint may take it by now.
const RETRY_EVERY: u32 = 256;

/// Whether an endpoint takes `blockHash` in `eth_getLogs`.
#[derive(Debug, Default)]
pub(super) struct HashQuestion {
    /// How many refusals came since the last answer.
    refusals: AtomicU32,
    /// How many questions were put by number since the last one by hash.
    by_number: AtomicU32,
}

impl HashQuestion {
    fn is_asked(&self) -> bool {
        self.refusals.load(Ordering::Relaxed) < MAX_REFUSALS
            || self.by_number.fetch_add(1, Ordering::Relaxed) % RETRY_EVERY == RETRY_EVERY - 1
    }

    fn answered(&self) {
        self.refusals.store(0, Ordering::Relaxed);
    }

    fn refused(&self, place: &str, error: &RpcError) {
        let refusals = self.refusals.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if refusals == MAX_REFUSALS {
            tracing::info!(
                endpoint = place,
                %error,
                "the endpoint does not take `blockHash` in `eth_getLogs`; it is asked by block number"
            );
        }
    }
}

/// The logs of a block, checked.
pub(super) async fn block_logs(
    rpc: &EvmRpc,
    by_hash: &HashQuestion,
    block: BlockRef,
    filter: &LogFilter,
) -> Result<Vec<RpcLog>, ChainError> {
    if !by_hash.is_asked() {
        return by_number(rpc, block, filter).await;
    }
    match rpc.logs_by_hash(block.hash, filter).await {
        Ok(mut logs) => {
            by_hash.answered();
            check::check(LogSpan::Block(block), filter, &mut logs).map_err(|error| named(rpc, error))?;
            Ok(logs)
        }
        // The words of a refusal do not tell whether the question or the block is unknown: an answer
        // by number does, since it has to be of the very block.
        Err(refusal @ RpcError::Refused { .. }) => match by_number(rpc, block, filter).await {
            Ok(logs) => {
                by_hash.refused(rpc.place(), &refusal);
                Ok(logs)
            }
            Err(unknown) if unknown.kind == ChainErrorKind::UnknownBlock => Err(unknown),
            Err(_) => Err(refusal.into()),
        },
        Err(error) => Err(error.into()),
    }
}

async fn by_number(rpc: &EvmRpc, block: BlockRef, filter: &LogFilter) -> Result<Vec<RpcLog>, ChainError> {
    let logs = logs_at(rpc, block, filter).await?;
    if !logs.is_empty() {
        return Ok(logs);
    }
    expect_block(rpc, block).await?;
    let logs = logs_at(rpc, block, filter).await?;
    expect_block(rpc, block).await?;
    Ok(logs)
}

async fn logs_at(rpc: &EvmRpc, block: BlockRef, filter: &LogFilter) -> Result<Vec<RpcLog>, ChainError> {
    let range = BlockRange { from: block.number, to: block.number };
    let logs = check::range_logs(rpc, range, filter).await?;
    match logs.first() {
        // No two logs of a number are of different blocks: that was checked.
        Some(log) if log.block != block => Err(gone(rpc, block, log.block)),
        _ => Ok(logs),
    }
}

async fn expect_block(rpc: &EvmRpc, block: BlockRef) -> Result<(), ChainError> {
    let found = rpc.header(BlockTag::Number(block.number)).await?;
    match found.map(|header| header.block.block_ref()) {
        Some(found) if found == block => Ok(()),
        Some(found) => Err(gone(rpc, block, found)),
        None => {
            let message = format!("{} does not know block {block}", rpc.place());
            Err(ChainError::new(ChainErrorKind::UnknownBlock, message))
        }
    }
}

fn gone(rpc: &EvmRpc, block: BlockRef, found: BlockRef) -> ChainError {
    let message = format!("{} has block {found} where block {block} was", rpc.place());
    ChainError::new(ChainErrorKind::UnknownBlock, message)
}

fn named(rpc: &EvmRpc, error: ChainError) -> ChainError {
    ChainError { message: format!("{}: {}", rpc.place(), error.message), ..error }
}
