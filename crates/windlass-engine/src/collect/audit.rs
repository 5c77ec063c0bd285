//! Proves that nothing is missing, extra or altered, block by block.
//!
//! The strongest proof is the block's own: all of its receipts, hashed to the root
//! in its header, tell every log there is. Where an endpoint does not tell
//! receipts, a bloom that has no room for a wanted log proves that there is none;
//! the rest stands on the word of one endpoint, or of two that agree.
//!
//! Rows at blocks that do not exist are named too.
//!
//! What a campaign has not stored yet, or has given up, cannot be judged: it is left out,
//! and counted by its reason.

mod left;
mod patience;
mod phantom;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use windlass_core::commit::Commit;
use windlass_core::error::RetryAdvice;
use windlass_core::event::LogEvent;
use windlass_core::lease::Lease;
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind, ChainReader, Header, LogFilter, LogSpan};
use windlass_core::table::Identifier;

pub(super) use self::left::Unstored;
pub use self::left::{LeftOut, Next};
use self::patience::patiently;
pub use self::phantom::Phantoms;
use super::block_logs;
use super::blooms::BloomTrust;
use super::chain::CollectedChain;
use super::compare::{self, Compared};
use super::error::CollectError;
pub use super::evidence::Proof;
use super::ledger;
use super::mend::Mend;
use super::routing::Routing;
use super::sight::{KnownFinal, Sight};

/// The most blocks of one page.
pub const MAX_PAGE_BLOCKS: u64 = 500;
/// How many blocks are asked for at once.
const CONCURRENCY: usize = 8;

/// What was found in some blocks.
#[derive(Debug, Clone, Default)]
pub struct Audited {
    /// How many blocks stand on which proof.
    pub proofs: BTreeMap<Proof, u64>,
    /// What differs, by table.
    pub differences: BTreeMap<Identifier, Compared>,
    /// Blocks about which two endpoints disagree.
    pub disputed: BTreeSet<u64>,
    /// Blocks that were collected anew.
    pub repaired: u64,
    /// Contracts that nobody knew of, told by rows that were missing.
    pub contracts_found: u64,
}

impl Audited {
    /// Whether everything is as it should be.
    pub fn is_clean(&self) -> bool {
        self.disputed.is_empty() && self.differences.values().all(Compared::is_same)
    }

    /// Adds what a second look at the same blocks has found.
    fn add(&mut self, again: Self) {
        self.disputed.extend(again.disputed);
        for (table, compared) in again.differences {
            self.differences.entry(table).or_default().extend(compared);
        }
        self.repaired += again.repaired;
    }
}

/// A chain under audit.
pub struct Audit {
    chain: Arc<CollectedChain>,
    second: Option<Arc<dyn ChainReader>>,
    /// Whether a bloom without room for a log proves that there is none.
    blooms: BloomTrust,
}

/// What is known of one block.
struct Known {
    header: Header,
    proof: Proof,
    logs: Vec<LogEvent>,
    is_disputed: bool,
}

impl Audit {
    /// An audit of everything that is collected of a chain; a second endpoint is asked
    /// where there is no better proof.
    pub async fn new(
        chain: Arc<CollectedChain>,
        second: Option<Arc<dyn ChainReader>>,
    ) -> Result<Self, CollectError> {
        let blooms = chain.bloom_trust().await?;
        let audit = Self { chain, second, blooms };
        // Sources that are not configured cannot be judged: better to say so first.
        audit.routing_at(u64::MAX).await?;
        Ok(audit)
    }

    /// What sorts the logs of the sources that are collected at a block.
    async fn routing_at(&self, block: u64) -> Result<Routing, CollectError> {
        let chain = &self.chain;
        let plan: Plan = ledger::plan(&*chain.store, &chain.names).await?;
        let begun = plan.collected().filter(|(_, source)| source.start <= block).map(|(id, _)| id);
        chain
            .routing(begun.collect::<Vec<_>>())
            .await?
            .ok_or_else(|| CollectError::strange(&chain.names.plan, "it has sources that are not configured"))
    }

    /// The next blocks to audit, from a block on up to another: so many as fit a page and
    /// have the same sources, behind those that are not stored.
    pub async fn next_page(&self, from: u64, to: u64) -> Result<Next, CollectError> {
        let (store, names) = (&*self.chain.store, &self.chain.names);
        let asked = BlockRange { from, to };
        let unstored = Unstored::of(store, names).await?;
        let left = unstored.stored_of(asked);
        let Some(first) = left.ranges().first() else {
            return Ok(Next { page: None, left_out: unstored.reasons(asked) });
        };
        let plan = ledger::plan(store, names).await?;
        let starts = plan.collected().map(|(_, source)| source.start);
        let next_start = starts.filter(|start| *start > first.from).min().unwrap_or(u64::MAX);
        let page = BlockRange::next(first.from, MAX_PAGE_BLOCKS, first.to.min(next_start - 1));
        let passed = first.from.checked_sub(1).filter(|before| *before >= from);
        let left_out = passed.map(|to| unstored.reasons(BlockRange { from, to })).unwrap_or_default();
        Ok(Next { page, left_out })
    }

