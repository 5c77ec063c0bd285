//! Where an operator can go back to once a final block was replaced: the newest stored block
//! that the chain still has.
//!
//! What is stored of a block is its header, while it is kept, or the rows that name its
//! hash. Below a block that both have, they have the same blocks; so the search goes down
//! in growing steps until it finds one, and then halves what lies between. Ranges that were under
//! way when the chain was replaced may have stored rows of either chain: from the first block of an
//! open campaign on nothing stored says anything. Where the oldest stored block is not the chain's,
//! the chain began anew, and nothing that is stored counts as shared.

use windlass_core::block_set::BlockSet;
use windlass_core::chain::BlockRef;
use windlass_core::plan::Campaign;
use windlass_core::range::BlockRange;
use windlass_core::reader::{BlockTag, ChainError, ChainErrorKind};
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery};
use windlass_core::table::{Identifier, Value};

use super::chain::CollectedChain;
use super::error::CollectError;
use super::ledger;

/// The most stored headers that are looked at, the lowest first.
const MAX_HEADERS: u32 = 10_000;

/// What is stored of a chain's blocks.
pub(super) struct StoredBlocks<'a> {
    chain: &'a CollectedChain,
    headers: Vec<BlockRef>,
    tables: Vec<Identifier>,
}

impl CollectedChain {
    /// The newest stored block below one that is gone that the chain still has, or the block
    /// below the first that is collected where it has none of them. `None` while the endpoints
    /// do not say.
    pub(super) async fn rewind_target(&self, gone: BlockRef) -> Result<Option<u64>, CollectError> {
        let stored = StoredBlocks::read(self).await?;
        let gone = self.first_open_block().await?.map_or(gone.number, |open| open.min(gone.number));
        let found = match stored.newest_shared(gone).await {
            Ok(None) => self.block_below_start().await,
            found => found,
        };
        match found {
            // That collecting has stopped is to be told all the same.
            Err(CollectError::Chain(error)) => {
                tracing::debug!(%error, "the newest block that the chain still has could not be found");
                Ok(None)
            }
            found => found,
        }
    }
}

impl CollectedChain {
    /// The block below the first one that is collected; the chain's newest where it does not
    /// reach that far, as one that was begun anew.
    async fn block_below_start(&self) -> Result<Option<u64>, CollectError> {
        let newest = self.reader.header(BlockTag::Latest).await?;
        let below = self.first_collected().await?.map(|start| start.saturating_sub(1));
        Ok(below.zip(newest).map(|(below, newest)| below.min(newest.block.number)))
    }

    /// Whether nothing up to a block is collected. No chain has logs in its first block.
    pub(super) async fn is_below_start(&self, number: u64) -> Result<bool, CollectError> {
        Ok(number == 0 || self.first_collected().await?.is_none_or(|start| number < start))
    }

    /// The first block that a campaign has stored which is not over. One that is over was taken out
    /// of the plan after the chain was seen to have the last stored block. Ranges that are under way
    /// have stored nothing, and a rewind takes them back.
    pub(super) async fn first_open_block(&self) -> Result<Option<u64>, CollectError> {
        let plan = ledger::plan(&*self.store, &self.names).await?;
        let next_blocks = ledger::next_blocks(&*self.store, &self.names, &plan).await?;
        let open = ledger::open_blocks(&*self.store, &self.names, &plan).await?;
        let stored = |campaign: &Campaign| {
            let next = next_blocks.get(&campaign.id).copied().unwrap_or(campaign.blocks.from);
            let to = campaign.blocks.to.min(next.checked_sub(1)?);
            let claimed = (campaign.blocks.from <= to)
                .then(|| BlockSet::from(BlockRange { from: campaign.blocks.from, to }))?;
            let stored = open.get(&campaign.id).map_or(claimed.clone(), |open| claimed.minus(open));
            // With nothing left it is over, though it may not have been taken out yet: each of its ranges
            // was stored from an endpoint that had the last final block.
            let is_over = next > campaign.blocks.to && stored == claimed;
            stored.ranges().first().filter(|_| !is_over).map(|range| range.from)
        };
        Ok(plan.campaigns.iter().filter_map(stored).min())
    }

    async fn first_collected(&self) -> Result<Option<u64>, CollectError> {
        let plan = ledger::plan(&*self.store, &self.names).await?;
        Ok(plan.collected().map(|(_, source)| source.start).min())
    }
}

