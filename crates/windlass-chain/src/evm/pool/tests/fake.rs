//! An endpoint that does what it is told, and counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use alloy_primitives::Bloom;
use async_trait::async_trait;
use tokio::time::sleep;
use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId, U256};
use windlass_core::error::RetryAdvice;
use windlass_core::event::{LogEvent, Topics};
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::submit::{
    Call, CallOutcome, GasEstimate, NonceTag, SendAnswer, TransactionChain, TransactionReceipt,
};
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan, Receipts,
};

use super::Source;
use crate::evm::MAX_BATCH_CALLS;
use crate::evm::learn::{Learned, SavedEndpoint};
use crate::evm::pool::question::Asked;
use crate::evm::reader::GivenLogs;

/// How an endpoint behaves.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    pub(super) chain: u64,
    pub(super) head: u64,
    /// A newest block that it names, and does not have.
    pub(super) invented_head: Option<u64>,
    pub(super) latency: Duration,
    /// Every so many questions take that long.
    pub(super) hiccup: Option<(u64, Duration)>,
    pub(super) fault: Option<Fault>,
    /// The most blocks of a range.
    pub(super) max_blocks: u64,
    pub(super) tells_receipts: bool,
    /// Whether its headers say that every block has the log [`log`].
    pub(super) has_bloom: bool,
    /// Whether it tells that log.
    pub(super) has_log: bool,
    /// Whether its headers hash to their hashes.
    pub(super) proves_headers: bool,
    /// How calls end.
    pub(super) call: CallEnd,
}

#[derive(Clone, Copy)]
pub(super) enum CallEnd {
    Returns,
    Reverts,
    /// Reverts, and does not say why.
    RevertsSilently,
}

#[derive(Clone, Copy)]
pub(super) enum Fault {
    /// Fails at once.
    Dead,
    /// Fails after the longest time.
    Silent,
    /// The same for logs alone.
    SilentAboutLogs,
    /// Refuses all questions about logs.
    RefusesLogs,
    Limited(Duration),
    Refuses,
}

pub(super) struct Fake {
    place: String,
    manner: Mutex<Manner>,
    asked: AtomicU64,
    chain_ids: AtomicU64,
    heads: AtomicU64,
    under_way: AtomicU64,
    most_under_way: AtomicU64,
    pub(super) observed: AtomicU64,
    /// How many transactions it was given.
    pub(super) offered: AtomicU64,
}

/// Counts a question as over, even if nobody waits for it.
struct UnderWay<'a>(&'a AtomicU64);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Fake {
    pub(super) fn new(name: char) -> Self {
        let manner = Manner {
            chain: 137,
            head: 100,
            invented_head: None,
            latency: Duration::from_millis(50),
            hiccup: None,
            fault: None,
            max_blocks: u64::MAX,
            tells_receipts: true,
            has_bloom: false,
            has_log: false,
            proves_headers: false,
            call: CallEnd::Returns,
        };
        Self {
            place: format!("http://{name}"),
            manner: Mutex::new(manner),
            asked: AtomicU64::new(0),
            chain_ids: AtomicU64::new(0),
            heads: AtomicU64::new(0),
            under_way: AtomicU64::new(0),
            most_under_way: AtomicU64::new(0),
            observed: AtomicU64::new(0),
            offered: AtomicU64::new(0),
        }
    }

    pub(super) fn manner(&self) -> MutexGuard<'_, Manner> {
        self.manner.lock().expect("no panic")
    }

    pub(super) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    pub(super) fn chain_ids(&self) -> u64 {
        self.chain_ids.load(Ordering::Relaxed)
    }

    /// How often its newest block was asked for.
    pub(super) fn heads(&self) -> u64 {
        self.heads.load(Ordering::Relaxed)
    }

    pub(super) fn most_under_way(&self) -> u64 {
        self.most_under_way.load(Ordering::Relaxed)
    }

    async fn answer(&self) -> Result<Manner, ChainError> {
        let number = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let under_way = self.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        let _under_way = UnderWay(&self.under_way);
        self.most_under_way.fetch_max(under_way, Ordering::Relaxed);
        let manner = *self.manner();
        let error = |kind| ChainError::new(kind, format!("{} is in trouble", self.place));
        match manner.fault {
            Some(Fault::Dead) => return Err(error(ChainErrorKind::Unreachable)),
            Some(Fault::Silent) => {
                sleep(Duration::from_secs(30)).await;
                return Err(error(ChainErrorKind::Unreachable));
            }
            Some(Fault::Refuses) => return Err(error(ChainErrorKind::Refused)),
            Some(Fault::Limited(after)) => {
                let limited = error(ChainErrorKind::RateLimited);
                return Err(ChainError { retry: RetryAdvice::After(after), ..limited });
            }
            Some(Fault::SilentAboutLogs | Fault::RefusesLogs) | None => {}
        }
        let hiccup = manner.hiccup.filter(|(every, _)| number.is_multiple_of(*every));
        sleep(hiccup.map_or(manner.latency, |(_, time)| time)).await;
        Ok(manner)
    }
}

