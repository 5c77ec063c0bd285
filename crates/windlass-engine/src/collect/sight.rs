//! Where a chain stands: its head and its last final block.

use serde::{Deserialize, Serialize};
use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::finality::Finality;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader};

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
    /// Looks at the chain. Where nothing is final yet, the first block is.
    pub async fn of(reader: &dyn ChainReader, finality: Finality) -> Result<Self, ChainError> {
        let latest = known(reader, BlockTag::Latest).await?;
        let tag = match finality {
            Finality::Finalized => BlockTag::Finalized,
            Finality::Safe => BlockTag::Safe,
            Finality::Depth(depth) => BlockTag::Number(latest.number.saturating_sub(depth)),
        };
        let finalized = match reader.header(tag).await? {
            Some(header) => header.block,
            None => known(reader, BlockTag::Number(0)).await?,
        };
        Ok(Self { latest: latest.block_ref(), latest_s: latest.timestamp_s, finalized })
    }
}

async fn known(reader: &dyn ChainReader, tag: BlockTag) -> Result<BlockHeader, ChainError> {
    let header = reader.header(tag).await?;
    let unknown =
        || ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know block {tag:?}"));
    Ok(header.ok_or_else(unknown)?.block)
}
