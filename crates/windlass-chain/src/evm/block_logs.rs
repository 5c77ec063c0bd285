//! The logs of one block, by its hash; from endpoints that do not answer that, by its number.
//!
//! Some endpoints do not take `blockHash` in `eth_getLogs`: they refuse it, fail at it, or ignore
//! it. What they have at a number is then held against the hash: every log names it, and where
//! there is none the header does, before and after.

use alloy_primitives::Bloom;
use windlass_core::chain::BlockRef;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, LogFilter, LogSpan};

use super::check;
use super::client::EvmRpc;
use super::error::RpcError;
use super::hash_question::HashQuestion;
use super::log::RpcLog;

/// The block whose logs are wanted.
#[derive(Clone, Copy)]
pub(super) struct WantedBlock<'a> {
    pub(super) block: BlockRef,
    pub(super) filter: &'a LogFilter,
    /// The bloom of its header, where that is known.
    pub(super) bloom: Option<&'a Bloom>,
}

/// The logs of a block, checked.
pub(super) async fn block_logs(
    rpc: &EvmRpc,
    by_hash: &HashQuestion,
    wanted: WantedBlock<'_>,
) -> Result<Vec<RpcLog>, ChainError> {
    let WantedBlock { block, filter, .. } = wanted;
    if by_hash.was_silent() {
        let logs = by_number(rpc, block, filter).await?;
        by_hash.refused(rpc.place(), &"it did not answer in time");
        return Ok(logs);
    }
    if !by_hash.is_asked() {
        return by_number(rpc, block, filter).await;
    }
    let pending = by_hash.begin();
    let answer = rpc.logs_by_hash(block.hash, filter).await;
    pending.end();
    match answer {
        Ok(logs) if logs.is_empty() => after_none(rpc, by_hash, wanted).await,
        Ok(mut logs) => match check::check(LogSpan::Block(block), filter, &mut logs) {
            Ok(()) => {
                by_hash.answered(true);
                Ok(logs)
            }
            Err(error) => {
                let failure = named(rpc, error);
                // Another block by number does not excuse another block by hash.
                after_failure(rpc, by_hash, wanted, failure.clone()).await.map_err(|_| failure)
            }
        },
        Err(error) if is_about_hash(&error) => after_failure(rpc, by_hash, wanted, error.into()).await,
        Err(error) => Err(error.into()),
    }
}

/// Whether the failure may be due to the question. One that wants fewer requests, cannot be
/// reached at all or has more than is read says nothing about it.
fn is_about_hash(error: &RpcError) -> bool {
    match error {
        RpcError::RateLimited { .. } | RpcError::Url { .. } | RpcError::BodyTooLarge { .. } => false,
        RpcError::Connection { was_connected, .. } => *was_connected,
        RpcError::Timeout { .. }
        | RpcError::RangeTooLarge { .. }
        | RpcError::Status { .. }
        | RpcError::Refused { .. }
        | RpcError::Malformed { .. } => true,
    }
}

/// The endpoint failed at the question by hash. Neither words nor status tell whether the question
/// is to blame: an answer by number does, since it has to be of the very block.
async fn after_failure(
    rpc: &EvmRpc,
    by_hash: &HashQuestion,
    WantedBlock { block, filter, .. }: WantedBlock<'_>,
    failure: ChainError,
) -> Result<Vec<RpcLog>, ChainError> {
    if !by_hash.is_followed() {
        return Err(failure);
    }
    // A node that does not have the block says that it has no logs, too; another one behind the same
    // URL may have some.
    let is_lagging = failure.kind == ChainErrorKind::UnknownBlock && by_hash.is_unknown_believed();
    match by_number(rpc, block, filter).await {
        Ok(logs) if is_lagging => {
            by_hash.answered_by_number();
            if logs.is_empty() { Err(failure) } else { Ok(logs) }
        }
        Ok(logs) => {
            by_hash.refused(rpc.place(), &failure);
            Ok(logs)
        }
        Err(unknown) if unknown.kind == ChainErrorKind::UnknownBlock => {
            by_hash.answered_by_number();
            Err(unknown)
        }
        Err(_) => Err(failure),
    }
}

/// The endpoint has no logs by hash. Where the header's bloom speaks for some, those that it has by
/// number are taken; that it has none there either leaves the answer as it was.
async fn after_none(
    rpc: &EvmRpc,
    by_hash: &HashQuestion,
    WantedBlock { block, filter, bloom }: WantedBlock<'_>,
) -> Result<Vec<RpcLog>, ChainError> {
    by_hash.answered(false);
    if by_hash.is_ignored() {
        return by_number(rpc, block, filter).await;
    }
    if !by_hash.doubts_none(filter, bloom) {
        return Ok(Vec::new());
    }
    let logs = logs_at(rpc, block, filter).await.unwrap_or_default();
    if !logs.is_empty() {
        by_hash.lacked_logs(rpc.place());
    }
    Ok(logs)
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
