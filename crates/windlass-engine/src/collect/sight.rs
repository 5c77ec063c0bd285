//! Where a chain stands: its head and its last final block.
//!
//! What is final is never taken back, so no endpoint's word alone makes a block final: each is
//! asked, the lowest block that is above the last known one counts, and only if no endpoint has
//! another block at its height. An endpoint that lags or makes a chain up holds finality back
//! for that long; the head goes on.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};
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
            known => last_final(reader, finality, &newest, known).await?,
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

/// How long endpoints are asked at the first start, while one is heard alone …
const FIRST_WAIT: Duration = Duration::from_secs(20);
/// … and how soon again.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How often they are asked where nothing is known to be final, while one is heard alone.
const FIRST_ROUNDS: u32 = 3;

/// The last final block of a chain with this newest one, as far as endpoints agree about it, and
/// what speaks against it. It takes as long as the slowest of them may.
pub(super) async fn last_final(
    reader: &dyn ChainReader,
    finality: Finality,
    newest: &Header,
    known: KnownFinal,
) -> Result<(BlockHeader, FinalityNotes), ChainError> {
    let tag = match finality {
        Finality::Finalized => BlockTag::Finalized,
        Finality::Safe => BlockTag::Safe,
        Finality::Depth(depth) => BlockTag::Number(newest.block.number.saturating_sub(depth)),
    };
    let (began, mut round) = (Instant::now(), 1);
    let (finalized, notes) = loop {
        let (finalized, notes) = ask_finality(reader, tag, newest, known.last()).await?;
        let may_wait = match known {
            KnownFinal::First => began.elapsed() < FIRST_WAIT,
            KnownFinal::Last(None) => round < FIRST_ROUNDS,
            KnownFinal::Last(Some(_)) | KnownFinal::Enough(_) => false,
        };
        if !notes.is_unheard || !may_wait {
            break (finalized, notes);
        }
        if known == KnownFinal::First {
            if round == 1 {
                let wait_s = FIRST_WAIT.as_secs();
                tracing::warn!(
                    wait_s,
                    "one endpoint alone answers: another is waited for before anything is taken for final"
                );
            }
            sleep(FIRST_PAUSE).await;
        }
        round += 1;
    };
    let finalized = match finalized {
        Some(finalized) => finalized,
        None => final_or_first(reader, newest.block.number).await?,
    };
    Ok((finalized, notes))
}

/// The last final block as endpoints tell it now, `None` where none is final yet.
async fn ask_finality(
    reader: &dyn ChainReader,
    tag: BlockTag,
    newest: &Header,
    last: Option<BlockHeader>,
) -> Result<(Option<BlockHeader>, FinalityNotes), ChainError> {
    let told = reader.header_from_each(tag).await;
    let heard = told.iter().filter(|one| one.answer.is_ok()).count();
    let is_alone = heard == 1 && told.len() > 1;
    // An endpoint that has no news of finality holds back one that has. While no endpoint has
    // news, nothing is held back, and no time passes for the one that stands still.
    let is_old = |header: &Header| last.is_some_and(|last| header.block.number <= last.number);
    let headers = || told.iter().filter_map(|one| one.answer.as_ref().ok()?.as_ref());
    let is_held = headers().any(is_old) && !headers().all(is_old);
    let (finalized, agreement) = confirmed(reader, newest, told, last).await?;
    let is_unheard = is_alone || agreement == Agreement::Unheard;
    let dispute = match agreement {
        Agreement::Disputed(message) => Some(message),
        Agreement::Agreed | Agreement::Unheard => None,
    };
    Ok((finalized, FinalityNotes { dispute, is_unheard, is_held }))
}

/// Whether endpoints have the same block.
#[derive(Debug, PartialEq, Eq)]
enum Agreement {
    Agreed,
    /// One has another, in these words.
    Disputed(String),
    /// One has it, and no other was heard.
    Unheard,
}

