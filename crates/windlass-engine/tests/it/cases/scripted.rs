//! An endpoint that refuses, hides and remembers as a case tells it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use windlass_core::chain::{Address, B256, BlockHeader, Bytes, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, EndpointAnswer, Header, LogFilter, LogSpan, Receipts,
};

use crate::collect::endpoint::Endpoint;

/// Says what is wrong with a range, if anything.
type Judge = Box<dyn Fn(BlockRange) -> Option<ChainError> + Send + Sync>;

/// Changes the logs that are sent.
type Tamper = Box<dyn Fn(LogSpan, Vec<LogEvent>) -> Vec<LogEvent> + Send + Sync>;

/// Changes the headers that are sent.
type TamperHeader = Box<dyn Fn(Header) -> Header + Send + Sync>;

/// Does something before the newest block is told, which was asked for so often.
type Look = Box<dyn Fn(usize) + Send + Sync>;

/// The endpoint.
pub(crate) struct Scripted {
    inner: Arc<Endpoint>,
    range_size: AtomicU64,
    is_down: AtomicBool,
    script: Mutex<Script>,
    look: Mutex<(usize, Option<Look>)>,
}

#[derive(Default)]
struct Script {
    judge: Option<Judge>,
    /// Logs that the endpoint does not have yet, by block and place in it.
    hidden: BTreeSet<(u64, u32)>,
    /// Blocks that the endpoint does not know yet.
    unknown: BTreeSet<u64>,
    /// Blocks of which it refuses to tell.
    pruned: BTreeMap<u64, ChainErrorKind>,
    /// The newest block that it tells of; the chain's own, if there is none.
    head: Option<u64>,
    /// What it makes of logs before it sends them.
    tamper: Option<Tamper>,
    /// What it makes of headers before it sends them.
    tamper_header: Option<TamperHeader>,
    /// Whether it tells receipts.
    tells_receipts: bool,
    /// Whether it changes the logs in them as it changes others.
    tampers_receipts: bool,
    /// Whether it answers no question about the logs or receipts of single blocks.
    is_silent_about_blocks: bool,
    /// Questions to each endpoint fail.
    refuses_each: bool,
    /// How often it refused the chain's first block, if it does.
    first_refused: Option<u64>,
    /// How many questions were asked.
    count: u64,
    /// So many of a hundred fail.
    fail_percent: u64,
    luck: u64,
    /// Whoever asks for a range waits for a permit.
    gate: Option<Arc<Semaphore>>,
    /// Whoever asks for receipts does.
    receipts_gate: Option<Arc<Semaphore>>,
    /// The block that it calls final; the chain's own, if there is none.
    finalized: Option<u64>,
    /// So long it takes to say which block is final.
    finality_delay: Option<Duration>,
    /// The ranges that were asked for, with what was wanted.
    asked: Vec<(BlockRange, LogFilter)>,
}

impl Scripted {
    pub(crate) fn new(inner: Arc<Endpoint>) -> Self {
        Self {
            inner,
            range_size: AtomicU64::new(1_000),
            is_down: AtomicBool::new(false),
            script: Mutex::default(),
            look: Mutex::default(),
        }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no panic")
    }

    /// Ranges of so many blocks are asked for from now on.
    pub(crate) fn learn(&self, blocks: u64) {
        self.range_size.store(blocks, Ordering::SeqCst);
    }

    /// Nothing is answered, or everything again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Ranges are refused as this says.
    pub(crate) fn judge(&self, judge: impl Fn(BlockRange) -> Option<ChainError> + Send + Sync + 'static) {
        self.script().judge = Some(Box::new(judge));
    }

    /// Every range is taken.
    pub(crate) fn forgive(&self) {
        self.script().judge = None;
    }

    /// It has everything but these logs.
    pub(crate) fn hide(&self, logs: &[(u64, u32)]) {
        self.script().hidden = logs.iter().copied().collect();
    }

    /// Logs are sent as this makes them.
    pub(crate) fn tamper(
        &self,
        tamper: impl Fn(LogSpan, Vec<LogEvent>) -> Vec<LogEvent> + Send + Sync + 'static,
    ) {
        self.script().tamper = Some(Box::new(tamper));
    }

    /// Headers are sent as this makes them.
    pub(crate) fn tamper_headers(&self, tamper: impl Fn(Header) -> Header + Send + Sync + 'static) {
        self.script().tamper_header = Some(Box::new(tamper));
    }

    /// It says the truth again.
    pub(crate) fn be_honest(&self) {
        let mut script = self.script();
        (script.tamper, script.tamper_header) = (None, None);
    }

