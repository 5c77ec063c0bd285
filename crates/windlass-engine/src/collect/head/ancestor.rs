//! Where two forks part: the newest block that both the store and the chain have.

use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader};

use crate::collect::chain::CollectedChain;
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::rewind_target::StoredBlocks;
use crate::collect::sight::Sight;

/// How many stored headers are looked at in one go.
const PAGE: u32 = 1_000;

/// The newest stored block at or below `top` that is still canonical. Stored headers
/// are compared newest first: reorgs are shallow. Only another hash at the same
/// height is evidence; a node that does not know a height lags, and is asked again.
/// When none is canonical down to the block that was final when they were stored,
/// what was final has changed, however many older headers are still there. What has
/// become final since does not count: it is of the other branch. Nor does what was only
/// followed below a final block, perhaps from a node that was stuck on a dead branch:
/// there the last block counts that was looked at again.
pub(super) async fn common_ancestor(chain: &CollectedChain, top: u64) -> Result<BlockRef, CollectError> {
    let id = chain.options.chain;
    let floor = final_block(chain, top).await?;
    // One question tells whether it is in vain to look at all of them.
    let final_one = chain.store.blocks(id, floor, 1).await?.first().copied();
    if let Some(header) = final_one.filter(|header| header.number == floor)
        && canonical(&*chain.reader, floor).await?.hash != header.hash
    {
        return Err(CollectError::final_block_gone(id, header.block_ref()));
    }
    let mut lowest = None;
    let mut page_end = top;
    loop {
        let from = page_end.saturating_sub(u64::from(PAGE) - 1).max(floor);
        let stored = chain.store.blocks(id, from, PAGE).await?;
        let stored: Vec<&BlockHeader> = stored.iter().filter(|header| header.number <= page_end).collect();
        for header in stored.iter().rev() {
            if canonical(&*chain.reader, header.number).await?.hash == header.hash {
                return Ok(header.block_ref());
            }
            lowest = Some(header.block_ref());
        }
        match stored.first() {
            Some(first) if first.number > floor => page_end = first.number - 1,
            _ => break,
        }
    }
    let block = match lowest {
        Some(block) => block,
        None => replaced_block(chain, top).await?,
    };
    Err(CollectError::final_block_gone(id, block))
}

/// The newest block up to `top` that is stored and that the chain has replaced; of which no header
/// is kept, but rows are. The chain's own block at `top` where nothing like that is stored.
async fn replaced_block(chain: &CollectedChain, top: u64) -> Result<BlockRef, CollectError> {
    if let Some(stored) = StoredBlocks::read(chain).await?.newest_at(top).await?
        && canonical(&*chain.reader, stored.number).await? != stored
    {
        return Ok(stored);
    }
    canonical(&*chain.reader, top).await
}

/// The highest stored block up to `top` that is known to have been final.
async fn final_block(chain: &CollectedChain, top: u64) -> Result<u64, CollectError> {
    let seen: Option<Sight> = ledger::read(&*chain.store, &chain.names.sight).await?;
    let rechecked = ledger::block(&*chain.store, &chain.names.recheck).await?;
    let rechecked = rechecked.map_or(0, |block| block.number).min(top);
    let Some(finalized) = seen.map(|sight| sight.finalized.block_ref()) else { return Ok(rechecked) };
    if finalized.number > top {
        return Ok(rechecked);
    }
    let stored = chain.store.blocks(chain.options.chain, finalized.number, 1).await?;
    let stored = stored.first().map(BlockHeader::block_ref);
    let is_another = stored.is_some_and(|stored| stored.number == finalized.number && stored != finalized);
    Ok(if is_another { rechecked } else { finalized.number })
}

async fn canonical(reader: &dyn ChainReader, number: u64) -> Result<BlockRef, CollectError> {
    let found = reader.header(BlockTag::Number(number)).await?;
    let lags = || {
        let told = format!("the endpoint does not know block {number}, which it had");
        ChainError::new(ChainErrorKind::UnknownBlock, told)
    };
    Ok(found.ok_or_else(lags)?.block.block_ref())
}
