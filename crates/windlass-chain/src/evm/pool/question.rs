//! What can be asked, and which answers another endpoint may better.

use std::future::Future;
use std::pin::Pin;

use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, Header, LogFilter, LogSpan, Receipts};

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

    /// Whether it is about the newest blocks: such are few, urgent, and best put to one endpoint.
    pub(super) fn is_about_heads(self) -> bool {
        matches!(self, Self::Head | Self::BlockLogs)
    }
}

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

    /// Why an endpoint that did not know is wrong, now that another knows; nothing where
    /// it may just be a little behind.
    fn contradiction(&self) -> Option<String> {
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

pub(super) struct AskHeader {
    pub(super) block: BlockTag,
}

impl Question for AskHeader {
    type Answer = Option<Header>;

    fn kind(&self) -> Kind {
        Kind::Head
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Option<Header>> {
        source.header(self.block)
    }

    fn is_unknown(&self, answer: &Option<Header>) -> bool {
        answer.is_none()
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

pub(super) struct AskHeaders<'a> {
    pub(super) numbers: &'a [u64],
}

impl AskHeaders<'_> {
    fn missing(answer: &[Option<Header>]) -> usize {
        answer.iter().filter(|header| header.is_none()).count()
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

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Self::Answer> {
        source.headers(self.numbers)
    }

    fn shows(&self, answer: &Self::Answer) -> Option<BlockRef> {
        answer.iter().flatten().map(|header| header.block.block_ref()).max_by_key(|block| block.number)
    }

    fn is_unknown(&self, answer: &Self::Answer) -> bool {
        Self::missing(answer) > 0
    }

    fn is_better(&self, one: &Self::Answer, other: &Self::Answer) -> bool {
        Self::missing(other) < Self::missing(one)
    }

    fn needs(&self) -> Option<u64> {
        self.numbers.iter().copied().max()
    }
}

pub(super) struct AskLogs<'a> {
    pub(super) span: LogSpan,
    pub(super) filter: &'a LogFilter,
}

impl AskLogs<'_> {
    /// How long the range is, if it is one.
    fn blocks(&self) -> Option<u64> {
        match self.span {
            LogSpan::Block(_) => None,
            LogSpan::Range(range) => Some(range.to.saturating_sub(range.from).saturating_add(1)),
        }
    }
}

impl Question for AskLogs<'_> {
    type Answer = Vec<LogEvent>;

    fn kind(&self) -> Kind {
        match self.span {
            LogSpan::Block(_) => Kind::BlockLogs,
            LogSpan::Range(_) => Kind::RangeLogs,
        }
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Vec<LogEvent>> {
        source.logs(self.span, self.filter)
    }

    fn needs(&self) -> Option<u64> {
        match self.span {
            LogSpan::Block(_) => None,
            LogSpan::Range(range) => Some(range.to),
        }
    }

    /// Of blocks that an endpoint does not have, it says that they hold no logs.
    fn presumes(&self) -> Option<u64> {
        self.needs()
    }

    fn about(&self) -> Option<B256> {
        match self.span {
            LogSpan::Block(block) => Some(block.hash),
            LogSpan::Range(_) => None,
        }
    }

    fn is_refused_by(&self, source: &dyn Source) -> bool {
        self.blocks().is_some_and(|blocks| source.refuses(self.filter, blocks))
    }

    fn share(&self, answer: &Vec<LogEvent>, other: &dyn Source) {
        if let Some(blocks) = self.blocks() {
            other.observe(self.filter, blocks, answer.len() as u64);
        }
    }
}

/// The logs of a block whose header is known: none are no answer where its bloom has some.
pub(super) struct AskBlockLogs<'a> {
    pub(super) header: &'a Header,
    pub(super) filter: &'a LogFilter,
}

impl Question for AskBlockLogs<'_> {
    type Answer = Vec<LogEvent>;

    fn kind(&self) -> Kind {
        Kind::BlockLogs
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Vec<LogEvent>> {
        source.logs(LogSpan::Block(self.header.block.block_ref()), self.filter)
    }

    fn is_unknown(&self, answer: &Vec<LogEvent>) -> bool {
        answer.is_empty() && self.filter.may_match(&self.header.logs_bloom)
    }

    fn about(&self) -> Option<B256> {
        Some(self.header.block.hash)
    }

    fn shows_false_answers(&self) -> bool {
        true
    }

    fn contradiction(&self) -> Option<String> {
        Some(format!("it had no logs of block {}, which has some", self.header.block.number))
    }
}

/// The logs of blocks in a row whose headers are known, by number: a block without logs is no
/// answer where its bloom has some.
pub(super) struct AskLogsOfBlocks<'a> {
    headers: &'a [Header],
    logs: AskLogs<'a>,
}

impl<'a> AskLogsOfBlocks<'a> {
    /// `None` if there are no blocks.
    pub(super) fn new(headers: &'a [Header], filter: &'a LogFilter) -> Option<Self> {
        let range = BlockRange { from: headers.first()?.block.number, to: headers.last()?.block.number };
        Some(Self { headers, logs: AskLogs { span: LogSpan::Range(range), filter } })
    }

    /// How many blocks have no logs in the answer, although they may have some.
    fn missing(&self, answer: &[LogEvent]) -> usize {
        let has_logs = |header: &Header| answer.iter().any(|log| log.block.hash == header.block.hash);
        let may_have_some = |header: &&Header| self.logs.filter.may_match(&header.logs_bloom);
        self.headers.iter().filter(may_have_some).filter(|header| !has_logs(header)).count()
    }
}

impl Question for AskLogsOfBlocks<'_> {
    type Answer = Vec<LogEvent>;

    fn kind(&self) -> Kind {
        Kind::BlockLogs
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Vec<LogEvent>> {
        self.logs.put(source)
    }

    fn is_unknown(&self, answer: &Vec<LogEvent>) -> bool {
        self.missing(answer) > 0
    }

    fn is_better(&self, one: &Vec<LogEvent>, other: &Vec<LogEvent>) -> bool {
        self.missing(other) < self.missing(one)
    }

    fn needs(&self) -> Option<u64> {
        self.logs.needs()
    }

    fn presumes(&self) -> Option<u64> {
        self.logs.presumes()
    }

    fn is_refused_by(&self, source: &dyn Source) -> bool {
        self.logs.is_refused_by(source)
    }

    fn share(&self, answer: &Vec<LogEvent>, other: &dyn Source) {
        self.logs.share(answer, other);
    }

    fn shows_false_answers(&self) -> bool {
        true
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
