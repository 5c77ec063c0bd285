//! Blocks that were read and are not stored yet.
//!
//! Headers and logs of the next blocks are asked for ahead, in parallel and for several
//! blocks at once. What arrives is kept here from step to step, so that a question that
//! fails costs itself alone. Invariant: the first block follows the last stored one, each
//! further one its predecessor; otherwise they are dropped.

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use windlass_core::chain::BlockRef;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{ChainError, ChainReader, Header, LogFilter};

use crate::collect::block_logs;
use crate::collect::blooms::BloomTrust;
use crate::collect::routing::Routing;

/// The most headers that are asked for in one question. Each that fails is followed by one
/// of half the size, so that some pass however many fail.
const MAX_HEADERS_PER_QUESTION: usize = 50;
/// Questions about headers or logs that are under way at once.
pub(super) const QUESTIONS_AT_ONCE: usize = 4;
/// The most blocks whose logs are asked for in one question; half as many after one that
/// failed, like headers.
const MAX_LOG_BLOCKS: u64 = 128;

/// A block that was read.
pub(super) struct ReadBlock {
    pub(super) header: Header,
    /// Its logs and what sorts them, once they are known.
    pub(super) logs: Option<(Arc<Routing>, Vec<LogEvent>)>,
}

/// Blocks in a row.
pub(super) struct ReadAhead {
    blocks: VecDeque<ReadBlock>,
    headers_per_question: usize,
    /// Whether nobody had one of the headers that were asked for last.
    has_gap: bool,
    log_blocks_per_question: u64,
}

impl Default for ReadAhead {
    fn default() -> Self {
        Self {
            blocks: VecDeque::new(),
            headers_per_question: MAX_HEADERS_PER_QUESTION,
            has_gap: false,
            log_blocks_per_question: MAX_LOG_BLOCKS,
        }
    }
}

/// Whether the chain goes on from the last stored block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// The next block follows it, or it is the newest itself.
    Follows,
    /// The next block follows another one.
    Broken,
    /// There is no next block yet.
    Nothing,
}

impl ReadAhead {
    /// Drops what does not follow the last stored block, or is not on the way to the newest.
    pub(super) fn align(&mut self, position: BlockRef, newest: &Header) {
        let follows = self.blocks.front().is_some_and(|first| first.header.block.follows(&position));
        let last = self.blocks.back().map(|last| last.header.block.block_ref());
        let is_off = last.is_some_and(|last| {
            let newest = newest.block.block_ref();
            newest.number < last.number || (newest.number == last.number && newest != last)
        });
        if !follows || is_off {
            self.blocks.clear();
        }
    }

    /// Forgets what the logs were sorted by: other sources are collected now.
    pub(super) fn forget_logs(&mut self) {
        self.blocks.iter_mut().for_each(|block| block.logs = None);
    }

    /// Reads the headers up to the newest, or as many as are wanted at once. An error is told
    /// besides what could be read. Blocks of earlier steps that the new headers do not follow
    /// are of a branch that the chain has left, so all are read anew.
    pub(super) async fn read_headers(
        &mut self,
        reader: &dyn ChainReader,
        position: BlockRef,
        newest: &Header,
        max_blocks: u64,
    ) -> (Link, Option<ChainError>) {
        self.align(position, newest);
        let has_kept = !self.blocks.is_empty();
        let (mut is_broken, mut error) = self.read_next_headers(reader, position, newest, max_blocks).await;
        if is_broken && has_kept {
            self.blocks.clear();
            (is_broken, error) = self.read_next_headers(reader, position, newest, max_blocks).await;
        }
        let link = match self.blocks.is_empty() {
            false => Link::Follows,
            // Only the first header speaks against what is stored.
            true if is_broken => Link::Broken,
            true => Link::Nothing,
        };
        (link, error)
    }

