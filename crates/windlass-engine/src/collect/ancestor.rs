//! Where two forks part: the newest block that both the store and the chain have.

use windlass_core::chain::{BlockHeader, BlockRef, ChainId};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader};
use windlass_core::store::Store;

use super::follow::{FollowError, FollowOptions};

/// The newest stored block at or below `top` that is still canonical, or, when none
/// of a young store's blocks is, the block below its first. Stored headers are
/// compared newest first: reorgs are shallow. Only another hash at the same height
/// is evidence; a node that does not know a height lags, and is asked again.
pub(super) async fn common_ancestor(
    store: &dyn Store,
    reader: &dyn ChainReader,
    options: &FollowOptions,
    top: u64,
) -> Result<BlockRef, FollowError> {
    let depth = options.max_reorg_depth;
    let lowest = top.saturating_sub(u64::from(depth));
    let stored = store.blocks(options.chain, lowest, depth.saturating_add(1)).await?;
    for header in stored.iter().rev().filter(|header| header.number <= top) {
        let canonical = canonical(reader, header.number).await?;
        if canonical.hash == header.hash {
            return Ok(canonical);
        }
    }
    match below_the_first(&stored, options.start_block, lowest) {
        Some(number) => canonical(reader, number).await,
        None => Err(too_deep(options.chain, top, depth)),
    }
}

/// The block below everything that was ever stored, if that is within reach.
fn below_the_first(stored: &[BlockHeader], start_block: u64, lowest: u64) -> Option<u64> {
    let oldest = stored.first()?.number;
    (oldest == start_block && oldest > lowest).then(|| oldest - 1)
}

async fn canonical(reader: &dyn ChainReader, number: u64) -> Result<BlockRef, FollowError> {
    let found = reader.header(BlockTag::Number(number)).await?;
    let lags = || {
        let told = format!("the endpoint does not know block {number}, which it had");
        ChainError::new(ChainErrorKind::UnknownBlock, told)
    };
    Ok(found.ok_or_else(lags)?.block.block_ref())
}

fn too_deep(chain: ChainId, block: u64, depth: u32) -> FollowError {
    FollowError::TooDeep { chain, block, depth }
}