/// The last final block, as far as endpoints agree about it, `None` where none is final yet; and
/// whether they do.
async fn confirmed(
    reader: &dyn ChainReader,
    newest: &Header,
    told: Vec<EndpointAnswer<Option<Header>>>,
    last: Option<BlockHeader>,
) -> Result<(Option<BlockHeader>, Agreement), ChainError> {
    // A chain that does not reach it is another one than it was known of.
    let last = last.filter(|last| last.number <= newest.block.number);
    let (is_alone, mut failed, mut headers) = (told.len() < 2, None, Vec::new());
    for EndpointAnswer { endpoint, answer } in told {
        match answer {
            Ok(header) => headers.push((endpoint, header)),
            Err(error) => failed = Some(error),
        }
    }
    if let Some(last) = last.filter(|_| headers.is_empty()) {
        // The head goes on without news of what is final.
        return Ok((Some(last), Agreement::Agreed));
    }
    if headers.is_empty() {
        let nobody = || ChainError::new(ChainErrorKind::Unreachable, "there is no endpoint to ask");
        return Err(failed.unwrap_or_else(nobody));
    }
    let is_news = |header: &BlockHeader| last.is_none_or(|last| header.number > last.number);
    let headers: Vec<(String, BlockHeader)> =
        headers.into_iter().filter_map(|(endpoint, header)| Some((endpoint, header?.block))).collect();
    // Blocks may have come and become final since the newest one was asked for: then that one is
    // final as well.
    let known = |header: BlockHeader| if header.number > newest.block.number { newest.block } else { header };
    let news = headers.iter().map(|(_, header)| known(*header)).filter(is_news);
    let Some(lowest) = news.min_by_key(|header| header.number) else {
        return Ok((last, Agreement::Agreed));
    };
    let agreement = match is_alone {
        true => Agreement::Agreed,
        false => agreement(reader, &lowest, headers).await,
    };
    match (agreement, last) {
        (Agreement::Disputed(message), Some(last)) => Ok((Some(last), Agreement::Disputed(message))),
        (Agreement::Disputed(message), None) => Err(ChainError::new(ChainErrorKind::Malformed, message)),
        (agreement, _) => Ok((Some(lowest), agreement)),
    }
}

/// Whether endpoints have the same block at this height, of those that have told it already and
/// those that are asked for it. One that is not heard says neither.
async fn agreement(
    reader: &dyn ChainReader,
    block: &BlockHeader,
    told: Vec<(String, BlockHeader)>,
) -> Agreement {
    let mut found: Vec<(String, BlockHeader)> =
        told.into_iter().filter(|(_, header)| header.number == block.number).collect();
    for one in reader.header_from_each(BlockTag::Number(block.number)).await {
        if let Some(header) = one.answer.ok().flatten() {
            found.retain(|(endpoint, told)| *endpoint != one.endpoint || told.hash != header.block.hash);
            found.push((one.endpoint, header.block));
        }
    }
    if found.iter().any(|(_, found)| found.hash != block.hash) {
        let told: Vec<String> =
            found.iter().map(|(endpoint, found)| format!("{endpoint} has {}", found.hash)).collect();
        return Agreement::Disputed(format!(
            "endpoints disagree about block {}, which one of them calls final: {}; take the one that is wrong out of `rpc`",
            block.number,
            told.join(", ")
        ));
    }
    match found.len() {
        0 | 1 => Agreement::Unheard,
        _ => Agreement::Agreed,
    }
}

/// What is known of the last final block before a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownFinal {
    /// It is new enough, and not asked for.
    Enough(BlockHeader),
    /// It is asked for; this was the last one.
    Last(Option<BlockHeader>),
    /// It is asked for to begin with: much is built on it, so that an endpoint that is not heard is
    /// waited for.
    First,
}

impl KnownFinal {
    /// Nothing is known.
    pub const NOTHING: Self = Self::Last(None);

    const fn last(self) -> Option<BlockHeader> {
        match self {
            Self::Enough(last) => Some(last),
            Self::Last(last) => last,
            Self::First => None,
        }
    }
}

/// Where nothing is final yet, the first block is; a chain that is long since past that age
/// has no such blocks, or its endpoint does not name them.
async fn final_or_first(reader: &dyn ChainReader, newest: u64) -> Result<BlockHeader, ChainError> {
    if newest > MAX_WITHOUT_FINALITY {
        let message = "the endpoint names no final block: set `finality` of the chain to a depth, such as 64";
        return Err(ChainError::new(ChainErrorKind::Refused, message));
    }
    // A chain need not begin at block 0: the first block is the lowest that is known.
    let (mut unknown_up_to, mut first) = (None, known(reader, BlockTag::Number(newest)).await?);
    let mut number = 0;
    while unknown_up_to.is_none_or(|last| last + 1 < first.block.number) {
        match reader.header(BlockTag::Number(number)).await? {
            Some(header) => first = header,
            None => unknown_up_to = Some(number),
        }
        let Some(last) = unknown_up_to else { break };
        number = last + (first.block.number - last) / 2;
    }
    Ok(first.block)
}

async fn known(reader: &dyn ChainReader, tag: BlockTag) -> Result<Header, ChainError> {
    let header = reader.header(tag).await?;
    let unknown =
        || ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know {tag}"));
    header.ok_or_else(unknown)
}
