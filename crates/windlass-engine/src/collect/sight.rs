//! Where a chain stands: its head and its last final block.

use serde::{Deserialize, Serialize};
use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::finality::Finality;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader};

/// A chain with more blocks than these has had time for one to become final.
const MAX_WITHOUT_FINALITY: u64 = 10_000;

/// Where a chain was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
    /// The head.
    pub latest: BlockRef,
    /// The last final block.
    pub finalized: BlockHeader,
    /// The head's time, in seconds.
    pub latest_s: u64,
}

impl Sight {
    /// Looks at the chain. Where nothing is final yet, the first block is; a chain that is
    /// long since past that age has no such blocks, or its endpoint does not tell them.
    pub async fn of(reader: &dyn ChainReader, finality: Finality) -> Result<Self, ChainError> {
        let latest = known(reader, BlockTag::Latest).await?;
        let tag = match finality {
            Finality::Finalized => BlockTag::Finalized,
            Finality::Safe => BlockTag::Safe,
            Finality::Depth(depth) => BlockTag::Number(latest.number.saturating_sub(depth)),
        };
        let finalized = match reader.header(tag).await? {
            Some(header) => header.block,
            None if latest.number > MAX_WITHOUT_FINALITY => {
                let told =
                    "the endpoint names no final block: set `finality` of the chain to a depth, such as 64";
                return Err(ChainError::new(ChainErrorKind::Refused, told));
            }
            None => known(reader, BlockTag::Number(0)).await?,
        };
        Ok(Self { latest: latest.block_ref(), latest_s: latest.timestamp_s, finalized })
    }
}

async fn known(reader: &dyn ChainReader, tag: BlockTag) -> Result<BlockHeader, ChainError> {
    let header = reader.header(tag).await?;
    let unknown =
        || ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know {tag}"));
    Ok(header.ok_or_else(unknown)?.block)
}
