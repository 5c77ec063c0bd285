//! Where a chain stands: its head and its last final block.

use serde::{Deserialize, Serialize};
use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::finality::Finality;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, Header};

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
    /// Looks at the chain; also gives the newest header whole. The final block is not asked
    /// for where a known one is given.
    pub async fn look(
        reader: &dyn ChainReader,
        finality: Finality,
        known_final: Option<BlockHeader>,
    ) -> Result<(Self, Header), ChainError> {
        let tag = match finality {
            Finality::Finalized => Some(BlockTag::Finalized),
            Finality::Safe => Some(BlockTag::Safe),
            Finality::Depth(_) => None,
        };
        let (newest, finalized) = match (known_final, tag) {
            (Some(finalized), _) => (known(reader, BlockTag::Latest).await?, finalized),
            // Two questions that do not depend on each other are asked together.
            (None, Some(tag)) => {
                let both = futures_util::join!(known(reader, BlockTag::Latest), reader.header(tag));
                let newest = both.0?;
                let finalized = final_or_first(reader, newest.block.number, both.1?).await?;
                (newest, finalized)
            }
            (None, None) => {
                let newest = known(reader, BlockTag::Latest).await?;
                let depth = if let Finality::Depth(depth) = finality { depth } else { 0 };
                let number = newest.block.number.saturating_sub(depth);
                let header = reader.header(BlockTag::Number(number)).await?;
                let finalized = final_or_first(reader, newest.block.number, header).await?;
                (newest, finalized)
            }
        };
        let (latest, latest_s) = (newest.block.block_ref(), newest.block.timestamp_s);
        Ok((Self { latest, finalized, latest_s }, newest))
    }
}

/// Where nothing is final yet, the first block is; a chain that is long since past that age
/// has no such blocks, or its endpoint does not name them.
async fn final_or_first(
    reader: &dyn ChainReader,
    newest: u64,
    found: Option<Header>,
) -> Result<BlockHeader, ChainError> {
    match found {
        Some(header) => Ok(header.block),
        None if newest > MAX_WITHOUT_FINALITY => {
            let message =
                "the endpoint names no final block: set `finality` of the chain to a depth, such as 64";
            Err(ChainError::new(ChainErrorKind::Refused, message))
        }
        None => Ok(known(reader, BlockTag::Number(0)).await?.block),
    }
}

async fn known(reader: &dyn ChainReader, tag: BlockTag) -> Result<Header, ChainError> {
    let header = reader.header(tag).await?;
    let unknown =
        || ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know {tag}"));
    header.ok_or_else(unknown)
}
