//! Settles blocks whose stored logs one answer contradicts: asks every endpoint, mends what is
//! proven, keeps and lists what is not, and names endpoints that were proven wrong.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use windlass_core::commit::Write;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    AnswerFault, ChainError, ChainErrorKind, ChainReader, EndpointAnswer, FalseAnswer, LogSpan,
};
use windlass_core::time::Timestamp;

use super::chain::CollectedChain;
use super::doubts::{Doubt, Doubts};
use super::error::CollectError;
use super::evidence::{Judged, Proof, Verdict, judge_block};
use super::mend::Mend;
use super::routing::Routing;

/// So many blocks are asked about at once.
pub(super) const BLOCKS_AT_ONCE: usize = 16;

/// What becomes of a block that endpoints do not answer about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// It fails, and all blocks with it.
    Fail,
    /// It is doubtful, so that others behind it have their turn.
    Doubt,
    /// It was doubtful before, and is asked about later.
    Postpone,
}

/// Settles blocks of some sources.
pub(super) struct BlockResolver<'a> {
    chain: &'a CollectedChain,
    reader: &'a dyn ChainReader,
    routing: &'a Routing,
    mend: Mend<'a>,
    now: Timestamp,
    /// The first block that was mended, and how many were.
    first_mended: Option<u64>,
    mended: u64,
    /// Whether a block was settled by the word of the only endpoint.
    has_taken_lone_word: bool,
    /// The wanted logs of blocks that were proven.
    proven: BTreeMap<u64, Vec<LogEvent>>,
}

impl<'a> BlockResolver<'a> {
    /// `by` tells the messages of these mends from those of others.
    pub(super) async fn new(
        chain: &'a CollectedChain,
        reader: &'a dyn ChainReader,
        routing: &'a Routing,
        by: &str,
    ) -> Result<Self, CollectError> {
        let mend = Mend::new(chain, routing, by).await?;
        let now = chain.store.now().await?;
        Ok(Self {
            chain,
            reader,
            routing,
            mend,
            now,
            first_mended: None,
            mended: 0,
            has_taken_lone_word: false,
            proven: BTreeMap::new(),
        })
    }

    /// How many blocks were mended so far.
    pub(super) const fn mended(&self) -> u64 {
        self.mended
    }

    /// Whether a block was settled by the word of the only endpoint.
    pub(super) const fn has_taken_lone_word(&self) -> bool {
        self.has_taken_lone_word
    }

    /// How many blocks were mended. Tells the operator, once for all of them.
    pub(super) fn finish(self) -> u64 {
        if let Some(first) = self.first_mended {
            let (chain, blocks) = (self.chain.options.chain, self.mended);
            tracing::warn!(%chain, first, blocks, "stored blocks differ from the chain and are mended");
        }
        self.mended
    }

    /// Settles blocks in their order, several of them being asked about at once; gives what mends
    /// them. What nobody can tell goes to the doubts. After so long the rest is left: gives the
    /// first that was.
    pub(super) async fn resolve_all(
        &mut self,
        numbers: &[u64],
        doubts: &mut Doubts,
        unanswered: Unanswered,
        limit: Duration,
    ) -> Result<(Vec<Write>, Option<u64>), CollectError> {
        let (began, mut writes) = (Instant::now(), Vec::new());
        for some in numbers.chunks(BLOCKS_AT_ONCE) {
            if some.first() != numbers.first() && began.elapsed() >= limit {
                return Ok((writes, some.first().copied()));
            }
            // All have their answers before one is taken: what is half done may hold a connection
            // that taking one would wait for.
            let judged = join_all(some.iter().map(|number| self.judge(*number))).await;
            for (number, judged) in some.iter().zip(judged) {
                match (self.take(*number, judged, doubts).await, unanswered) {
                    (Err(CollectError::Chain(_)), Unanswered::Doubt) => {
                        self.doubt(*number, Doubt::NoAnswer, doubts);
                    }
                    (Err(CollectError::Chain(_)), Unanswered::Postpone) => doubts.postpone(*number, self.now),
                    (mends, _) => writes.extend(mends?),
                }
            }
        }
        Ok((writes, None))
    }

