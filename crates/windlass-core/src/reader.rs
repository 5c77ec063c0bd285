//! The port to a chain: what a loop asks of an RPC, and how it may fail.

mod compare;

use std::fmt;
use std::time::Duration;

use alloy_primitives::{Bloom, BloomInput, b256};
use async_trait::async_trait;

pub use self::compare::{AnswerFault, EndpointAnswer, FalseAnswer, SOLE_ENDPOINT, agreed, is_quorum};
use crate::bloom::BloomFit;
use crate::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId};
use crate::error::RetryAdvice;
use crate::event::LogEvent;
use crate::range::BlockRange;

/// Which block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTag {
    /// The newest.
    Latest,
    /// The newest that is safe.
    Safe,
    /// The newest that is final.
    Finalized,
    /// By height, on the canonical chain.
    Number(u64),
    /// By hash, on whatever fork.
    Hash(B256),
}

impl fmt::Display for BlockTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("the latest block"),
            Self::Safe => f.write_str("the safe block"),
            Self::Finalized => f.write_str("the finalized block"),
            Self::Number(number) => write!(f, "block {number}"),
            Self::Hash(hash) => write!(f, "block {hash}"),
        }
    }
}

/// A block's header as a chain tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// What is kept of it.
    pub block: BlockHeader,
    /// Which addresses and topics its logs may have. A log that it excludes is not
    /// there; one that is not empty wants logs.
    pub logs_bloom: Box<Bloom>,
    /// What the block's receipts hash to, its logs among them.
    pub receipts_root: B256,
    /// Whether everything in it hashes to its block's hash: then whoever knows the hash knows
    /// that the rest is true. Some chains hash other things, so the contrary says nothing.
    pub is_hash_proven: bool,
}

/// What no receipts at all hash to.
const EMPTY_ROOT_HASH: B256 = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// A block's receipts, worked through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipts {
    /// What they hash to: the header's root, if they are the block's and whole.
    pub root: B256,
    /// Every log in them, in order.
    pub logs: Vec<LogEvent>,
    /// Whether the root covers every log: none is in a receipt that chains leave out of it, and
    /// their places are those that their order gives. Hashes of transactions are in no root.
    pub is_covered: bool,
}

impl Receipts {
    /// Whether they prove their logs to be all logs of the header's block. A header that does
    /// not hash to its hash may have something else in the place of its root, the root of
    /// nothing above all: there the bloom has to speak for them as well.
    pub fn prove(&self, header: &Header) -> bool {
        let is_told_by_header = || {
            self.root != EMPTY_ROOT_HASH && BloomFit::of(&header.logs_bloom, &self.logs) != BloomFit::Lacking
        };
        self.is_covered && self.root == header.receipts_root && (header.is_hash_proven || is_told_by_header())
    }
}

/// Which logs are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogFilter {
    /// Emitted by one of these; by anybody when empty.
    pub addresses: Vec<Address>,
    /// For each topic the values that fit; any when empty.
    pub topics: Vec<Vec<B256>>,
}

impl LogFilter {
    /// Whether a log is wanted.
    pub fn matches(&self, log: &LogEvent) -> bool {
        let topics = log.topics.as_slice();
        let fits = |(place, wanted): (usize, &Vec<B256>)| match topics.get(place) {
            Some(topic) => wanted.is_empty() || wanted.contains(topic),
            None => false,
        };
        (self.addresses.is_empty() || self.addresses.contains(&log.address))
            && self.topics.iter().enumerate().all(fits)
    }

    /// Whether a block with this bloom may have wanted logs; `false` is certain.
    pub fn may_match(&self, bloom: &Bloom) -> bool {
        let may_have = |value: &[u8]| bloom.contains_input(BloomInput::Raw(value));
        let any = |values: &[B256]| values.is_empty() || values.iter().any(|value| may_have(&value[..]));
        !bloom.is_zero()
            && (self.addresses.is_empty() || self.addresses.iter().any(|address| may_have(&address[..])))
            && self.topics.iter().all(|values| any(values))
    }
}

