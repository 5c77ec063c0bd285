//! A segment's headers and logs against what is stored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::sleep;
use windlass_core::bloom::BloomFit;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::reader::{
    BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan, Receipts,
};
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery};
use windlass_core::table::{Identifier, Value};

use super::{Step, Verifier, VerifyMode, VerifyStep, sample};
use crate::collect::block_logs;
use crate::collect::blooms::BloomTrust;
use crate::collect::error::CollectError;
use crate::collect::evidence::StoredBlock;
use crate::collect::reread::unknown_final;
use crate::collect::resolve::{BLOCKS_AT_ONCE, BlockResolver, is_passing};
use crate::collect::routing::Routing;

/// Of a sampled segment so many blocks with rows are held against all of their logs, and so
/// many without rows whose blooms have room for wanted logs.
const WHOLE_BLOCKS: usize = 6;
/// So many suspicious blocks are settled at once; when one of them was stored wrongly, the rest is
/// left to who collects the segment again.
const MAX_RESOLVED_BLOCKS: usize = 20;
/// How often a block is asked about while endpoints fail …
const MAX_TRIES: u32 = 3;
/// … and how soon again: one that fails now and then is asked again by then.
const TRY_PAUSE: Duration = Duration::from_secs(1);

/// What a header says about what is stored of its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    /// It fits.
    Fits,
    /// It fits, and the bloom has room for wanted logs that are not stored.
    MayHaveMore,
    /// A hash, a time or the bloom contradicts it.
    Contradicts,
}

/// What receipts say about the logs of a block.
enum ReceiptLogs {
    /// These, and they hash to the root in its header.
    Proven(Vec<LogEvent>),
    /// They do not hash to that root: the endpoint lies, or the chain makes its roots otherwise.
    Mismatched,
    /// Nothing that counts.
    Absent,
}

fn mismatch(number: u64) -> ChainError {
    let message = format!("the receipts of block {number} do not hash to the root in its header");
    ChainError::new(ChainErrorKind::Malformed, message)
}

impl Verifier {
    pub(super) async fn look(&mut self, step: Step, segment: BlockRange) -> Result<VerifyStep, CollectError> {
        let Some(routing) = self.routing_at(&step.plan, segment.from).await? else {
            return Ok(VerifyStep::Idle);
        };
        let mode = self.mode;
        let numbers = match mode {
            VerifyMode::Full => (segment.from..=segment.to).collect(),
            _ => self.chosen(&routing, segment).await?,
        };
        self.has_taken_lone_word.store(false, Ordering::Relaxed);
        let suspicious = self.suspicious(&routing, &numbers, mode).await?;
        self.settle(step, &routing, segment, suspicious).await
    }

    /// Numbers spread over the segment, and blocks with rows behind as many others.
    async fn chosen(&self, routing: &Routing, segment: BlockRange) -> Result<Vec<u64>, CollectError> {
        let mut numbers: BTreeSet<u64> = sample::spread(segment, self.seed).into_iter().collect();
        let places = sample::spread(segment, sample::mixed(self.seed));
        if !routing.tables.is_empty() {
            for (place, (table, _)) in places.into_iter().zip(routing.tables.iter().cycle()) {
                let rest = BlockRange { from: place, to: segment.to };
                numbers.extend(self.first_row_in(&table.name, rest).await?);
            }
        }
        Ok(numbers.into_iter().collect())
    }

    /// The first block with a row of a table.
    async fn first_row_in(
        &self,
        table: &Identifier,
        blocks: BlockRange,
    ) -> Result<Option<u64>, CollectError> {
        let bound = |comparison, block: u64| Condition {
            place: Place::Block,
            comparison,
            values: vec![Value::Integer(i64::try_from(block).unwrap_or(i64::MAX))],
        };
        let query = RowQuery {
            table: table.clone(),
            conditions: vec![bound(Comparison::AtLeast, blocks.from), bound(Comparison::AtMost, blocks.to)],
            order: RowOrder::OldestFirst,
            after: None,
            limit: 1,
        };
        Ok(self.chain.store.rows(&query).await?.first().map(|row| row.head.block.number))
    }