    /// The blocks that are to be there: from the first start to the last final block that the head
    /// has behind it. Blocks that became final since the head was followed last are left out: a
    /// reorg among them was not seen yet.
    pub async fn extent(&self) -> Result<Option<BlockRange>, CollectError> {
        let plan = ledger::plan(&*self.chain.store, &self.chain.names).await?;
        let start = plan.collected().map(|(_, source)| source.start).min();
        let head = ledger::block(&*self.chain.store, &self.chain.names.head).await?;
        let finalized = patiently(|| self.chain.look(KnownFinal::NOTHING)).await?.0.finalized.number;
        let stored: Option<Sight> = ledger::read(&*self.chain.store, &self.chain.names.sight).await?;
        let finalized = stored.map_or(finalized, |stored| stored.finalized.number.min(finalized));
        Ok(start.zip(head).map(|(from, head)| BlockRange { from, to: head.number.min(finalized) }))
    }

    /// The first of some blocks that the endpoints have, if they have the last: a chain may begin
    /// above the first block that is asked for, and a node may keep only newer ones.
    pub async fn first_known(&self, blocks: BlockRange) -> Result<Option<u64>, CollectError> {
        let is_known = async |number| -> Result<bool, CollectError> {
            let ask = || self.chain.reader.header(BlockTag::Number(number));
            Ok(patiently(ask).await?.is_some())
        };
        if !is_known(blocks.to).await? {
            return Ok(None);
        }
        let (mut from, mut known) = (blocks.from, blocks.to);
        while from < known {
            let middle = from + (known - from) / 2;
            if is_known(middle).await? { known = middle } else { from = middle + 1 }
        }
        Ok(Some(known))
    }

    /// Audits some blocks, at most [`MAX_PAGE_BLOCKS`]; mends what differs if told to.
    pub async fn page(&self, blocks: BlockRange, repairs: bool) -> Result<Audited, CollectError> {
        if !repairs {
            return self.look(blocks, None).await;
        }
        let (store, options) = (&self.chain.store, &self.chain.options);
        let mend = &self.chain.names.mend;
        // Held before anything is asked: nobody takes the blocks back in between.
        let Some(lease) = store.acquire_lease(mend, &options.owner, options.lease_ttl).await? else {
            return Err(CollectError::Mending { chain: options.chain });
        };
        let repaired = self.repaired(blocks, &lease).await;
        store.release_lease(&lease).await?;
        repaired
    }

    /// Mends some blocks. What comes back may tell of contracts that nobody knew: then
    /// there is more to look for in the same blocks.
    async fn repaired(&self, blocks: BlockRange, lease: &Lease) -> Result<Audited, CollectError> {
        let mut known = self.contracts().await?;
        let mut audited = self.look(blocks, Some(lease)).await?;
        loop {
            let now = self.contracts().await?;
            if now <= known {
                return Ok(audited);
            }
            audited.contracts_found += now - known;
            known = now;
            audited.add(self.look(blocks, Some(lease)).await?);
        }
    }

    /// How many contracts factories are known to have created.
    async fn contracts(&self) -> Result<u64, CollectError> {
        let plan = ledger::plan(&*self.chain.store, &self.chain.names).await?;
        let children = self.chain.children(plan.collected().map(|(id, _)| id)).await?;
        Ok(children.values().map(|contracts| contracts.len() as u64).sum())
    }