/// Where logs are wanted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogSpan {
    /// One block, asked for by its hash: right near the head. An answer is of this number too.
    Block(BlockRef),
    /// A range, by number: right behind finality.
    Range(BlockRange),
    /// A range of the chain that has this block: the endpoint that gave the logs is asked for the
    /// block behind them. One that serves another chain by then does not know the block.
    RangeOnChain {
        /// Which blocks.
        blocks: BlockRange,
        /// A final block of the chain.
        anchor: BlockRef,
    },
}

impl LogSpan {
    /// The blocks of a range; `None` for a single block by its hash.
    pub const fn range(self) -> Option<BlockRange> {
        match self {
            Self::Block(_) => None,
            Self::Range(blocks) | Self::RangeOnChain { blocks, .. } => Some(blocks),
        }
    }
}

/// Refuses another block, or none, in the place of the one that tells a chain from others.
pub fn expect_anchor(anchor: BlockRef, found: Option<BlockRef>) -> Result<(), ChainError> {
    let refused = |what: String| Err(ChainError::new(ChainErrorKind::UnknownBlock, what));
    match found {
        Some(found) if found == anchor => Ok(()),
        Some(found) => refused(format!("the endpoint has block {found} where block {anchor} is final")),
        None => refused(format!("the endpoint does not know block {anchor}, which is final")),
    }
}

/// Reads a chain. An answer may come from a node that lags or lies: callers check.
#[async_trait]
pub trait ChainReader: Send + Sync {
    /// Which chain the endpoint serves.
    async fn chain_id(&self) -> Result<ChainId, ChainError>;

    /// A block's header; `None` when the endpoint does not know it.
    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError>;

    /// The headers of blocks of the canonical chain, in the order of the numbers.
    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        let mut headers = Vec::with_capacity(numbers.len());
        for number in numbers {
            headers.push(self.header(BlockTag::Number(*number)).await?);
        }
        Ok(headers)
    }

    /// The logs of a block or range, in order.
    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError>;

    /// The logs of a block whose header is known. None are no answer where the header's bloom
    /// may have some, since an endpoint that lags says the same: then all logs of the block
    /// are asked for, which cannot be none. Where that is refused, the error says so.
    async fn block_logs(&self, header: &Header, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let span = LogSpan::Block(header.block.block_ref());
        let logs = self.logs(span, filter).await?;
        if !logs.is_empty() || !filter.may_match(&header.logs_bloom) {
            return Ok(logs);
        }
        confirmed(header, filter, self.logs(span, &LogFilter::default()).await)
    }

    /// The logs of blocks in a row whose headers are known, in order. They are asked for by
    /// number: the caller checks them against the headers.
    async fn logs_of_blocks(
        &self,
        headers: &[Header],
        filter: &LogFilter,
    ) -> Result<Vec<LogEvent>, ChainError> {
        match (headers.first(), headers.last()) {
            (Some(first), Some(last)) => {
                let range = BlockRange { from: first.block.number, to: last.block.number };
                self.logs(LogSpan::Range(range), filter).await
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Every receipt of a block; `None` when the endpoint cannot tell them.
    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError>;

    /// The code at an address; empty when there is no contract.
    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError>;

    /// A header as each endpoint has it: to compare, so one endpoint's word is not enough.
    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        vec![EndpointAnswer::sole(self.header(block).await)]
    }

    /// The logs of a block or range as each endpoint has them.
    async fn logs_from_each(&self, span: LogSpan, filter: &LogFilter) -> Vec<EndpointAnswer<Vec<LogEvent>>> {
        vec![EndpointAnswer::sole(self.logs(span, filter).await)]
    }

    /// A block's receipts as each endpoint has them.
    async fn receipts_from_each(&self, block: &BlockHeader) -> Vec<EndpointAnswer<Option<Receipts>>> {
        vec![EndpointAnswer::sole(self.receipts(block).await)]
    }

    /// Takes note that an endpoint's answer about logs was proven false. A reader of several
    /// endpoints asks the others about logs for a while.
    fn report_false_answer(&self, _endpoint: &str, _answer: &FalseAnswer) {}

    /// Takes note that an endpoint has other blocks than those that are final and that another
    /// endpoint has. A reader of several endpoints asks the others for a while.
    fn report_other_chain(&self, _endpoint: &str, _why: &str) {}

    /// What is the matter with single endpoints, a sentence each that names the endpoint; none
    /// where all is well.
    fn endpoint_notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// The names of the endpoints behind it, without anything secret; none where there is only one.
    fn endpoint_names(&self) -> Vec<String> {
        Vec::new()
    }

    /// How many blocks to ask for next: what has been learned of this filter, so that
    /// the answer is neither refused nor needlessly small.
    fn range_size(&self, filter: &LogFilter) -> u64;
}

/// Of all logs of a block those that a filter wants. An error if there are none at all,
/// although the header's bloom has some.
pub fn of_block(
    header: &Header,
    filter: &LogFilter,
    mut all: Vec<LogEvent>,
) -> Result<Vec<LogEvent>, ChainError> {
    if all.is_empty() && !header.logs_bloom.is_zero() {
        let number = header.block.number;
        let message = format!("the endpoint has no logs for block {number}, whose bloom has some");
        return Err(ChainError::new(ChainErrorKind::UnknownBlock, message));
    }
    all.retain(|log| filter.matches(log));
    Ok(all)
}

/// What the answer about all logs of a block says of those that a filter wants, of which the
/// endpoint had none. Some endpoints refuse questions without a contract.
pub fn confirmed(
    header: &Header,
    filter: &LogFilter,
    all: Result<Vec<LogEvent>, ChainError>,
) -> Result<Vec<LogEvent>, ChainError> {
    match all {
        Ok(all) => of_block(header, filter, all),
        Err(error)
            if matches!(error.kind, ChainErrorKind::Refused | ChainErrorKind::RangeTooLarge { .. }) =>
        {
            let number = header.block.number;
            let message = format!(
                "the endpoint has no wanted logs of block {number}, whose bloom may have some, and does not \
                 tell the others: {}",
                error.message
            );
            Err(ChainError::new(ChainErrorKind::Unconfirmed, message))
        }
        Err(error) => Err(error),
    }
}

/// An endpoint's failure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ChainError {
    /// What kind of trouble.
    pub kind: ChainErrorKind,
    /// In words, without the endpoint's URL.
    pub message: String,
    /// Whether and when to ask the same again.
    pub retry: RetryAdvice,
}