    /// Reads on from the last block; says whether a header did not follow it.
    async fn read_next_headers(
        &mut self,
        reader: &dyn ChainReader,
        position: BlockRef,
        newest: &Header,
        max_blocks: u64,
    ) -> (bool, Option<ChainError>) {
        let from = self.end(position).number + 1;
        let to = newest.block.number.min(position.number + max_blocks);
        // The newest is here already.
        let asked_to = to.min(newest.block.number - 1);
        let mut numbers: Vec<u64> = (from..=asked_to).collect();
        if std::mem::take(&mut self.has_gap) {
            numbers.truncate(self.headers_per_question);
        }
        let questions: Vec<_> =
            numbers.chunks(self.headers_per_question).map(|numbers| reader.headers(numbers)).collect();
        let mut answers = stream::iter(questions).buffered(QUESTIONS_AT_ONCE);
        while let Some(answer) = answers.next().await {
            let headers = match answer {
                Ok(headers) => headers,
                Err(error) => {
                    self.headers_per_question = (self.headers_per_question / 2).max(1);
                    return (false, Some(error));
                }
            };
            if headers.iter().all(Option::is_some) {
                self.headers_per_question = (self.headers_per_question * 2).min(MAX_HEADERS_PER_QUESTION);
            }
            for header in headers {
                let Some(header) = header else {
                    // A newest block that is far away may be made up: the rest is not asked for.
                    self.headers_per_question = (self.headers_per_question / 2).max(1);
                    self.has_gap = true;
                    return (false, None);
                };
                if !self.push(position, header) {
                    return (true, None);
                }
            }
        }
        drop(answers);
        let is_newest_next =
            self.end(position).number + 1 == newest.block.number && to == newest.block.number;
        (is_newest_next && !self.push(position, newest.clone()), None)
    }

    /// The last block that is stored or read.
    fn end(&self, position: BlockRef) -> BlockRef {
        self.blocks.back().map_or(position, |last| last.header.block.block_ref())
    }

    fn push(&mut self, position: BlockRef, header: Header) -> bool {
        let follows = header.block.follows(&self.end(position));
        if follows {
            self.blocks.push_back(ReadBlock { header, logs: None });
        }
        follows
    }

    /// Drops what was read and begins again with this block, which follows the last stored one.
    pub(super) fn restart(&mut self, next: Header) {
        self.blocks.clear();
        self.blocks.push_back(ReadBlock { header: next, logs: None });
    }

    /// The next blocks whose logs are not known yet.
    pub(super) fn without_logs(&self) -> impl Iterator<Item = &Header> {
        self.blocks.iter().filter(|block| block.logs.is_none()).map(|block| &block.header)
    }

    /// Whether a block was read and its logs were not.
    pub(super) fn lacks_logs(&self, block: BlockRef) -> bool {
        self.without_logs().any(|header| header.block.block_ref() == block)
    }

    /// For how many blocks logs are asked at once.
    pub(super) fn log_blocks_per_question(&self) -> u64 {
        self.log_blocks_per_question
    }

    /// Notes whether all questions for logs were answered.
    pub(super) fn asked_for_logs(&mut self, is_answered: bool) {
        let size = self.log_blocks_per_question;
        self.log_blocks_per_question = if is_answered { size * 2 } else { size / 2 }.clamp(1, MAX_LOG_BLOCKS);
    }

    /// Keeps the logs of a block.
    pub(super) fn keep_logs(&mut self, block: BlockRef, routing: &Arc<Routing>, logs: Vec<LogEvent>) {
        let kept = self.blocks.iter_mut().find(|read| read.header.block.block_ref() == block);
        if let Some(read) = kept {
            read.logs = Some((routing.clone(), logs));
        }
    }

    /// Drops the blocks from the first without logs on: they are read anew.
    pub(super) fn drop_without_logs(&mut self) {
        let complete = self.blocks.iter().take_while(|read| read.logs.is_some()).count();
        self.blocks.truncate(complete);
    }

    /// How many logs were read and are not stored.
    pub(super) fn log_count(&self) -> usize {
        self.blocks.iter().filter_map(|read| read.logs.as_ref()).map(|(_, logs)| logs.len()).sum()
    }

    /// Drops a block and all behind it: the chain has others by now.
    pub(super) fn drop_from(&mut self, number: u64) {
        self.blocks.retain(|read| read.header.block.number < number);
    }

    /// The blocks that are complete, from the first on, and no more logs than fit.
    pub(super) fn complete(&self, max_logs: usize) -> Vec<&ReadBlock> {
        let mut logs = 0;
        let fits = |read: &&ReadBlock| match &read.logs {
            Some((_, of_block)) => {
                let is_first = logs == 0;
                logs += of_block.len();
                is_first || logs <= max_logs
            }
            None => false,
        };
        self.blocks.iter().take_while(fits).collect()
    }

    /// Forgets the first blocks: they are stored.
    pub(super) fn stored(&mut self, count: usize) {
        self.blocks.drain(..count.min(self.blocks.len()));
    }
}

