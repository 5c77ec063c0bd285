//! What can be asked, and which answers another endpoint may better. Questions about logs are
//! in `log_question`.

use std::future::Future;
use std::pin::Pin;

use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId};
use windlass_core::reader::{BlockTag, ChainError, Header, Receipts};

use super::member::Source;

/// Questions that take about as long as each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    ChainId,
    Head,
    Headers,
    BlockLogs,
    RangeLogs,
    Receipts,
    Code,
    Call,
    State,
    Send,
}

impl Kind {
    pub(super) const COUNT: usize = 10;

    /// Whether every endpoint serves it: one that refuses has had too much.
    pub(super) fn is_always_served(self) -> bool {
        matches!(self, Self::Head | Self::Headers | Self::BlockLogs | Self::RangeLogs)
    }

    /// Whether it takes about as long whatever it is about, so that one that takes much longer
    /// than usual is known to hang. How long history takes depends on how much of it is asked for.
    pub(super) fn has_usual_time(self) -> bool {
        matches!(self, Self::Head | Self::Headers | Self::BlockLogs)
    }

    /// Whether it is about logs.
    pub(super) fn is_about_logs(self) -> bool {
        matches!(self, Self::BlockLogs | Self::RangeLogs)
    }

    /// Whether it is about the newest blocks: such are few, urgent, and best put to one endpoint.
    pub(super) fn is_about_heads(self) -> bool {
        matches!(self, Self::Head | Self::BlockLogs)
    }
}

/// So many of the newest blocks are those that the head may not have yet.
const URGENT_BLOCKS: u64 = 1_000;
/// Of so many of the newest blocks the head may wait for logs that endpoints disagree about.
pub(super) const NEWEST_BLOCKS: u64 = 16;

/// An answer under way, as the port gives it.
pub(super) type Asked<'a, A> = Pin<Box<dyn Future<Output = Result<A, ChainError>> + Send + 'a>>;

/// A question with its answer's type.
pub(super) trait Question: Sync {
    type Answer: Send;

    fn kind(&self) -> Kind;

    /// How many calls it takes, as providers count them.
    fn calls(&self) -> u32 {
        1
    }

    /// Whether what follows the head waits for it, where this is the newest block that any
    /// endpoint is known to have: it goes before whatever is about history.
    fn is_urgent(&self, _newest: Option<u64>) -> bool {
        self.kind().is_about_heads()
    }

    /// Whether it asks for the newest block.
    fn is_for_newest(&self) -> bool {
        false
    }

    /// Whether the head waits for it although it is asked to compare endpoints.
    fn is_compared_first(&self, _newest: Option<u64>) -> bool {
        false
    }

    /// Puts it to one endpoint.
    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Self::Answer>;

    /// Whether the answer says that the endpoint does not know, and another may.
    fn is_unknown(&self, _answer: &Self::Answer) -> bool {
        false
    }

    /// Whether of two answers that do not know all the second knows more.
    fn is_better(&self, _one: &Self::Answer, _other: &Self::Answer) -> bool {
        false
    }

    /// The highest block that it takes to answer.
    fn needs(&self) -> Option<u64> {
        None
    }

    /// The block that an endpoint must have before it is asked: it would answer without.
    fn presumes(&self) -> Option<u64> {
        None
    }

    /// The block it is about, where the hash is known.
    fn about(&self) -> Option<B256> {
        None
    }

    /// Whether the endpoint is known to refuse it.
    fn is_refused_by(&self, _source: &dyn Source) -> bool {
        false
    }

    /// Tells another endpoint what the answer says about the chain.
    fn share(&self, _answer: &Self::Answer, _other: &dyn Source) {}

    /// The block that the answer shows the endpoint to have.
    fn shows(&self, _answer: &Self::Answer) -> Option<BlockRef> {
        None
    }

    /// Whether a wrong answer shows, so that also an endpoint may be asked whose logs were
    /// proven false before, if nobody else answers.
    fn shows_false_answers(&self) -> bool {
        false
    }

    /// Whether the header that shows the block hashes to the block's hash.
    fn is_proven(&self, _answer: &Self::Answer) -> bool {
        false
    }

    /// The block whose logs an endpoint that said there are none may have left out, now that
    /// another has some.
    fn accuses(&self) -> Option<BlockRef> {
        None
    }
}

pub(super) struct AskChainId {
    pub(super) chain: ChainId,
}

impl Question for AskChainId {
    type Answer = ChainId;

    fn kind(&self) -> Kind {
        Kind::ChainId
    }