/// What kind of trouble an endpoint is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChainErrorKind {
    /// It cannot be reached, reset the connection or took too long.
    Unreachable,
    /// It wants fewer requests.
    RateLimited,
    /// It wants a smaller range, perhaps this one.
    RangeTooLarge {
        /// The range it said would work.
        suggested: Option<BlockRange>,
    },
    /// It does not know the block that was asked for.
    UnknownBlock,
    /// It has no wanted logs of a block, and refuses the question that would confirm it.
    Unconfirmed,
    /// Its answer makes no sense.
    Malformed,
    /// It refused, with words of its own.
    Refused,
}

impl ChainError {
    /// A failure with the advice that is usual for its kind.
    pub fn new(kind: ChainErrorKind, message: impl Into<String>) -> Self {
        let after = |ms| RetryAdvice::After(Duration::from_millis(ms));
        let retry = match kind {
            ChainErrorKind::Unreachable | ChainErrorKind::Malformed | ChainErrorKind::Unconfirmed => {
                after(500)
            }
            ChainErrorKind::RateLimited => after(1_000),
            ChainErrorKind::UnknownBlock => after(200),
            ChainErrorKind::RangeTooLarge { .. } | ChainErrorKind::Refused => RetryAdvice::Never,
        };
        Self { kind, message: message.into(), retry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Topics;

    fn log(address: u8, topics: &[u8]) -> LogEvent {
        let words: Vec<B256> = topics.iter().map(|byte| B256::repeat_byte(*byte)).collect();
        LogEvent {
            chain: ChainId::new(1).expect("an id"),
            block: BlockRef { number: 1, hash: B256::ZERO },
            log_index: 0,
            timestamp_s: 0,
            transaction_hash: B256::ZERO,
            address: Address::repeat_byte(address),
            topics: Topics::new(&words).expect("few enough"),
            data: Bytes::new(),
        }
    }

    #[test]
    fn receipts_prove_what_a_root_says_that_is_one() {
        let logs = vec![log(1, &[2])];
        let mut bloom = Bloom::ZERO;
        bloom.accrue_raw_log(logs[0].address, logs[0].topics.as_slice());
        let block = BlockHeader { number: 1, hash: B256::ZERO, parent_hash: B256::ZERO, timestamp_s: 0 };
        let header = |receipts_root, logs_bloom, is_hash_proven| Header {
            block,
            logs_bloom: Box::new(logs_bloom),
            receipts_root,
            is_hash_proven,
        };
        let root = B256::repeat_byte(7);
        let receipts = Receipts { root, logs, is_covered: true };
        let none = Receipts { root: EMPTY_ROOT_HASH, logs: Vec::new(), is_covered: true };
        for is_hash_proven in [true, false] {
            assert!(receipts.prove(&header(root, bloom, is_hash_proven)));
            assert!(!receipts.prove(&header(B256::ZERO, bloom, is_hash_proven)), "another root");
            let outside = Receipts { is_covered: false, ..receipts.clone() };
            assert!(!outside.prove(&header(root, bloom, is_hash_proven)));
            // Only a header that hashes to its hash is known to mean the root of nothing.
            assert_eq!(none.prove(&header(EMPTY_ROOT_HASH, Bloom::ZERO, is_hash_proven)), is_hash_proven);
        }
        assert!(!none.prove(&header(EMPTY_ROOT_HASH, bloom, false)), "the bloom says otherwise");
        let some = Receipts { logs: Vec::new(), ..receipts };
        assert!(!some.prove(&header(root, bloom, false)), "the bloom says otherwise");
    }

    #[test]
    fn a_block_is_named_in_words() {
        assert_eq!(BlockTag::Latest.to_string(), "the latest block");
        assert_eq!(BlockTag::Number(7).to_string(), "block 7");
        assert_eq!(BlockRange { from: 1, to: 34 }.to_string(), "1 to 34");
    }

    fn filter(addresses: &[u8], topics: &[&[u8]]) -> LogFilter {
        LogFilter {
            addresses: addresses.iter().map(|byte| Address::repeat_byte(*byte)).collect(),
            topics: topics
                .iter()
                .map(|values| values.iter().map(|byte| B256::repeat_byte(*byte)).collect())
                .collect(),
        }
    }

    #[test]
    fn a_filter_wants_what_it_names() {
        let some = log(1, &[2, 3]);
        for wanting in
            [filter(&[], &[]), filter(&[9, 1], &[]), filter(&[1], &[&[2]]), filter(&[], &[&[], &[8, 3]])]
        {
            assert!(wanting.matches(&some), "{wanting:?}");
        }
        for not in [filter(&[9], &[]), filter(&[1], &[&[3]]), filter(&[], &[&[2], &[3], &[]])] {
            assert!(!not.matches(&some), "{not:?}");
        }
    }

    #[test]
    fn a_bloom_never_excludes_what_matches() {
        let mut bloom = Bloom::default();
        assert!(!filter(&[], &[]).may_match(&bloom));
        bloom.accrue_raw_log(Address::repeat_byte(1), &[B256::repeat_byte(2), B256::repeat_byte(3)]);
        for wanting in
            [filter(&[], &[]), filter(&[9, 1], &[]), filter(&[1], &[&[2]]), filter(&[], &[&[], &[8, 3]])]
        {
            assert!(wanting.may_match(&bloom), "{wanting:?}");
        }
        assert!(!filter(&[9], &[]).may_match(&bloom));
        assert!(!filter(&[1], &[&[7]]).may_match(&bloom));
    }

    #[test]
    fn only_passing_trouble_is_worth_a_retry() {
        assert!(matches!(ChainError::new(ChainErrorKind::RateLimited, "x").retry, RetryAdvice::After(_)));
        assert_eq!(ChainError::new(ChainErrorKind::Refused, "no").retry, RetryAdvice::Never);
    }
}
