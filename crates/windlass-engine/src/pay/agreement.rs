//! What endpoints agree about: heights, blocks, and how many transactions an account has sent.
//!
//! Whatever cannot be undone takes two endpoints that agree, or the only one that is configured. A height
//! or a count only grows, so an honest endpoint that lags tells less: one that two endpoints have reached
//! is not above what an honest one tells, whatever a third says.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use windlass_core::chain::{Address, B256, BlockHeader};
use windlass_core::finality::Finality;
use windlass_core::payout::submit::{NonceTag, TransactionChain};
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, EndpointAnswer, Header, is_quorum,
};

use super::chain_trouble::SUBJECT;

/// Two endpoints whose newest blocks are so far apart are not at the same height by chance.
const FAR_BEHIND_S: u64 = 60;
/// The same of their last final blocks, which come in steps of minutes.
const FINAL_FAR_BEHIND_S: u64 = 1_800;

/// What endpoints have told, with their names; an error where none has answered.
#[derive(Debug, Clone)]
pub(super) struct Told<T> {
    pub(super) answers: Vec<(String, T)>,
    /// How many endpoints were asked.
    pub(super) asked: usize,
}

impl<T> Told<T> {
    pub(super) fn of(answers: Vec<EndpointAnswer<T>>) -> Result<Self, ChainError> {
        let (asked, mut told, mut refused) = (answers.len(), Vec::with_capacity(answers.len()), None);
        for EndpointAnswer { endpoint, answer } in answers {
            match answer {
                Ok(answer) => told.push((endpoint, answer)),
                Err(error) => refused = Some(error),
            }
        }
        match refused {
            Some(error) if told.is_empty() => Err(error),
            _ => Ok(Self { answers: told, asked }),
        }
    }

    /// What they say, in words.
    pub(super) fn words(&self, word: impl Fn(&T) -> String) -> String {
        let mut words: Vec<String> =
            self.answers.iter().map(|(endpoint, told)| format!("{endpoint}: {}", word(told))).collect();
        let silent = self.asked.saturating_sub(self.answers.len());
        words.extend((silent > 0).then(|| format!("{silent} of {} do not answer", self.asked)));
        words.join(", ")
    }
}

impl Told<u64> {
    /// What enough of them tell alike.
    pub(super) fn agreed(&self) -> Option<u64> {
        let mut counts: BTreeMap<u64, usize> = BTreeMap::new();
        self.answers.iter().for_each(|(_, told)| *counts.entry(*told).or_default() += 1);
        sole(counts.into_iter().filter(|(_, count)| is_quorum(*count, self.asked)).map(|(told, _)| told))
    }

    /// What two of them have reached, or the only one that answers.
    pub(super) fn reached(&self) -> Option<u64> {
        let descending = self.descending();
        descending.get(1).or(descending.first()).copied()
    }

    /// The most that may be true: of three the highest one is one endpoint's word.
    pub(super) fn most(&self) -> Option<u64> {
        if self.answers.len() > 2 { self.reached() } else { self.descending().first().copied() }
    }

    fn descending(&self) -> Vec<u64> {
        let mut told: Vec<u64> = self.answers.iter().map(|(_, told)| *told).collect();
        told.sort_unstable_by_key(|told| Reverse(*told));
        told
    }

    /// Whether two endpoints contradict each other, without a third one.
    pub(super) fn is_disputed(&self) -> bool {
        self.answers.len() == 2 && self.agreed().is_none()
    }
}

/// The only one of several, if there is only one.
fn sole<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next();
    if found.next().is_some() { None } else { first }
}

/// How many transactions an account has sent, as each endpoint tells it.
pub(super) async fn counts(
    chain: &dyn TransactionChain,
    account: Address,
    at: NonceTag,
) -> Result<Told<u64>, ChainError> {
    Told::of(chain.nonce_from_each(account, at).await)
}

/// That endpoints tell otherwise how many transactions an account has sent, in words.
pub(super) fn disputed_count(account: Address, told: &Told<u64>) -> String {
    format!(
        "{SUBJECT} do not agree how many transactions account {account} has sent, or too few of them answer ({}): \
         nothing is signed from it until they do",
        told.words(u64::to_string)
    )
}

/// The block of the canonical chain at a height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockThere {
    pub(super) header: BlockHeader,
    /// Whether enough endpoints have it; else one alone was heard.
    pub(super) is_agreed: bool,
}

/// The block that endpoints have at a height; none where they contradict each other, or do not know it.
pub(super) async fn block_at(chain: &dyn ChainReader, number: u64) -> Result<Option<BlockThere>, ChainError> {
    let told = Told::of(chain.header_from_each(BlockTag::Number(number)).await)?;
    let headers: Vec<BlockHeader> =
        told.answers.into_iter().filter_map(|(_, header)| Some(header?.block)).collect();
    let mut hashes: BTreeMap<B256, usize> = BTreeMap::new();
    headers.iter().for_each(|header| *hashes.entry(header.hash).or_default() += 1);
    let agreed = sole(hashes.iter().filter(|(_, count)| is_quorum(**count, told.asked)));
    let is_agreed = agreed.is_some();
    let hash = agreed.map(|(hash, _)| *hash).or_else(|| sole(hashes.keys().copied()));
    let found = headers.into_iter().find(|header| Some(header.hash) == hash);
    Ok(found.map(|header| BlockThere { header, is_agreed }))
}

/// The highest block of a tag that endpoints agree about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AgreedHead {
    pub(super) header: BlockHeader,
    /// That another endpoint is far ahead, in words: what it has is not counted until a second one has it.
    pub(super) behind: Option<String>,
}

