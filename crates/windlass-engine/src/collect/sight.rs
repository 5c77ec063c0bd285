//! Where a chain stands: its head and its last final block.
//!
//! What is final is never taken back, so no endpoint's word alone makes a block final: each is
//! asked, the lowest block that is above the last known one counts, and only if no endpoint has
//! another block at its height. An endpoint that lags or makes a chain up holds finality back
//! for that long; the head goes on.

use serde::{Deserialize, Serialize};
use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::finality::Finality;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, EndpointAnswer, Header};

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
    /// Looks at the chain; also gives the newest header whole, and what speaks against the last
    /// final block.
    pub async fn look(
        reader: &dyn ChainReader,
        finality: Finality,
        known_final: KnownFinal,
    ) -> Result<(Self, Header, FinalityNotes), ChainError> {
        let newest = known(reader, BlockTag::Latest).await?;
        let (finalized, notes) = match known_final {
            KnownFinal::Enough(finalized) => (finalized, FinalityNotes::default()),
            KnownFinal::Last(last) => last_final(reader, finality, &newest, last).await?,
        };
        Ok((Self::new(&newest, finalized), newest, notes))
    }

    fn new(newest: &Header, finalized: BlockHeader) -> Self {
        Self { latest: newest.block.block_ref(), finalized, latest_s: newest.block.timestamp_s }
    }
}

/// What speaks against a block that was found to be final.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FinalityNotes {
    /// In which words endpoints disagree about a newer one.
    pub dispute: Option<String>,
    /// Whether one endpoint alone was heard, and another was not.
    pub is_unheard: bool,
    /// Whether one endpoint says that nothing became final since the last known block, and another
    /// names a newer one.
    pub is_held: bool,
}

/// How often endpoints are asked where nothing is known to be final, while one is heard alone.
const FIRST_ROUNDS: u32 = 3;

/// The last final block of a chain with this newest one, as far as endpoints agree about it, and
/// what speaks against it. It takes as long as the slowest of them may.
pub(super) async fn last_final(
    reader: &dyn ChainReader,
    finality: Finality,
    newest: &Header,
    last: Option<BlockHeader>,
) -> Result<(BlockHeader, FinalityNotes), ChainError> {
    let tag = match finality {
        Finality::Finalized => BlockTag::Finalized,
        Finality::Safe => BlockTag::Safe,
        Finality::Depth(depth) => BlockTag::Number(newest.block.number.saturating_sub(depth)),
    };
    let mut round = 1;
    let (told, is_unheard) = loop {
        let told = reader.header_from_each(tag).await;
        let heard = told.iter().filter(|one| one.answer.is_ok()).count();
        let is_unheard = heard == 1 && told.len() > 1;
        if !is_unheard || last.is_some() || round == FIRST_ROUNDS {
            break (told, is_unheard);
        }
        round += 1;
    };
    // An endpoint that has no news of finality holds back one that has. While no endpoint has
    // news, nothing is held back, and no time passes for the one that stands still.
    let is_old = |header: &Header| last.is_some_and(|last| header.block.number <= last.number);
    let headers = || told.iter().filter_map(|one| one.answer.as_ref().ok()?.as_ref());
    let is_held = headers().any(is_old) && !headers().all(is_old);
    let (finalized, dispute) = confirmed(reader, newest, told, last).await?;
    let finalized = match finalized {
        Some(finalized) => finalized,
        None => final_or_first(reader, newest.block.number).await?,
    };
    Ok((finalized, FinalityNotes { dispute, is_unheard, is_held }))
}

/// The last final block, as far as endpoints agree about it, `None` where none is final yet; and
/// in which words they disagree.
async fn confirmed(
    reader: &dyn ChainReader,
    newest: &Header,
    told: Vec<EndpointAnswer<Option<Header>>>,
    last: Option<BlockHeader>,
) -> Result<(Option<BlockHeader>, Option<String>), ChainError> {
    // A chain that does not reach it is another one than it was known of.
    let last = last.filter(|last| last.number <= newest.block.number);
    let (is_alone, mut failed, mut headers) = (told.len() < 2, None, Vec::new());
    for one in told {
        match one.answer {
            Ok(header) => headers.push(header),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(last) = last.filter(|_| headers.is_empty()) {
        // The head goes on without news of what is final.
        return Ok((Some(last), None));
    }
    if headers.is_empty() {
        let nobody = || ChainError::new(ChainErrorKind::Unreachable, "there is no endpoint to ask");
        return Err(failed.unwrap_or_else(nobody));
    }
    let is_none_final = headers.iter().all(Option::is_none);
    let is_news = |header: &BlockHeader| {
        header.number <= newest.block.number && last.is_none_or(|last| header.number > last.number)
    };
    let headers = headers.into_iter().flatten().map(|header| header.block);
    let Some(lowest) = headers.filter(is_news).min_by_key(|header| header.number) else {
        return match last {
            Some(last) => Ok((Some(last), None)),
            None if is_none_final => Ok((None, None)),
            None => Err(disagreement(newest.block.number)),
        };
    };
    let disputed = match is_alone {
        true => None,
        false => disputed(reader, &lowest).await,
    };
    match (disputed, last) {
        (None, _) => Ok((Some(lowest), None)),
        (Some(error), Some(last)) => Ok((Some(last), Some(error.message))),
        (Some(error), None) => Err(error),
    }
}

/// What endpoints say, if one has another block at this height.
async fn disputed(reader: &dyn ChainReader, block: &BlockHeader) -> Option<ChainError> {
    let answers = reader.header_from_each(BlockTag::Number(block.number)).await;
    let found = answers.into_iter().filter_map(|one| Some((one.endpoint, one.answer.ok().flatten()?.block)));
    let found: Vec<(String, BlockHeader)> = found.collect();
    let is_disputed = found.iter().any(|(_, found)| found.hash != block.hash);
    let told: Vec<String> =
        found.iter().map(|(endpoint, found)| format!("{endpoint} has {}", found.hash)).collect();
    let message = format!(
        "endpoints disagree about block {}, which one of them calls final: {}; take the one that is wrong out of `rpc`",
        block.number,
        told.join(", ")
    );
    is_disputed.then(|| ChainError::new(ChainErrorKind::Malformed, message))
}

fn disagreement(number: u64) -> ChainError {
    let message = format!("endpoints disagree about the last final block: one says {number}");
    ChainError::new(ChainErrorKind::Malformed, message)
}

/// What is known of the last final block before a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownFinal {
    /// It is new enough, and not asked for.
    Enough(BlockHeader),
    /// It is asked for; this was the last one.
    Last(Option<BlockHeader>),
}

impl KnownFinal {
    /// Nothing is known.
    pub const NOTHING: Self = Self::Last(None);
}

/// Where nothing is final yet, the first block is; a chain that is long since past that age
/// has no such blocks, or its endpoint does not name them.
async fn final_or_first(reader: &dyn ChainReader, newest: u64) -> Result<BlockHeader, ChainError> {
    if newest > MAX_WITHOUT_FINALITY {
        let message = "the endpoint names no final block: set `finality` of the chain to a depth, such as 64";
        return Err(ChainError::new(ChainErrorKind::Refused, message));
    }
    Ok(known(reader, BlockTag::Number(0)).await?.block)
}

async fn known(reader: &dyn ChainReader, tag: BlockTag) -> Result<Header, ChainError> {
    let header = reader.header(tag).await?;
    let unknown =
        || ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know {tag}"));
    header.ok_or_else(unknown)
}