    /// The blocks that do not fit their headers or logs.
    pub(super) async fn suspicious(
        &self,
        routing: &Routing,
        numbers: &[u64],
        mode: VerifyMode,
    ) -> Result<Vec<u64>, CollectError> {
        let headers = self.reader.headers(numbers).await?;
        let stored = self.stored_blocks(routing, numbers).await?;
        let blooms = self.chain.bloom_trust().await?;
        let (mut suspicious, mut findings) = (Vec::new(), Vec::with_capacity(numbers.len()));
        for (number, header) in numbers.iter().zip(headers) {
            let block = &stored[number];
            let header = match header {
                Some(header) => header,
                None if self.insists() => {
                    suspicious.push(*number);
                    continue;
                }
                None => return Err(unknown_final(*number).into()),
            };
            findings.push(async move {
                // A header that does not hash to its hash may be made up, times and bloom with it.
                let is_right = match header.is_hash_proven {
                    true => true,
                    false => match self.is_confirmed(&header).await {
                        // One block that nobody answers about holds up no other.
                        Err(_) if self.insists() => false,
                        confirmed => confirmed?,
                    },
                };
                let finding = match is_right {
                    true => self.finding(routing, &header, block, blooms),
                    false => Finding::Contradicts,
                };
                Ok::<_, CollectError>((header, block, finding))
            });
        }
        let mut findings = stream::iter(findings).buffered(BLOCKS_AT_ONCE);
        let (mut whole, mut room) = (Vec::new(), Vec::new());
        while let Some(found) = findings.next().await {
            let (header, block, finding) = found?;
            match finding {
                Finding::Contradicts => suspicious.push(header.block.number),
                Finding::MayHaveMore => room.push((header, block)),
                Finding::Fits if !block.is_empty() => whole.push((header, block)),
                Finding::Fits => {}
            }
        }
        if mode != VerifyMode::Full {
            sample::draw(&mut whole, WHOLE_BLOCKS, self.seed);
            sample::draw(&mut room, WHOLE_BLOCKS, self.seed);
        }
        let checks: Vec<_> = whole
            .into_iter()
            .chain(room)
            .map(|(header, block)| async move {
                (header.block.number, self.is_whole(routing, &header, block).await)
            })
            .collect();
        let mut checks = stream::iter(checks).buffered(BLOCKS_AT_ONCE);
        while let Some((number, is_whole)) = checks.next().await {
            match is_whole {
                Ok(true) => {}
                Ok(false) => suspicious.push(number),
                // One block that nobody answers about holds up no other.
                Err(_) if self.insists() => suspicious.push(number),
                Err(error) => return Err(error.into()),
            }
        }
        suspicious.sort_unstable();
        Ok(suspicious)
    }

    /// Whether every endpoint has this very header.
    async fn is_confirmed(&self, header: &Header) -> Result<bool, ChainError> {
        let mut tries = 1;
        loop {
            match self.is_told_by_all(header).await {
                Err(error) if is_passing(&error) && tries < MAX_TRIES => tries += 1,
                told => return told,
            }
            sleep(TRY_PAUSE).await;
        }
    }