impl AgreedHead {
    fn new(header: BlockHeader, highest: &BlockHeader, tag: BlockTag) -> Self {
        let apart_s = highest.timestamp_s.saturating_sub(header.timestamp_s);
        let is_far = apart_s > if tag == BlockTag::Latest { FAR_BEHIND_S } else { FINAL_FAR_BEHIND_S };
        let behind = is_far.then(|| {
            format!(
                "{SUBJECT} are {apart_s} s apart about {tag}: one has block {}, another only {}; what is above \
                 counts once two of them have it",
                highest.number, header.number
            )
        });
        Self { header, behind }
    }
}

/// The highest block of a tag that two endpoints have reached and have alike, or the only endpoint's; in
/// words why there is none. An error where no endpoint knows such a block.
pub(super) async fn agreed_head(
    chain: &dyn ChainReader,
    tag: BlockTag,
) -> Result<Result<AgreedHead, String>, ChainError> {
    let told = Told::of(chain.header_from_each(tag).await)?;
    let mut headers: Vec<BlockHeader> =
        told.answers.iter().filter_map(|(_, header)| Some(header.as_ref()?.block)).collect();
    headers.sort_unstable_by_key(|header| Reverse(header.number));
    let Some(highest) = headers.first() else {
        let message = format!("the endpoint does not know block {tag}");
        return Err(ChainError::new(ChainErrorKind::UnknownBlock, message));
    };
    let found = |header| Ok(Ok(AgreedHead::new(header, highest, tag)));
    if told.asked == 1 {
        return found(*highest);
    }
    let mut reached: Vec<BlockHeader> = headers.get(1..).unwrap_or_default().to_vec();
    reached.dedup_by_key(|header| header.number);
    for BlockHeader { number, .. } in reached {
        let alike = |header: &&BlockHeader| {
            let is_same = |other: &&BlockHeader| (other.number, other.hash) == (number, header.hash);
            headers.iter().filter(is_same).count() >= 2
        };
        if let Some(header) = sole_hash(headers.iter().filter(|header| header.number == number).filter(alike))
        {
            return found(header);
        }
        if let Some(BlockThere { header, is_agreed: true }) = block_at(chain, number).await? {
            return found(header);
        }
    }
    let word = |header: &Option<Header>| match header {
        Some(header) => format!("{} {}", header.block.number, header.block.hash),
        None => "none".to_owned(),
    };
    Ok(Err(format!("{SUBJECT} do not agree about {tag}, or too few of them answer ({})", told.words(word))))
}

/// The header that all of these are, if they are one block.
fn sole_hash<'a>(headers: impl Iterator<Item = &'a BlockHeader>) -> Option<BlockHeader> {
    let by_hash: BTreeMap<B256, BlockHeader> = headers.map(|header| (header.hash, *header)).collect();
    sole(by_hash.into_values())
}

/// The last block that nothing can undo, as far as endpoints agree; in words why that is not known.
pub(super) async fn last_final(
    chain: &dyn ChainReader,
    finality: Finality,
) -> Result<Result<Final, String>, ChainError> {
    let (tag, depth) = match finality {
        Finality::Finalized => (BlockTag::Finalized, 0),
        Finality::Safe => (BlockTag::Safe, 0),
        Finality::Depth(depth) => (BlockTag::Latest, depth),
    };
    Ok(agreed_head(chain, tag)
        .await?
        .map(|head| Final { number: head.header.number.saturating_sub(depth), behind: head.behind }))
}

/// The last block that nothing can undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Final {
    pub(super) number: u64,
    /// That one endpoint is far ahead of another, in words.
    pub(super) behind: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(counts: &[u64], asked: usize) -> Told<u64> {
        Told { answers: counts.iter().map(|count| ("it".to_owned(), *count)).collect(), asked }
    }

    #[test]
    fn one_liar_of_three_chooses_no_count() {
        for lie in [0, 4, 5, 7, u64::MAX] {
            let told = told(&[lie, 5, 6], 3);
            assert!((5..=6).contains(&told.reached().expect("told")), "{lie}");
            assert!((5..=6).contains(&told.most().expect("told")), "{lie}");
        }
        assert_eq!(told(&[9, 5, 5], 3).agreed(), Some(5));
        assert_eq!(told(&[9, 5, 6], 3).agreed(), None);
    }

    #[test]
    fn an_endpoint_that_is_far_behind_is_told() {
        let at = |number, timestamp_s| BlockHeader {
            number,
            hash: B256::ZERO,
            parent_hash: B256::ZERO,
            timestamp_s,
        };
        let behind = |tag, apart_s: u64| {
            AgreedHead::new(at(10, 1_000), &at(99, 1_000 + apart_s), tag).behind.is_some()
        };
        assert!(behind(BlockTag::Latest, 61) && !behind(BlockTag::Latest, 60));
        assert!(behind(BlockTag::Finalized, 1_801) && !behind(BlockTag::Finalized, 1_800));
        let words = AgreedHead::new(at(10, 1_000), &at(99, 1_061), BlockTag::Latest).behind.expect("told");
        assert!(words.contains("61 s apart") && words.contains("block 99, another only 10"), "{words}");
    }

    #[test]
    fn one_alone_agrees_only_where_there_is_no_other() {
        assert_eq!(told(&[5], 1).agreed(), Some(5));
        assert_eq!((told(&[5], 2).agreed(), told(&[5], 2).reached()), (None, Some(5)));
        let two = told(&[0, 5], 2);
        assert_eq!((two.agreed(), two.reached(), two.most()), (None, Some(0), Some(5)));
        assert!(two.is_disputed() && !told(&[5], 2).is_disputed());
        assert_eq!(told(&[4, 4, 5, 5], 4).agreed(), None, "two pairs");
    }
}