    /// It tells the receipts of blocks, which hash to the roots in their headers.
    pub(crate) fn tell_receipts(&self) {
        self.script().tells_receipts = true;
    }

    /// The same, with logs that are changed as others are.
    pub(crate) fn tell_tampered_receipts(&self) {
        let mut script = self.script();
        (script.tells_receipts, script.tampers_receipts) = (true, true);
    }

    /// Questions about the logs or receipts of single blocks fail, or are answered again.
    pub(crate) fn set_silent_about_blocks(&self, is_silent: bool) {
        self.script().is_silent_about_blocks = is_silent;
    }

    /// Questions that are put to each endpoint fail, or are answered again.
    pub(crate) fn refuse_from_each(&self, is_refused: bool) {
        self.script().refuses_each = is_refused;
    }

    /// It fails at the chain's first block, which it does not keep.
    pub(crate) fn refuse_first_block(&self) {
        self.script().first_refused = Some(0);
    }

    /// How often it did.
    pub(crate) fn first_block_refusals(&self) -> u64 {
        self.script().first_refused.unwrap_or_default()
    }

    fn answer_about_block(&self) -> Result<(), ChainError> {
        match self.script().is_silent_about_blocks {
            true => Err(ChainError::new(ChainErrorKind::RateLimited, "too many requests")),
            false => Ok(()),
        }
    }

    /// How many questions were asked since the last time.
    pub(crate) fn count(&self) -> u64 {
        std::mem::take(&mut self.script().count)
    }

    /// It knows every block but these.
    pub(crate) fn forget(&self, blocks: &[u64]) {
        self.script().unknown = blocks.iter().copied().collect();
    }

    /// It refuses to tell of these blocks.
    pub(crate) fn prune(&self, blocks: impl IntoIterator<Item = u64>, kind: ChainErrorKind) {
        self.script().pruned = blocks.into_iter().map(|block| (block, kind)).collect();
    }

    /// Whoever asks for a range from now on waits until there is a permit.
    pub(crate) fn hold_ranges(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        self.script().gate = Some(gate.clone());
        gate
    }

    /// Whoever asks for receipts from now on waits until there is a permit.
    pub(crate) fn hold_receipts(&self) -> Arc<Semaphore> {
        let gate = Arc::new(Semaphore::new(0));
        self.script().receipts_gate = Some(gate.clone());
        gate
    }

    /// It calls this block final.
    pub(crate) fn set_finalized(&self, finalized: Option<u64>) {
        self.script().finalized = finalized;
    }

    /// It takes so long to say which block is final.
    pub(crate) fn delay_finality(&self, delay: Duration) {
        self.script().finality_delay = Some(delay);
    }

    /// It tells of no newer block than this.
    pub(crate) fn set_head(&self, head: Option<u64>) {
        self.script().head = head;
    }

    /// This happens whenever somebody looks for the newest block, before it is told.
    pub(crate) fn on_look(&self, look: impl Fn(usize) + Send + Sync + 'static) {
        *self.look.lock().expect("no panic") = (0, Some(Box::new(look)));
    }

    fn looked(&self) {
        let (count, look) = &mut *self.look.lock().expect("no panic");
        *count += 1;
        if let Some(look) = look {
            look(*count);
        }
    }

    /// The ranges that were asked for, in order; forgotten hereby.
    pub(crate) fn asked(&self) -> Vec<BlockRange> {
        self.questions().into_iter().map(|(range, _)| range).collect()
    }

    /// The same, with what was wanted.
    pub(crate) fn questions(&self) -> Vec<(BlockRange, LogFilter)> {
        std::mem::take(&mut self.script().asked)
    }

    /// So many of a hundred questions fail, spread without a pattern.
    pub(crate) fn fail_percent(&self, percent: u64) {
        self.script().fail_percent = percent;
    }

    fn answer(&self) -> Result<(), ChainError> {
        let mut script = self.script();
        script.count += 1;
        script.luck =
            script.luck.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if (script.luck >> 33) % 100 < script.fail_percent {
            return Err(ChainError::new(ChainErrorKind::Unreachable, "the connection was reset"));
        }
        drop(script);
        if self.is_down.load(Ordering::SeqCst) {
            return Err(ChainError::new(ChainErrorKind::Unreachable, "the endpoint is down"));
        }
        Ok(())
    }
}

#[async_trait]
impl ChainReader for Scripted {
    async fn chain_id(&self) -> Result<ChainId, ChainError> {
        self.inner.chain_id().await
    }

