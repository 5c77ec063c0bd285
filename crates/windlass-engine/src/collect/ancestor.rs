//! Where two forks part: the newest stored block that the chain still has.

use windlass_core::chain::{BlockHeader, ChainId};
use windlass_core::reader::{BlockTag, ChainReader};
use windlass_core::store::Store;

use super::follow::FollowError;

/// The newest stored block at or below `top`, and above `top - depth`, that is
/// still canonical. Stored headers are compared newest first: reorgs are shallow.
pub(super) async fn common_ancestor(
    store: &dyn Store,
    reader: &dyn ChainReader,
    chain: ChainId,
    top: u64,
    depth: u32,
) -> Result<BlockHeader, FollowError> {
    let lowest = top.saturating_sub(u64::from(depth));
    let stored = store.blocks(chain, lowest, depth.saturating_add(1)).await?;
    for header in stored.iter().rev().filter(|header| header.number <= top) {
        let canonical = reader.header(BlockTag::Number(header.number)).await?;
        if canonical.is_some_and(|canonical| canonical.hash == header.hash) {
            return Ok(*header);
        }
    }
    Err(FollowError::TooDeep { chain, block: top, depth })
}