    /// Looks at some blocks; mends what differs under a lease, if there is one.
    async fn look(&self, blocks: BlockRange, lease: Option<&Lease>) -> Result<Audited, CollectError> {
        let routing = &self.routing_at(blocks.from).await?;
        let numbers: Vec<u64> = (blocks.from..=blocks.to).take(MAX_PAGE_BLOCKS as usize).collect();
        let headers = self.headers(&numbers).await?;
        let known: Vec<Known> = stream::iter(numbers.iter().zip(headers))
            .map(|(number, header)| patiently(move || self.known(*number, header.clone(), &routing.filter)))
            .buffered(CONCURRENCY)
            .try_collect()
            .await?;
        let mut audited = Audited::default();
        for block in &known {
            *audited.proofs.entry(block.proof).or_default() += 1;
            if block.is_disputed {
                audited.disputed.insert(block.header.block.number);
            }
        }
        let (store, chain) = (&*self.chain.store, self.chain.options.chain);
        let found = routing.sorted(known.iter().flat_map(|block| &block.logs));
        audited.differences = compare::tables(store, routing, blocks, &found).await?;
        let misfits = compare::misfits(store, chain, routing, blocks, &found).await?;
        if !misfits.is_same() {
            let name = Identifier::new(compare::MISFITS);
            let name = name.map_err(|error| CollectError::strange(compare::MISFITS, error))?;
            audited.differences.insert(name, misfits);
        }
        if let Some(lease) = lease.filter(|_| !audited.is_clean()) {
            audited.repaired = self.repair(routing, &known, &audited, lease).await?;
        }
        Ok(audited)
    }

    /// Headers, all at once if that goes well; each by itself otherwise: one answer that
    /// goes wrong spoils all that were asked for together.
    async fn headers(&self, numbers: &[u64]) -> Result<Vec<Option<Header>>, ChainError> {
        let reader = &self.chain.reader;
        match reader.headers(numbers).await {
            Err(error) if error.retry != RetryAdvice::Never => {
                let one = |number: &u64| {
                    let block = BlockTag::Number(*number);
                    patiently(move || reader.header(block))
                };
                stream::iter(numbers.iter().map(one)).buffered(CONCURRENCY).try_collect().await
            }
            answer => answer,
        }
    }

    async fn known(
        &self,
        number: u64,
        header: Option<Header>,
        filter: &LogFilter,
    ) -> Result<Known, ChainError> {
        let header = header.ok_or_else(|| unknown(number))?;
        if let Some(receipts) = self.chain.reader.receipts(&header.block).await? {
            // Only a header that hashes to its hash is known to have a root at all.
            if receipts.root != header.receipts_root && header.is_hash_proven {
                let told = format!("the receipts of block {number} do not hash to the root in its header");
                return Err(ChainError::new(ChainErrorKind::Malformed, told));
            }
            if receipts.prove(&header) {
                let logs = receipts.logs.into_iter().filter(|log| filter.matches(log)).collect();
                return Ok(Known { header, proof: Proof::Receipts, logs, is_disputed: false });
            }
        }
        if self.blooms.is_proven() && !filter.may_match(&header.logs_bloom) {
            return Ok(Known { header, proof: Proof::Bloom, logs: Vec::new(), is_disputed: false });
        }
        let logs = block_logs::of_header(&*self.chain.reader, &header, filter).await?;
        let Some(second) = &self.second else {
            return Ok(Known { header, proof: Proof::OneEndpoint, logs, is_disputed: false });
        };
        let agrees = agrees(&**second, &header, filter, &logs).await?;
        let proof = if agrees { Proof::TwoEndpoints } else { Proof::OneEndpoint };
        Ok(Known { header, proof, logs, is_disputed: !agrees })
    }

    /// Collects blocks that differ anew, in one commit; those that are disputed stay as they are.
    async fn repair(
        &self,
        routing: &Routing,
        known: &[Known],
        audited: &Audited,
        lease: &Lease,
    ) -> Result<u64, CollectError> {
        let differing: BTreeSet<u64> = audited.differences.values().flat_map(Compared::blocks).collect();
        let mut writes = Vec::new();
        let mut repaired = 0;
        let mend = Mend::new(&self.chain, routing, "repair").await?;
        for block in known {
            let number = block.header.block.number;
            if !differing.contains(&number) || block.is_disputed {
                continue;
            }
            writes.extend(mend.block(block.header.block.block_ref(), routing.sorted(&block.logs)).await?);
            repaired += 1;
        }
        self.chain.store.commit(Commit::of(writes).under_lease(lease)).await?;
        Ok(repaired)
    }
}

/// Whether another endpoint has the same block with the same logs.
async fn agrees(
    second: &dyn ChainReader,
    header: &Header,
    filter: &LogFilter,
    logs: &[LogEvent],
) -> Result<bool, ChainError> {
    let number = header.block.number;
    let theirs = second.header(BlockTag::Number(number)).await?.ok_or_else(|| unknown(number))?;
    if theirs.block.hash != header.block.hash {
        return Ok(false);
    }
    Ok(second.logs(LogSpan::Block(header.block.block_ref()), filter).await? == logs)
}

fn unknown(number: u64) -> ChainError {
    ChainError::new(ChainErrorKind::UnknownBlock, format!("the endpoint does not know block {number}"))
}