    /// Every endpoint has named the pool's chain before it is asked anything.
    fn put<'a>(&'a self, _source: &'a dyn Source) -> Asked<'a, ChainId> {
        Box::pin(std::future::ready(Ok(self.chain)))
    }
}

/// A header. Where `wants_proof`, one that does not hash to its hash is no answer if another
/// endpoint's does.
pub(super) struct AskHeader {
    pub(super) block: BlockTag,
    pub(super) wants_proof: bool,
}

impl Question for AskHeader {
    type Answer = Option<Header>;

    fn kind(&self) -> Kind {
        Kind::Head
    }

    fn is_for_newest(&self) -> bool {
        self.block == BlockTag::Latest
    }

    fn is_compared_first(&self, _newest: Option<u64>) -> bool {
        matches!(self.block, BlockTag::Latest | BlockTag::Safe | BlockTag::Finalized)
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Option<Header>> {
        source.header(self.block)
    }

    fn is_unknown(&self, answer: &Option<Header>) -> bool {
        answer.as_ref().is_none_or(|header| self.wants_proof && !header.is_hash_proven)
    }

    fn is_better(&self, one: &Option<Header>, other: &Option<Header>) -> bool {
        one.is_none() && other.is_some()
    }

    fn is_proven(&self, answer: &Option<Header>) -> bool {
        answer.as_ref().is_some_and(|header| header.is_hash_proven)
    }

    fn needs(&self) -> Option<u64> {
        match self.block {
            BlockTag::Number(number) => Some(number),
            _ => None,
        }
    }

    fn about(&self) -> Option<B256> {
        match self.block {
            BlockTag::Hash(hash) => Some(hash),
            _ => None,
        }
    }

    fn shows(&self, answer: &Option<Header>) -> Option<BlockRef> {
        answer.as_ref().map(|header| header.block.block_ref())
    }
}

/// Headers in the order of the numbers; see [`AskHeader`].
pub(super) struct AskHeaders<'a> {
    pub(super) numbers: &'a [u64],
    pub(super) wants_proof: bool,
}

impl AskHeaders<'_> {
    fn missing(&self, answer: &[Option<Header>]) -> usize {
        let is_missing = |header: &&Option<Header>| {
            header.as_ref().is_none_or(|header| self.wants_proof && !header.is_hash_proven)
        };
        answer.iter().filter(is_missing).count()
    }
}

impl Question for AskHeaders<'_> {
    type Answer = Vec<Option<Header>>;

    fn kind(&self) -> Kind {
        Kind::Headers
    }

    fn calls(&self) -> u32 {
        u32::try_from(self.numbers.len()).unwrap_or(u32::MAX)
    }

    fn is_urgent(&self, newest: Option<u64>) -> bool {
        self.needs().zip(newest).is_some_and(|(last, newest)| last.saturating_add(URGENT_BLOCKS) >= newest)
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Self::Answer> {
        source.headers(self.numbers)
    }

    fn shows(&self, answer: &Self::Answer) -> Option<BlockRef> {
        answer.iter().flatten().map(|header| header.block.block_ref()).max_by_key(|block| block.number)
    }

    fn is_unknown(&self, answer: &Self::Answer) -> bool {
        self.missing(answer) > 0
    }

    fn is_better(&self, one: &Self::Answer, other: &Self::Answer) -> bool {
        self.missing(other) < self.missing(one)
    }

    fn is_proven(&self, answer: &Self::Answer) -> bool {
        let newest = answer.iter().flatten().max_by_key(|header| header.block.number);
        newest.is_some_and(|header| header.is_hash_proven)
    }

    fn needs(&self) -> Option<u64> {
        self.numbers.iter().copied().max()
    }
}

pub(super) struct AskReceipts<'a> {
    pub(super) block: &'a BlockHeader,
}

impl Question for AskReceipts<'_> {
    type Answer = Option<Receipts>;

    fn kind(&self) -> Kind {
        Kind::Receipts
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Option<Receipts>> {
        source.receipts(self.block)
    }

    fn is_unknown(&self, answer: &Option<Receipts>) -> bool {
        answer.is_none()
    }

    fn needs(&self) -> Option<u64> {
        Some(self.block.number)
    }

    fn about(&self) -> Option<B256> {
        Some(self.block.hash)
    }
}

pub(super) struct AskCode {
    pub(super) address: Address,
    pub(super) at: BlockTag,
}

impl Question for AskCode {
    type Answer = Bytes;

    fn kind(&self) -> Kind {
        Kind::Code
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Bytes> {
        source.code(self.address, self.at)
    }
}
