//! An operator's way back to an earlier block: everything above it is taken back, and
//! collected again from there.
//!
//! It is for a chain that was reorganised past what was final. Everything happens in
//! one commit, under the chain's leases: nobody may be following or repairing the chain
//! meanwhile, and whoever is still at a range of what is taken back cannot store it.

use windlass_core::block_set::BlockSet;
use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::commit::{Commit, Write, Written};
use windlass_core::lease::Lease;
use windlass_core::name::CursorName;
use windlass_core::plan::Standing;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};

use super::chain::{CollectedChain, Fact, REMOVED};
use super::deployment;
use super::doubts::Doubts;
use super::error::CollectError;
use super::ledger;
use super::rewind_target::StoredBlocks;
use super::verify::Verified;

/// What was done, or why nothing was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewound {
    /// Everything above the block was taken back.
    Done {
        /// How many rows that were.
        rows: u64,
    },
    /// Somebody is collecting the chain.
    InUse,
    /// There is nothing above the block.
    NothingAbove {
        /// The last block that was followed, if there is one.
        position: Option<u64>,
    },
    /// What is stored at the block, or next below it, is not the chain's: a lower one is needed.
    Differs {
        /// The block that is stored.
        stored: BlockRef,
        /// The block that the chain has.
        found: BlockRef,
        /// The newest block that would do, where it was found.
        rewind_to: Option<u64>,
    },
    /// The chain was replaced while ranges were being collected: their rows may be of either chain.
    Mixed {
        /// The first block of such ranges.
        open_from: u64,
        /// The newest block that would do, where it was found.
        rewind_to: Option<u64>,
    },
}

/// Where the head goes on.
struct RewindPoint {
    /// The last block that stays.
    header: BlockHeader,
    /// Everything from here on is taken back. This is the next block, except where nothing up to
    /// the last one is collected: then what is stored of another chain's blocks goes too.
    from_block: u64,
}

impl CollectedChain {
    /// Goes back to a block that the store and the chain share.
    pub async fn rewind(&self, to: u64) -> Result<Rewound, CollectError> {
        let ttl = self.options.lease_ttl;
        let lease = self.store.acquire_lease(&self.names.lease, &self.options.owner, ttl).await?;
        let Some(lease) = lease else { return Ok(Rewound::InUse) };
        let mend = self.store.acquire_lease(&self.names.mend, &self.options.owner, ttl).await?;
        let verify = self.store.acquire_lease(&self.names.verify, &self.options.owner, ttl).await?;
        let done = match mend.as_ref().zip(verify.as_ref()) {
            Some((mend, verify)) => self.rewind_under([&lease, mend, verify], to).await,
            None => Ok(Rewound::InUse),
        };
        for lease in mend.iter().chain(&verify).chain([&lease]) {
            self.store.release_lease(lease).await?;
        }
        done
    }

    async fn rewind_under(
        &self,
        [lease, mend, verify]: [&Lease; 3],
        to: u64,
    ) -> Result<Rewound, CollectError> {
        let position = ledger::block(&*self.store, &self.names.head).await?;
        let number = position.map(|position| position.number);
        let Some(position) = position.filter(|position| position.number >= to) else {
            return Ok(Rewound::NothingAbove { position: number });
        };
        let point = match self.rewind_point(position, to).await? {
            Ok(point) => point,
            Err(differs) => return Ok(differs),
        };
        let (target, from_block) = (point.header.block_ref(), point.from_block);
        if position.number < from_block {
            return Ok(Rewound::NothingAbove { position: number });
        }
        let old = ledger::plan(&*self.store, &self.names).await?;
        let next_blocks = ledger::next_blocks(&*self.store, &self.names, &old).await?;
        let open = ledger::open_blocks(&*self.store, &self.names, &old).await?;
        let standing =
            Standing { head: position.number, settled: to, next_blocks, open, ..Standing::default() };
        let new = old.rewind(&standing, to, from_block);
        // First nobody can store a range any more that reaches above the block; then what
        // is there is taken back.
        let mut writes = ledger::change(&self.names, (&old, &new), &standing.next_blocks)?;
        writes.extend(self.retracting(position, &point).await?);
        // Headers of final blocks are forgotten; this is where the head stands now.
        writes.push(Write::Blocks { chain: self.options.chain, headers: vec![point.header] });
        let rechecked = ledger::block(&*self.store, &self.names.recheck).await?;
        writes.extend(
            rechecked.filter(|at| at.number >= from_block).map(|at| reset(&self.names.recheck, at, target)),
        );
        writes.extend(deployment::forgotten_from(&*self.store, self.options.chain, &old, from_block).await?);
        writes.extend(self.unverified(from_block).await?);
        let retraction = writes.iter().position(|write| matches!(write, Write::Retract { .. }));
        let retraction = retraction.unwrap_or(usize::MAX);
        let commit = Commit::of(writes).under_lease(lease).under_lease(mend).under_lease(verify);
        let written = self.store.commit(commit).await?;
        let rows = |written: &Written| if let Written::Rows(rows) = written { Some(*rows) } else { None };
        Ok(Rewound::Done { rows: written.get(retraction).and_then(rows).unwrap_or_default() })
    }

