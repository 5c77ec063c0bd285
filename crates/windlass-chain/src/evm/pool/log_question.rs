//! Questions about logs.

use windlass_core::chain::{B256, BlockRef};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{Header, LogFilter, LogSpan};

use super::member::Source;
use super::question::{Asked, Kind, NEWEST_BLOCKS, Question};
use crate::evm::reader::GivenLogs;

/// Logs of a block or a range; their times may be missing.
pub(super) struct AskLogs<'a> {
    pub(super) span: LogSpan,
    pub(super) filter: &'a LogFilter,
}

impl AskLogs<'_> {
    /// How long the range is, if it is one.
    fn blocks(&self) -> Option<u64> {
        self.span.range().map(|range| range.to.saturating_sub(range.from).saturating_add(1))
    }

    /// Tells another endpoint how many logs there are.
    fn share_count(&self, logs: usize, other: &dyn Source) {
        if let Some(blocks) = self.blocks() {
            other.observe(self.filter, blocks, logs as u64);
        }
    }
}

impl Question for AskLogs<'_> {
    type Answer = GivenLogs;

    fn kind(&self) -> Kind {
        if self.span.range().is_some() { Kind::RangeLogs } else { Kind::BlockLogs }
    }

    fn is_compared_first(&self, newest: Option<u64>) -> bool {
        match self.span {
            LogSpan::Block(block) => newest.is_some_and(|newest| block.number + NEWEST_BLOCKS >= newest),
            LogSpan::Range(_) | LogSpan::RangeOnChain { .. } => false,
        }
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, GivenLogs> {
        source.logs_as_given(self.span, self.filter)
    }

    fn needs(&self) -> Option<u64> {
        self.span.range().map(|range| range.to)
    }

    /// Of blocks that an endpoint does not have, it says that they hold no logs.
    fn presumes(&self) -> Option<u64> {
        self.needs()
    }

    fn about(&self) -> Option<B256> {
        match self.span {
            LogSpan::Block(block) => Some(block.hash),
            LogSpan::Range(_) | LogSpan::RangeOnChain { .. } => None,
        }
    }

    fn is_refused_by(&self, source: &dyn Source) -> bool {
        self.blocks().is_some_and(|blocks| source.refuses(self.filter, blocks))
    }

    fn share(&self, answer: &GivenLogs, other: &dyn Source) {
        self.share_count(answer.logs.len(), other);
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
        let given = source.block_logs_as_given(self.header, self.filter);
        with_times(given, std::slice::from_ref(self.header))
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

    fn accuses(&self) -> Option<BlockRef> {
        Some(self.header.block.block_ref())
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
        with_times(self.logs.put(source), self.headers)
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
        self.logs.share_count(answer.len(), other);
    }

    fn shows_false_answers(&self) -> bool {
        true
    }
}

/// The headers of blocks by their hashes, for the times of logs that came without.
pub(super) struct AskHeadersOfBlocks<'a> {
    pub(super) blocks: &'a [BlockRef],
}

impl Question for AskHeadersOfBlocks<'_> {
    type Answer = Vec<Header>;

    fn kind(&self) -> Kind {
        Kind::Headers
    }

    fn calls(&self) -> u32 {
        u32::try_from(self.blocks.len()).unwrap_or(u32::MAX)
    }

    fn put<'a>(&'a self, source: &'a dyn Source) -> Asked<'a, Vec<Header>> {
        source.headers_of_blocks(self.blocks)
    }

    fn needs(&self) -> Option<u64> {
        self.blocks.iter().map(|block| block.number).max()
    }
}

/// Logs whose times, where they are missing, these headers know.
fn with_times<'a>(given: Asked<'a, GivenLogs>, headers: &'a [Header]) -> Asked<'a, Vec<LogEvent>> {
    Box::pin(async move {
        let mut given = given.await?;
        given.set_times(headers);
        Ok(given.logs)
    })
}