/// The header of a block; the hash of a block is its number.
pub(super) fn header(number: u64) -> Header {
    let hash = |number: u64| B256::left_padding_from(&number.to_be_bytes());
    let parent_hash = hash(number.saturating_sub(1));
    let block = BlockHeader { number, hash: hash(number), parent_hash, timestamp_s: number };
    Header { block, logs_bloom: Box::new(Bloom::ZERO), receipts_root: B256::ZERO, is_hash_proven: false }
}

/// A log of a block.
pub(super) fn log(block: BlockRef) -> LogEvent {
    LogEvent {
        chain: ChainId::new(137).expect("an id"),
        block,
        log_index: 0,
        timestamp_s: block.number,
        transaction_hash: B256::ZERO,
        address: Address::repeat_byte(7),
        topics: Topics::default(),
        data: Bytes::new(),
    }
}

/// The header of a block with that log.
pub(super) fn header_with_log(number: u64) -> Header {
    let mut header = header(number);
    header.logs_bloom.accrue_raw_log(log(block(number)).address, &[]);
    header
}

/// A block by number and hash.
pub(super) fn block(number: u64) -> BlockRef {
    header(number).block.block_ref()
}

pub(super) fn hash(number: u64) -> B256 {
    header(number).block.hash
}

fn number(hash: B256) -> u64 {
    hash.as_slice()[24..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[async_trait]
impl ChainReader for Fake {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.chain_ids.fetch_add(1, Ordering::Relaxed);
        let manner = self.answer().await?;
        Ok(ChainId::new(manner.chain).expect("an id"))
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        self.heads.fetch_add(u64::from(block == BlockTag::Latest), Ordering::Relaxed);
        let Manner { head, invented_head, has_bloom, proves_headers, .. } = self.answer().await?;
        if let (BlockTag::Latest, Some(invented)) = (block, invented_head) {
            return Ok(Some(header(invented)));
        }
        let wanted = match block {
            BlockTag::Number(number) => number,
            BlockTag::Hash(hash) => number(hash),
            _ => head,
        };
        let told = if has_bloom { header_with_log } else { header };
        Ok((wanted <= head).then(|| Header { is_hash_proven: proves_headers, ..told(wanted) }))
    }

    async fn logs(&self, span: LogSpan, _filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        let manner = self.answer().await?;
        if matches!(manner.fault, Some(Fault::SilentAboutLogs)) {
            sleep(Duration::from_secs(30)).await;
        }
        if matches!(manner.fault, Some(Fault::RefusesLogs)) {
            return Err(ChainError::new(ChainErrorKind::Refused, "missing trie node"));
        }
        match span {
            LogSpan::Block(block) if block.number > manner.head => {
                Err(ChainError::new(ChainErrorKind::UnknownBlock, "unknown block"))
            }
            LogSpan::Range(BlockRange { from, to })
            | LogSpan::RangeOnChain { blocks: BlockRange { from, to }, .. }
                if to - from >= manner.max_blocks =>
            {
                let suggested = Some(BlockRange { from, to: from + manner.max_blocks - 1 });
                Err(ChainError::new(ChainErrorKind::RangeTooLarge { suggested }, "too large"))
            }
            LogSpan::Block(block) if manner.has_log => Ok(vec![log(block)]),
            _ => Ok(vec![]),
        }
    }

    async fn receipts(&self, _block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        let tells = self.answer().await?.tells_receipts;
        Ok(tells.then(|| Receipts { root: B256::ZERO, logs: vec![], is_covered: true }))
    }

    async fn code(&self, _address: Address, _at: BlockTag) -> Result<Bytes, ChainError> {
        self.answer().await.map(|_| Bytes::from_static(&[1]))
    }

    fn range_size(&self, _filter: &LogFilter) -> u64 {
        self.manner().max_blocks.min(1_000)
    }
}

#[async_trait]
impl TransactionChain for Fake {
    async fn call(&self, _call: &Call, _at: BlockTag) -> Result<CallOutcome, ChainError> {
        let reverted = |data| CallOutcome::Reverted { data, message: "reverted".into() };
        Ok(match self.answer().await?.call {
            CallEnd::Returns => CallOutcome::Returned(Bytes::from_static(&[1])),
            CallEnd::Reverts => reverted(Bytes::from_static(&[1, 2, 3, 4])),
            CallEnd::RevertsSilently => reverted(Bytes::new()),
        })
    }

    async fn estimate_gas(&self, _call: &Call) -> Result<GasEstimate, ChainError> {
        let reverted = |data| GasEstimate::Reverted { data, message: "reverted".into() };
        Ok(match self.answer().await?.call {
            CallEnd::Returns => GasEstimate::Gas(21_000),
            CallEnd::Reverts => reverted(Bytes::from_static(&[1, 2, 3, 4])),
            CallEnd::RevertsSilently => reverted(Bytes::new()),
        })
    }

    async fn send(&self, _raw: &Bytes) -> Vec<SendAnswer> {
        unreachable!("a pool offers")
    }

    /// The transaction of a block is named as the block is.
    async fn receipt(&self, hash: B256) -> Result<Option<TransactionReceipt>, ChainError> {
        let (head, number) = (self.answer().await?.head, number(hash));
        let block = BlockRef { number, hash };
        let receipt = TransactionReceipt {
            hash,
            block,
            is_success: true,
            gas_used: 1,
            effective_gas_price: None,
            contract: None,
        };
        Ok((number <= head).then_some(receipt))
    }

    async fn nonce(&self, _account: Address, _at: NonceTag) -> Result<u64, ChainError> {
        self.answer().await.map(|manner| manner.head)
    }

    async fn gas_fees(&self) -> Result<GasFees, ChainError> {
        self.answer().await.map(|_| GasFees::for_base_fee(1, 1))
    }

    async fn balance(&self, _account: Address, _at: BlockTag) -> Result<U256, ChainError> {
        self.answer().await.map(|_| U256::ONE)
    }
}

impl Source for Fake {
    fn offer<'a>(&'a self, _raw: &'a Bytes) -> Asked<'a, SendAnswer> {
        Box::pin(async move {
            self.offered.fetch_add(1, Ordering::Relaxed);
            self.answer().await.map(|_| SendAnswer::Accepted)
        })
    }

    fn logs_as_given<'a>(&'a self, span: LogSpan, filter: &'a LogFilter) -> Asked<'a, GivenLogs> {
        Box::pin(
            async move { Ok(GivenLogs { logs: self.logs(span, filter).await?, ..GivenLogs::default() }) },
        )
    }

    fn block_logs_as_given<'a>(&'a self, header: &'a Header, filter: &'a LogFilter) -> Asked<'a, GivenLogs> {
        self.logs_as_given(LogSpan::Block(header.block.block_ref()), filter)
    }

    fn headers_of_blocks<'a>(&'a self, blocks: &'a [BlockRef]) -> Asked<'a, Vec<Header>> {
        Box::pin(async move {
            let numbers: Vec<u64> = blocks.iter().map(|block| block.number).collect();
            Ok(self.headers(&numbers).await?.into_iter().flatten().collect())
        })
    }

    fn batch_size(&self) -> usize {
        MAX_BATCH_CALLS
    }

    fn place(&self) -> &str {
        &self.place
    }

    fn refuses(&self, _filter: &LogFilter, blocks: u64) -> bool {
        blocks > self.manner().max_blocks
    }

    fn observe(&self, _filter: &LogFilter, _blocks: u64, _logs: u64) {
        self.observed.fetch_add(1, Ordering::Relaxed);
    }

    fn learned(&self) -> Vec<Learned> {
        vec![]
    }

    fn save(&self, _name: String) -> SavedEndpoint {
        SavedEndpoint::default()
    }

    fn restore(&self, _saved: SavedEndpoint) {}
}