    /// The point to go back to, or why that block does not do.
    async fn rewind_point(
        &self,
        position: BlockRef,
        to: u64,
    ) -> Result<Result<RewindPoint, Rewound>, CollectError> {
        let header = self.block_of_chain(to).await?;
        if let Some(open_from) = self.first_open_block().await?.filter(|open| *open <= to)
            && !self.is_below_start(to).await?
            && self.is_replaced(position).await?
        {
            let rewind_to = self.rewind_target(position).await?;
            return Ok(Err(Rewound::Mixed { open_from, rewind_to }));
        }
        let blocks = StoredBlocks::read(self).await?;
        let Some(stored) = blocks.newest_at(to).await? else {
            return Ok(Ok(RewindPoint { header, from_block: to + 1 }));
        };
        let found = self.block_of_chain(stored.number).await?.block_ref();
        if found == stored {
            return Ok(match blocks.replaced_oldest().await? {
                None => Ok(RewindPoint { header, from_block: to + 1 }),
                Some((stored, found)) => {
                    let rewind_to = self.rewind_target(stored).await?;
                    Err(Rewound::Differs { stored, found, rewind_to })
                }
            });
        }
        if !self.is_below_start(to).await? {
            let rewind_to = self.rewind_target(stored).await?;
            return Ok(Err(Rewound::Differs { stored, found, rewind_to }));
        }
        let shared = blocks.newest_shared(stored.number).await?;
        Ok(Ok(RewindPoint { header, from_block: shared.map_or(0, |shared| shared + 1) }))
    }

    /// Whether the chain was found to be another than the stored one, or is so now.
    async fn is_replaced(&self, position: BlockRef) -> Result<bool, CollectError> {
        if self.halt().await?.is_some() {
            return Ok(true);
        }
        // An endpoint that lags behind the stored block says nothing about it.
        Ok(self.block_of_chain(position.number).await?.block_ref() != position)
    }

    /// What takes everything from a block on back, and forgets that collecting had stopped.
    async fn retracting(&self, position: BlockRef, point: &RewindPoint) -> Result<Vec<Write>, CollectError> {
        let (from_block, target) = (point.from_block, point.header.block_ref());
        let generation = self.generation().await? + 1;
        let fact = Fact {
            by: "rewind".to_owned(),
            generation,
            from_block,
            to_block: None,
            head: target,
            events: 0,
            tables: Vec::new(),
        };
        let generation = Some(generation.to_string());
        Ok(vec![
            reset(&self.names.head, position, target),
            Write::Retract { chain: self.options.chain, from_block },
            // What was final may be so no longer: whoever goes on asks anew.
            Write::PutState { key: self.names.sight.clone(), value: None },
            Write::PutState { key: self.names.generation.clone(), value: generation },
            Write::PutState { key: self.names.halt.clone(), value: None },
            // It may be another chain's first block.
            Write::PutState { key: self.names.anchor.clone(), value: None },
            Write::Publish(vec![self.message(REMOVED, &fact)]),
        ])
    }

    /// What was verified from a block on, or is in doubt, is neither any more.
    async fn unverified(&self, from_block: u64) -> Result<[Write; 3], CollectError> {
        let removed = BlockRange { from: from_block, to: u64::MAX };
        let mut verified = Verified::read(&*self.store, &self.names.verified).await?;
        verified.forget(removed);
        let mut doubts = Doubts::read(&*self.store, &self.names.doubts).await?;
        doubts.blocks.retain(|block| block.number < from_block);
        let key = &self.names.compared;
        let mut compared: BlockSet = ledger::read(&*self.store, key).await?.unwrap_or_default();
        compared.remove(removed);
        let compared = serde_json::to_string(&compared).map_err(|error| CollectError::strange(key, error))?;
        Ok([
            verified.write(&self.names.verified)?,
            doubts.write(&self.names.doubts)?,
            Write::PutState { key: key.clone(), value: Some(compared) },
        ])
    }

    async fn block_of_chain(&self, number: u64) -> Result<BlockHeader, CollectError> {
        let found = self.reader.header(BlockTag::Number(number)).await?;
        let unknown =
            || ChainError::new(ChainErrorKind::UnknownBlock, format!("block {number} is not known"));
        Ok(found.ok_or_else(unknown)?.block)
    }
}

fn reset(name: &CursorName, from: BlockRef, to: BlockRef) -> Write {
    Write::ResetCursor { name: name.clone(), expected: ledger::at(from), to: ledger::at(to) }
}
