//! An endpoint of the chain in memory, which lags, limits, fails and forgets as told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use windlass_core::chain::{Address, BlockHeader, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan, Receipts, expect_anchor,
};

use super::chain::{SimBlock, SimChain};

/// How bad an endpoint is: each is a share of calls in percent, or a bound.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trouble {
    pub(crate) unreachable: u32,
    pub(crate) limited: u32,
    pub(crate) malformed: u32,
    /// Calls that are answered by a node that is up to nine blocks behind.
    pub(crate) lagging: u32,
    /// Logs of blocks that are not final yet which are not there yet.
    pub(crate) late: u32,
    /// The largest range that is taken.
    pub(crate) max_range: Option<u64>,
}

pub(crate) type Counts = BTreeMap<&'static str, u64>;

/// The endpoint.
pub(crate) struct Endpoint {
    chain: Arc<SimChain>,
    inner: Mutex<Inner>,
}

struct Inner {
    random: StdRng,
    trouble: Trouble,
    counts: Counts,
    range_size: u64,
}

impl Endpoint {
    pub(crate) fn new(chain: Arc<SimChain>, seed: u64) -> Self {
        let random = StdRng::seed_from_u64(seed ^ 0xe4d);
        let inner = Inner { random, trouble: Trouble::default(), counts: Counts::new(), range_size: 40 };
        Self { chain, inner: Mutex::new(inner) }
    }

    pub(crate) fn set(&self, trouble: Trouble) {
        self.inner.lock().expect("no panic").trouble = trouble;
    }

    pub(crate) fn counts(&self) -> Counts {
        self.inner.lock().expect("no panic").counts.clone()
    }

    fn happens(&self, what: &'static str, percent: impl Fn(&Trouble) -> u32) -> bool {
        let mut inner = self.inner.lock().expect("no panic");
        let percent = percent(&inner.trouble);
        let happens = percent > 0 && inner.random.random_range(0..100) < percent;
        if happens {
            *inner.counts.entry(what).or_default() += 1;
        }
        happens
    }

    fn note(&self, what: &'static str) {
        *self.inner.lock().expect("no panic").counts.entry(what).or_default() += 1;
    }

    fn fail(&self) -> Result<(), ChainError> {
        for (what, kind, percent) in [
            (
                "unreachable",
                ChainErrorKind::Unreachable,
                (|t: &Trouble| t.unreachable) as fn(&Trouble) -> u32,
            ),
            ("rate limited", ChainErrorKind::RateLimited, |t| t.limited),
            ("malformed", ChainErrorKind::Malformed, |t| t.malformed),
        ] {
            if self.happens(what, percent) {
                return Err(ChainError::new(kind, what));
            }
        }
        Ok(())
    }

    /// The highest block that the node which answers this call has.
    fn top(&self) -> u64 {
        let head = self.chain.head();
        if !self.happens("lagging", |t| t.lagging) {
            return head;
        }
        let behind = self.inner.lock().expect("no panic").random.random_range(1..10);
        head.saturating_sub(behind)
    }

    /// The logs of a block as this endpoint has them now: of one that is not final,
    /// perhaps not all.
    fn logs_of(&self, block: &SimBlock, filter: &LogFilter) -> Vec<LogEvent> {
        let wanted = block.logs.iter().map(|(log, _)| log).filter(|log| filter.matches(log));
        let is_final = block.header.block.number <= self.chain.finalized();
        let is_there = |_: &&LogEvent| is_final || !self.happens("log came late", |t| t.late);
        wanted.filter(is_there).cloned().collect()
    }

    fn range(&self, blocks: BlockRange, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let limit = self.inner.lock().expect("no panic").trouble.max_range;
        if let Some(limit) = limit.filter(|limit| blocks.count() > *limit) {
            self.note("range too large");
            let suggests = self.happens("range suggested", |_| 50);
            let to = blocks.from + limit - 1;
            let suggested = suggests.then_some(BlockRange { from: blocks.from, to });
            self.inner.lock().expect("no panic").range_size = limit;
            return Err(ChainError::new(ChainErrorKind::RangeTooLarge { suggested }, "range too large"));
        }
        let top = self.top();
        let known = (blocks.from..=blocks.to.min(top)).filter_map(|number| self.chain.block(number));
        Ok(known.flat_map(|block| self.logs_of(&block, filter)).collect())
    }
}

#[async_trait]
impl ChainReader for Endpoint {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        Ok(self.chain.id())
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.fail()?;
        let top = self.top();
        let found = match block {
            BlockTag::Latest => self.chain.block(top),
            BlockTag::Finalized | BlockTag::Safe => self.chain.block(self.chain.finalized().min(top)),
            BlockTag::Number(number) => self.chain.block(number).filter(|_| number <= top),
            BlockTag::Hash(hash) => self.chain.block_by_hash(hash),
        };
        Ok(found.map(|block| block.header))
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.fail()?;
        match span {
            LogSpan::Range(blocks) => self.range(blocks, filter),
            LogSpan::RangeOnChain { blocks, anchor } => {
                let logs = self.range(blocks, filter)?;
                let found = self.header(BlockTag::Number(anchor.number)).await?;
                expect_anchor(anchor, found.map(|found| found.block.block_ref()))?;
                Ok(logs)
            }
            LogSpan::Block(block) => match self.chain.block_by_hash(block.hash) {
                Some(block) if block.header.block.number <= self.top() => Ok(self.logs_of(&block, filter)),
                // Some nodes say so, others have no logs.
                _ if self.happens("unknown block was empty", |_| 50) => Ok(Vec::new()),
                _ => Err(ChainError::new(ChainErrorKind::UnknownBlock, "unknown block")),
            },
        }
    }

    async fn receipts(&self, _: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        Ok(None)
    }

    async fn code(&self, _: Address, _: BlockTag) -> Result<Bytes, ChainError> {
        Ok(Bytes::from_static(&[1]))
    }

    fn range_size(&self, _: &LogFilter) -> u64 {
        let mut inner = self.inner.lock().expect("no panic");
        inner.range_size = (inner.range_size + 1).min(60);
        inner.range_size
    }
}