/// The logs of blocks in a row that share a filter, or what went wrong.
#[derive(Default)]
pub(super) struct LogsRead {
    /// For each block that could be read its logs.
    pub(super) logs: Vec<(BlockRef, Vec<LogEvent>)>,
    /// The first block that the chain does not have any more.
    pub(super) replaced: Option<u64>,
    /// Why blocks that were asked about one by one could not be read.
    pub(super) failed: Vec<(BlockRef, ChainError)>,
    /// Why others could not be read.
    pub(super) error: Option<ChainError>,
}

/// Asks for the logs of blocks in a row, for at most so many of them in one question.
pub(super) async fn read_logs(
    reader: &dyn ChainReader,
    (headers, max_blocks): (&[Header], u64),
    filter: &LogFilter,
    blooms: &BloomTrust,
) -> LogsRead {
    let size = reader.range_size(filter).clamp(1, max_blocks.max(1));
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let questions: Vec<_> =
        headers.chunks(size).map(|headers| read_run(reader, headers, filter, blooms)).collect();
    let answers: Vec<LogsRead> = stream::iter(questions).buffered(QUESTIONS_AT_ONCE).collect().await;
    let mut read = LogsRead::default();
    for answer in answers {
        read.logs.extend(answer.logs);
        read.replaced = read.replaced.or(answer.replaced);
        read.failed.extend(answer.failed);
        read.error = read.error.or(answer.error);
    }
    read
}

/// The same for blocks that fit into one question.
async fn read_run(
    reader: &dyn ChainReader,
    headers: &[Header],
    filter: &LogFilter,
    blooms: &BloomTrust,
) -> LogsRead {
    let mut read = LogsRead::default();
    let (asked, excluded): (Vec<&Header>, Vec<&Header>) =
        headers.iter().partition(|header| blooms.must_ask(header, filter));
    let silent = |header: &&Header| (header.block.block_ref(), Vec::new());
    let (Some(first), Some(last)) = (asked.first(), asked.last()) else {
        read.logs.extend(excluded.iter().map(silent));
        return read;
    };
    let range = BlockRange { from: first.block.number, to: last.block.number };
    let outside = excluded.iter().filter(|header| !range.contains(header.block.number));
    read.logs.extend(outside.map(silent));
    if asked.len() == 1 {
        read.take(first, block_logs::of_header(reader, first, filter).await);
        return read;
    }
    let inside: Vec<Header> =
        headers.iter().filter(|header| range.contains(header.block.number)).cloned().collect();
    match reader.logs_of_blocks(&inside, filter).await {
        Ok(logs) => read.take_range(reader, &inside, filter, blooms, logs).await,
        Err(error) => read.error = Some(error),
    }
    read
}

impl LogsRead {
    fn take(&mut self, header: &Header, answer: Result<Vec<LogEvent>, ChainError>) {
        match answer {
            Ok(logs) => self.logs.push((header.block.block_ref(), logs)),
            Err(error) => self.failed.push((header.block.block_ref(), error)),
        }
    }

    /// Whether everything was read.
    pub(super) fn is_whole(&self) -> bool {
        self.failed.is_empty() && self.error.is_none()
    }

    /// Takes an answer by number apart. A log of another block at the same height shows that
    /// the chain has changed; a block without logs that its bloom may have is asked for again,
    /// by its hash. So is every block without logs where blooms say nothing: a node that has fallen
    /// behind has none either.
    async fn take_range(
        &mut self,
        reader: &dyn ChainReader,
        headers: &[Header],
        filter: &LogFilter,
        blooms: &BloomTrust,
        logs: Vec<LogEvent>,
    ) {
        let known = |log: &LogEvent| headers.iter().any(|header| header.block.block_ref() == log.block);
        let replaced = logs.iter().filter(|log| !known(log)).map(|log| log.block.number).min();
        let mut logs = logs.into_iter().peekable();
        let mut doubtful = Vec::new();
        for header in headers {
            let block = header.block.block_ref();
            if replaced.is_some_and(|number| number <= block.number) {
                break;
            }
            let mut of_block = Vec::new();
            while let Some(log) = logs.next_if(|log| log.block == block) {
                of_block.push(log);
            }
            if of_block.is_empty() && (blooms.is_incomplete() || filter.may_match(&header.logs_bloom)) {
                doubtful.push(header);
            } else {
                self.take(header, block_logs::checked(&header.block, filter, of_block));
            }
        }
        self.replaced = replaced;
        let questions: Vec<_> =
            doubtful.iter().map(|header| block_logs::of_header(reader, header, filter)).collect();
        let answers: Vec<_> = stream::iter(questions).buffered(QUESTIONS_AT_ONCE).collect().await;
        for (header, answer) in doubtful.into_iter().zip(answers) {
            self.take(header, answer);
        }
    }
}