impl<'a> StoredBlocks<'a> {
    pub(super) async fn read(chain: &'a CollectedChain) -> Result<Self, CollectError> {
        let id = chain.options.chain;
        let headers = chain.store.blocks(id, 0, MAX_HEADERS).await?;
        let tables = chain.store.list_tables().await?;
        let tables = tables.into_iter().filter(|table| table.spec.chain == id && table.rows > 0);
        Ok(Self {
            chain,
            headers: headers.iter().map(|header| header.block_ref()).collect(),
            tables: tables.map(|table| table.spec.name.clone()).collect(),
        })
    }

    /// The newest block below `gone` that is stored and that the chain has, if there is one. A
    /// block of which nothing is stored says nothing: the chain may have logs there by now.
    pub(super) async fn newest_shared(&self, mut gone: u64) -> Result<Option<u64>, CollectError> {
        let (mut shared, mut step) = (None, 1_u64);
        let mut low = loop {
            if gone == 0 {
                return Ok(None);
            }
            let below = gone.saturating_sub(step);
            match self.newest_at(below).await? {
                None => break below,
                Some(block) if self.is_canonical(block).await? => {
                    shared = Some(block.number);
                    break block.number;
                }
                Some(block) => (gone, step) = (block.number, step.saturating_mul(2)),
            }
        };
        while gone - low > 1 {
            let middle = low + (gone - low) / 2;
            match self.newest_at(middle).await? {
                Some(block) if block.number > low => {
                    if self.is_canonical(block).await? {
                        (shared, low) = (Some(block.number), middle);
                    } else {
                        gone = block.number;
                    }
                }
                _ => low = middle,
            }
        }
        // A block that was mended from the new chain says nothing about those below it.
        Ok(if shared.is_some() && self.replaced_oldest().await?.is_some() { None } else { shared })
    }

    /// The oldest stored block and the one that the chain has in its place, if it has another: then
    /// the chain began anew, and no stored block below the newest is proof of those below it.
    pub(super) async fn replaced_oldest(&self) -> Result<Option<(BlockRef, BlockRef)>, CollectError> {
        let mut oldest = self.headers.iter().min_by_key(|block| block.number).copied();
        for block in self.rows_at_end(&[], RowOrder::OldestFirst).await? {
            oldest = oldest.filter(|oldest| oldest.number <= block.number).or(Some(block));
        }
        let Some(oldest) = oldest else { return Ok(None) };
        // Not every endpoint has old blocks, and some refuse to tell of them.
        let found = match self.chain.reader.header(BlockTag::Number(oldest.number)).await {
            Err(error) if matches!(error.kind, ChainErrorKind::Refused | ChainErrorKind::UnknownBlock) => {
                None
            }
            found => found?,
        };
        let found = found.map(|found| found.block.block_ref()).filter(|found| *found != oldest);
        Ok(found.map(|found| (oldest, found)))
    }

    /// The newest block up to a number of which something is stored.
    pub(super) async fn newest_at(&self, number: u64) -> Result<Option<BlockRef>, CollectError> {
        let headers = self.headers.iter().filter(|block| block.number <= number);
        let mut newest = headers.max_by_key(|block| block.number).copied();
        let at_most = Condition {
            place: Place::Block,
            comparison: Comparison::AtMost,
            values: vec![Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))],
        };
        for block in self.rows_at_end(&[at_most], RowOrder::NewestFirst).await? {
            newest = newest.filter(|newest| newest.number >= block.number).or(Some(block));
        }
        Ok(newest)
    }

    /// The block of each table's first row in this order.
    async fn rows_at_end(
        &self,
        conditions: &[Condition],
        order: RowOrder,
    ) -> Result<Vec<BlockRef>, CollectError> {
        let mut blocks = Vec::with_capacity(self.tables.len());
        for table in &self.tables {
            let query = RowQuery {
                table: table.clone(),
                conditions: conditions.to_vec(),
                order,
                after: None,
                limit: 1,
            };
            blocks.extend(self.chain.store.rows(&query).await?.iter().map(|row| row.head.block));
        }
        Ok(blocks)
    }

    /// Whether the chain has a block. One that no endpoint tells of, as one below what a node keeps, says
    /// nothing; above the chain's newest block there is none.
    async fn is_canonical(&self, block: BlockRef) -> Result<bool, CollectError> {
        let reader = &self.chain.reader;
        if let Some(found) = reader.header(BlockTag::Number(block.number)).await? {
            return Ok(found.block.hash == block.hash);
        }
        match reader.header(BlockTag::Latest).await? {
            Some(newest) if newest.block.number < block.number => Ok(false),
            _ => Err(unknown_block(block.number)),
        }
    }
}

fn unknown_block(number: u64) -> CollectError {
    ChainError::new(ChainErrorKind::UnknownBlock, format!("no endpoint tells of block {number}")).into()
}