    /// Asks every endpoint about a block.
    fn judge(&self, number: u64) -> impl Future<Output = Result<Judged, CollectError>> + use<'a> {
        let is_bloom_whole = !self.chain.has_logs_outside_blooms.load(Ordering::Relaxed);
        judge_block(self.chain, self.reader, self.routing, number, is_bloom_whole)
    }

    async fn take(
        &mut self,
        number: u64,
        judged: Result<Judged, CollectError>,
        doubts: &mut Doubts,
    ) -> Result<Vec<Write>, CollectError> {
        let judged = match judged {
            Err(CollectError::Chain(error)) if !is_passing(&error) => {
                self.doubt(number, Doubt::NoAnswer, doubts);
                return Ok(Vec::new());
            }
            judged => judged?,
        };
        if judged.has_logs_outside_bloom {
            self.chain.has_logs_outside_blooms.store(true, Ordering::Relaxed);
        }
        for (endpoint, answer) in &judged.false_answers {
            self.name(endpoint, answer, doubts);
        }
        self.conclude(number, judged, doubts).await
    }

    async fn conclude(
        &mut self,
        number: u64,
        judged: Judged,
        doubts: &mut Doubts,
    ) -> Result<Vec<Write>, CollectError> {
        let Judged { header, verdict, logs, is_lone_word, .. } = judged;
        self.has_taken_lone_word |= is_lone_word;
        let chain = self.chain.options.chain;
        let (proof, header) = match (verdict, header) {
            (Verdict::Doubtful(doubt), _) => {
                self.doubt(number, doubt, doubts);
                return Ok(Vec::new());
            }
            (Verdict::Replace { proof, .. }, Some(header)) => (proof, header),
            (Verdict::Stored(Proof::OneEndpoint) | Verdict::Replace { .. }, _) => {
                doubts.settle(number);
                return Ok(Vec::new());
            }
            (Verdict::Stored(_), _) => {
                doubts.settle(number);
                self.proven.insert(number, logs);
                return Ok(Vec::new());
            }
        };
        tracing::debug!(%chain, block = number, ?proof, "a stored block differs from the chain and is mended");
        let writes = self.mend.block(header.block.block_ref(), self.routing.sorted(&logs)).await?;
        self.mended += 1;
        self.first_mended.get_or_insert(number);
        doubts.settle(number);
        self.proven.insert(number, logs);
        Ok(writes)
    }

    fn doubt(&self, number: u64, doubt: Doubt, doubts: &mut Doubts) {
        let chain = self.chain.options.chain;
        if doubts.blocks.iter().any(|known| known.number == number) {
            tracing::debug!(%chain, block = number, reason = %doubt, "a stored block is still in doubt");
        } else {
            tracing::warn!(%chain, block = number, reason = %doubt, "a stored block is in doubt: it is kept, and asked about again later");
        }
        doubts.doubt(number, doubt, self.now);
    }

    fn name(&self, endpoint: &str, answer: &FalseAnswer, doubts: &mut Doubts) {
        let chain = self.chain.options.chain;
        tracing::debug!(%chain, endpoint, "an endpoint's answer was proven false: it {answer}");
        doubts.name(endpoint, answer, self.now);
        self.reader.report_false_answer(endpoint, answer);
    }

    /// Names the endpoints that answer otherwise about a range than was proven of its blocks.
    /// A range that cannot be compared names nobody.
    pub(super) async fn name_false_ranges(&self, blocks: BlockRange, doubts: &mut Doubts) {
        if self.proven.is_empty() {
            return;
        }
        let answers = self.reader.logs_from_each(LogSpan::Range(blocks), &self.routing.filter).await;
        for EndpointAnswer { endpoint, answer } in answers {
            let Ok(logs) = answer else { continue };
            let faults = self.proven.iter().filter_map(|(number, truth)| fault(*number, truth, &logs));
            if let Some(fault) = faults.max() {
                self.name(&endpoint, &FalseAnswer { blocks, fault }, doubts);
            }
        }
    }
}

/// What is wrong with an answer about a block. Times are not compared: the header has them.
fn fault(number: u64, truth: &[LogEvent], answer: &[LogEvent]) -> Option<AnswerFault> {
    let said: Vec<&LogEvent> = answer.iter().filter(|log| log.block.number == number).collect();
    let is_same =
        |one: &LogEvent, other: &LogEvent| *one == LogEvent { timestamp_s: one.timestamp_s, ..other.clone() };
    if said.iter().any(|log| !truth.iter().any(|true_log| is_same(log, true_log))) {
        return Some(AnswerFault::WrongLogs);
    }
    (said.len() < truth.len()).then_some(AnswerFault::MissingLogs)
}

/// Whether endpoints were only not there: then nobody was heard, and nothing is in doubt.
pub(super) const fn is_passing(error: &ChainError) -> bool {
    matches!(
        error.kind,
        ChainErrorKind::Unreachable | ChainErrorKind::RateLimited | ChainErrorKind::UnknownBlock
    )
}