    async fn is_told_by_all(&self, header: &Header) -> Result<bool, ChainError> {
        let (mut heard, mut failed) = (0, None);
        for one in self.reader.header_from_each(BlockTag::Number(header.block.number)).await {
            match one.answer {
                Ok(Some(other)) if other != *header => return Ok(false),
                Ok(Some(_)) => heard += 1,
                // One that does not have it says nothing about it.
                Ok(None) => {}
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed.filter(|_| heard < 2) {
            return Err(error);
        }
        self.has_taken_lone_word.fetch_or(heard < 2, Ordering::Relaxed);
        Ok(true)
    }

    async fn stored_blocks(
        &self,
        routing: &Routing,
        numbers: &[u64],
    ) -> Result<BTreeMap<u64, StoredBlock>, CollectError> {
        let (store, chain) = (&*self.chain.store, self.chain.options.chain);
        let mut blocks = BTreeMap::new();
        for number in numbers {
            blocks.insert(*number, StoredBlock::read(store, chain, routing, *number).await?);
        }
        Ok(blocks)
    }

    fn finding(
        &self,
        routing: &Routing,
        header: &Header,
        stored: &StoredBlock,
        blooms: BloomTrust,
    ) -> Finding {
        let is_bloom_whole = !self.chain.has_logs_outside_blooms.load(Ordering::Relaxed);
        let is_excluded = is_bloom_whole && !stored.has_room_in(&header.logs_bloom);
        if !stored.is_of(&header.block) || is_excluded {
            return Finding::Contradicts;
        }
        // Before a chain's blooms have proved complete, one without room for wanted logs says nothing.
        let may_have_more = !blooms.is_proven() || routing.filter.may_match(&header.logs_bloom);
        if stored.is_empty() && may_have_more { Finding::MayHaveMore } else { Finding::Fits }
    }

    /// Whether all logs of a block are stored as they are. What makes no sense is not.
    async fn is_whole(
        &self,
        routing: &Routing,
        header: &Header,
        stored: &StoredBlock,
    ) -> Result<bool, ChainError> {
        let mut tries = 1;
        loop {
            match self.is_told_as_stored(routing, header, stored).await {
                Err(error) if is_passing(&error) && tries < MAX_TRIES => tries += 1,
                told => return told,
            }
            sleep(TRY_PAUSE).await;
        }
    }

    async fn is_told_as_stored(
        &self,
        routing: &Routing,
        header: &Header,
        stored: &StoredBlock,
    ) -> Result<bool, ChainError> {
        // One that does not hash to its hash was confirmed by all before.
        if header.is_hash_proven && !self.is_on_every_chain(header).await? {
            return Ok(false);
        }
        let given = match self.proven_logs(header).await? {
            ReceiptLogs::Proven(logs) => Some(logs),
            ReceiptLogs::Mismatched if self.has_proven_receipts() => None,
            // Nobody knows yet whether receipts of this chain hash to their roots at all.
            ReceiptLogs::Mismatched if !self.insists() && !self.ignores_receipts() => {
                return Err(mismatch(header.block.number));
            }
            ReceiptLogs::Mismatched => {
                self.ignores_receipts.store(true, Ordering::Relaxed);
                self.given_logs(header).await?
            }
            ReceiptLogs::Absent => self.given_logs(header).await?,
        };
        let Some(logs) = given else { return Ok(false) };
        let wanted: Vec<_> = logs.into_iter().filter(|log| routing.filter.matches(log)).collect();
        let sorted = routing.sorted(&wanted);
        Ok(stored.change(&header.block, &header.logs_bloom, (&wanted, &sorted)).is_none())
    }

    /// Whether receipts of the chain are known to hash to their roots.
    fn has_proven_receipts(&self) -> bool {
        self.chain.has_proven_receipts.load(Ordering::Relaxed)
    }

    /// Whether no endpoint has another block at its height: one that hashes to its hash may be of a
    /// branch of its own.
    async fn is_on_every_chain(&self, header: &Header) -> Result<bool, ChainError> {
        let (mut heard, mut failed) = (0, None);
        for one in self.reader.header_from_each(BlockTag::Number(header.block.number)).await {
            match one.answer {
                Ok(Some(other)) if other.block.hash != header.block.hash => return Ok(false),
                Ok(_) => heard += 1,
                Err(error) => failed = Some(error),
            }
        }
        failed.filter(|_| heard < 2).map_or(Ok(true), Err)
    }

    /// All logs of a block, from receipts that hash to the root in its header. Only they have
    /// what no bloom knows: a log's data. A header that does not hash to the stored hash may be
    /// made up, with its root.
    async fn proven_logs(&self, header: &Header) -> Result<ReceiptLogs, ChainError> {
        if !header.is_hash_proven {
            return Ok(ReceiptLogs::Absent);
        }
        let (mut told, mut failed): (Vec<Receipts>, Option<ChainError>) = (Vec::new(), None);
        for one in self.reader.receipts_from_each(&header.block).await {
            match one.answer {
                Ok(receipts) => told.extend(receipts),
                Err(error) if is_passing(&error) => failed = Some(error),
                Err(_) => {}
            }
        }
        let is_mismatched = told.iter().any(|receipts| receipts.root != header.receipts_root);
        let proven = told.into_iter().filter(|receipts| receipts.prove(header));
        let mut proven: Vec<_> = proven.map(|receipts| receipts.logs).collect();
        // No root has the hashes of transactions: those are what endpoints may differ in.
        proven.dedup();
        let logs = proven.pop().filter(|_| proven.is_empty());
        let logs = logs.and_then(|logs| block_logs::checked(&header.block, &LogFilter::default(), logs).ok());
        match (logs, failed) {
            (Some(logs), _) => {
                self.chain.has_proven_receipts.store(true, Ordering::Relaxed);
                Ok(ReceiptLogs::Proven(logs))
            }
            (None, _) if is_mismatched => Ok(ReceiptLogs::Mismatched),
            // One that fails now has not said that it has none.
            (None, Some(error)) if !self.insists() || self.has_proven_receipts() => Err(error),
            (None, _) => Ok(ReceiptLogs::Absent),
        }
    }

    /// All logs of a block, as the endpoints have them; `None` where they do not give its bloom or
    /// are not alike. Where there are several endpoints, one alone proves nothing.
    async fn given_logs(&self, header: &Header) -> Result<Option<Vec<LogEvent>>, ChainError> {
        let (all, span) = (LogFilter::default(), LogSpan::Block(header.block.block_ref()));
        let (mut failed, mut given): (Option<ChainError>, Vec<Vec<LogEvent>>) = (None, Vec::new());
        for one in self.reader.logs_from_each(span, &all).await {
            match one.answer.and_then(|logs| block_logs::checked(&header.block, &all, logs)) {
                Ok(logs) => given.push(logs),
                Err(ChainError { kind: ChainErrorKind::Malformed, .. }) => return Ok(None),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed.filter(|_| given.len() < 2) {
            return Err(error);
        }
        self.has_taken_lone_word.fetch_or(given.len() < 2, Ordering::Relaxed);
        let is_lacking = |logs: &Vec<LogEvent>| BloomFit::of(&header.logs_bloom, logs) == BloomFit::Lacking;
        let is_alike = given.windows(2).all(|pair| pair[0] == pair[1]);
        Ok(given.pop().filter(|last| is_alike && !is_lacking(last)))
    }

    /// Settles suspicious blocks. A segment of which one was stored wrongly is collected again.
    async fn settle(
        &mut self,
        mut step: Step,
        routing: &Routing,
        segment: BlockRange,
        suspicious: Vec<u64>,
    ) -> Result<VerifyStep, CollectError> {
        let (chain, record) = (self.chain.clone(), &mut step.record);
        let mut resolver = BlockResolver::new(&chain, &self.reader, routing, "verify").await?;
        let (mut writes, mut left) = (Vec::new(), &suspicious[..]);
        while resolver.mended() == 0 && !left.is_empty() && !record.doubts.is_full() {
            let (some, rest) = left.split_at(left.len().min(MAX_RESOLVED_BLOCKS).min(record.doubts.room()));
            let (mends, _) =
                resolver.resolve_all(some, &mut record.doubts, self.unanswered(), Duration::MAX).await?;
            writes.extend(mends);
            left = rest;
        }
        let is_lone_word = self.has_taken_lone_word.load(Ordering::Relaxed) || resolver.has_taken_lone_word();
        let mended = resolver.finish();
        if mended > 0 {
            let chain = chain.options.chain;
            tracing::warn!(%chain, blocks = %segment, mended, "blocks were stored wrongly: the range is collected again");
            record.suspect.insert(segment);
        } else if !left.is_empty() || record.has_doubt_in(segment) {
            record.unsettled.insert(segment);
        } else if is_lone_word {
            record.leave_unproven(segment);
        } else {
            record.verify(segment, self.mode);
        }
        self.commit(step, writes, mended).await?;
        Ok(VerifyStep::Looked { blocks: segment, mended })
    }
}