    async fn header(&self, block: BlockTag) -> Result<Option<Header>, ChainError> {
        if block == BlockTag::Latest {
            self.looked();
        }
        self.answer()?;
        if let (BlockTag::Number(0), Some(refused)) = (block, &mut self.script().first_refused) {
            *refused += 1;
            return Err(ChainError::new(ChainErrorKind::Refused, "history has been pruned"));
        }
        if let BlockTag::Number(number) = block
            && let Some(kind) = self.script().pruned.get(&number).copied()
        {
            return Err(ChainError::new(kind, "pruned history unavailable"));
        }
        let delay = self.script().finality_delay.filter(|_| block == BlockTag::Finalized);
        if let Some(delay) = delay {
            sleep(delay).await;
        }
        let set = match block {
            BlockTag::Latest => self.script().head,
            BlockTag::Finalized => self.script().finalized,
            _ => None,
        };
        let header = self.inner.header(set.map_or(block, BlockTag::Number)).await?;
        let script = self.script();
        let known = header.filter(|header| !script.unknown.contains(&header.block.number));
        let told = |header: Header| match &script.tamper_header {
            Some(tamper) => {
                let told = tamper(header.clone());
                // What was changed does not hash to its hash any more.
                Header { is_hash_proven: told == header, ..told }
            }
            None => header,
        };
        Ok(known.map(told))
    }

    async fn header_from_each(&self, block: BlockTag) -> Vec<EndpointAnswer<Option<Header>>> {
        let answer = match self.script().refuses_each {
            true => Err(ChainError::new(ChainErrorKind::Unreachable, "the connection was reset")),
            false => Ok(()),
        };
        let answer = match answer {
            Ok(()) => self.header(block).await,
            Err(error) => Err(error),
        };
        vec![EndpointAnswer::sole(answer)]
    }

    fn endpoint_names(&self) -> Vec<String> {
        vec![EndpointAnswer::sole(Ok(())).endpoint]
    }

    async fn logs(&self, span: LogSpan, filter: &LogFilter) -> Result<Vec<LogEvent>, ChainError> {
        self.answer()?;
        if matches!(span, LogSpan::Block(_)) {
            self.answer_about_block()?;
        }
        if let Some(range) = span.range() {
            let mut script = self.script();
            script.asked.push((range, filter.clone()));
            if let Some(refusal) = script.judge.as_ref().and_then(|judge| judge(range)) {
                return Err(refusal);
            }
        }
        let gate = self.script().gate.clone().filter(|_| span.range().is_some());
        if let Some(gate) = gate {
            gate.acquire().await.expect("it is never closed").forget();
        }
        let mut logs = self.inner.logs(span, filter).await?;
        let script = self.script();
        logs.retain(|log| !script.hidden.contains(&(log.block.number, log.log_index)));
        Ok(script.tamper.iter().fold(logs, |logs, tamper| tamper(span, logs)))
    }

    async fn receipts(&self, block: &BlockHeader) -> Result<Option<Receipts>, ChainError> {
        self.answer()?;
        self.answer_about_block()?;
        let gate = self.script().receipts_gate.clone();
        if let Some(gate) = gate {
            gate.acquire().await.expect("it is never closed").forget();
        }
        if !self.script().tells_receipts {
            return self.inner.receipts(block).await;
        }
        let header = self.inner.header(BlockTag::Hash(block.hash)).await?;
        let Some(header) = header else { return Ok(None) };
        let span = LogSpan::Block(block.block_ref());
        let logs = self.inner.logs(span, &LogFilter::default()).await?;
        let script = self.script();
        let header = script.tamper_header.iter().fold(header, |header, tamper| tamper(header));
        let tamper = script.tamper.iter().filter(|_| script.tampers_receipts);
        let told = tamper.fold(logs.clone(), |logs, tamper| tamper(span, logs));
        // A header that is made up has the root of receipts that are.
        let is_same = |(one, other): (&LogEvent, &LogEvent)| {
            *one == LogEvent { transaction_hash: one.transaction_hash, ..other.clone() }
        };
        let is_covered_by_root = told.len() == logs.len() && told.iter().zip(&logs).all(is_same);
        let is_right = is_covered_by_root || script.tamper_header.is_some();
        let root = if is_right { header.receipts_root } else { B256::repeat_byte(0xee) };
        Ok(Some(Receipts { root, logs: told, is_covered: true }))
    }

    async fn code(&self, address: Address, at: BlockTag) -> Result<Bytes, ChainError> {
        self.answer()?;
        self.inner.code(address, at).await
    }

    fn range_size(&self, _: &LogFilter) -> u64 {
        self.range_size.load(Ordering::SeqCst)
    }
}
