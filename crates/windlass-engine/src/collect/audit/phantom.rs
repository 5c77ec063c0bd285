//! Rows at blocks that do not exist: behind the last block that was followed, or, where the
//! head has kept a block's header, of a block of another hash.
//!
//! The head moves while this looks. Rows are read before the position, and a position that
//! went back in between makes the look count for nothing; a removal is refused by the store
//! when the head has moved since.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::{Address, B256, BlockRef};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::lease::Lease;
use windlass_core::range::BlockRange;
use windlass_core::row_query::{Comparison, Condition, MAX_ROW_PAGE, Place, RowOrder, RowQuery};
use windlass_core::store::MAX_EVENT_PAGE;
use windlass_core::table::{Identifier, RowKey, Value};

use super::Audit;
use crate::collect::chain::{Fact, REMOVED};
use crate::collect::compare;
use crate::collect::error::CollectError;
use crate::collect::ledger;
use crate::collect::sight::KnownFinal;

/// A look that the head disturbed is taken again, so many times.
const MAX_LOOKS: u32 = 10;

/// Rows at blocks that do not exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Phantoms {
    /// By table.
    pub rows: BTreeMap<Identifier, Vec<RowKey>>,
    /// How many of them were taken out.
    pub removed: u64,
}

impl Phantoms {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.rows.values().map(|keys| keys.len() as u64).sum()
    }
}

/// One row, as far as it matters here.
struct Row {
    table: Identifier,
    key: RowKey,
    hash: B256,
    contract: Address,
}

/// What one look has seen.
struct Seen {
    position: BlockRef,
    phantoms: Vec<Row>,
}

impl Audit {
    /// Looks for rows at blocks that do not exist; takes out those behind the head if told to.
    /// Those at blocks that are not final are left to the second look.
    pub async fn phantoms(&self, repairs: bool) -> Result<Phantoms, CollectError> {
        let Some(seen) = self.look_for_phantoms().await? else { return Ok(Phantoms::default()) };
        let mut found = Phantoms::default();
        for row in &seen.phantoms {
            found.rows.entry(row.table.clone()).or_default().push(row.key);
        }
        if repairs && !seen.phantoms.is_empty() {
            found.removed = self.remove_phantoms(seen).await?;
        }
        Ok(found)
    }

    /// `None` when nothing was followed yet.
    async fn look_for_phantoms(&self) -> Result<Option<Seen>, CollectError> {
        let (store, names) = (&*self.chain.store, &self.chain.names);
        for _ in 0..MAX_LOOKS {
            let Some(before) = ledger::block(store, &names.head).await? else { return Ok(None) };
            let rows = self.rows_above(self.final_block().await?.min(before.number)).await?;
            let headers = store.blocks(self.chain.options.chain, 0, MAX_EVENT_PAGE).await?;
            let position = ledger::block(store, &names.head).await?;
            let Some(position) = position.filter(|position| position.number >= before.number) else {
                continue;
            };
            let hashes: BTreeMap<u64, B256> =
                headers.iter().map(|header| (header.number, header.hash)).collect();
            let is_phantom = |row: &Row| {
                row.key.block > position.number
                    || hashes.get(&row.key.block).is_some_and(|hash| *hash != row.hash)
            };
            let phantoms: Vec<Row> = rows.into_iter().filter(is_phantom).collect();
            // A reorg that passed between the rows and the headers is seen by the position.
            if phantoms.is_empty() || before == position {
                return Ok(Some(Seen { position, phantoms }));
            }
        }
        Err(StoreError::Busy.into())
    }

    async fn final_block(&self) -> Result<u64, CollectError> {
        Ok(super::patiently(|| self.chain.look(KnownFinal::NOTHING)).await?.0.finalized.number)
    }

    /// The rows behind a block, of every table: the farthest, a page of each.
    async fn rows_above(&self, block: u64) -> Result<Vec<Row>, CollectError> {
        let store = &*self.chain.store;
        let mut found = Vec::new();
        for table in self.chain.catalog.tables() {
            let above = Condition {
                place: Place::Block,
                comparison: Comparison::Above,
                values: vec![Value::Integer(i64::try_from(block).unwrap_or(i64::MAX))],
            };
            let query = RowQuery {
                table: table.name.clone(),
                conditions: vec![above],
                // The farthest are the ones in question.
                order: RowOrder::NewestFirst,
                after: None,
                limit: MAX_ROW_PAGE,
            };
            found.extend(store.rows(&query).await?.into_iter().map(|row| Row {
                table: table.name.clone(),
                key: row.head.key(),
                hash: row.head.block.hash,
                contract: row.head.address,
            }));
        }
        let misfits = Identifier::new(compare::MISFITS);
        let misfits = misfits.map_err(|error| CollectError::strange(compare::MISFITS, error))?;
        let raw = store.events(self.chain.options.chain, (block + 1, 0), MAX_EVENT_PAGE).await?;
        found.extend(raw.into_iter().map(|log| Row {
            table: misfits.clone(),
            key: RowKey { block: log.block.number, log_index: log.log_index },
            hash: log.block.hash,
            contract: log.address,
        }));
        Ok(found)
    }

    /// Takes out the rows behind the head, in one commit, while nobody else repairs the chain.
    async fn remove_phantoms(&self, seen: Seen) -> Result<u64, CollectError> {
        let (store, options) = (&self.chain.store, &self.chain.options);
        let Some(lease) =
            store.acquire_lease(&self.chain.names.mend, &options.owner, options.lease_ttl).await?
        else {
            return Err(CollectError::Mending { chain: options.chain });
        };
        let removed = self.remove_under(&lease, seen).await;
        store.release_lease(&lease).await?;
        removed
    }

    async fn remove_under(&self, lease: &Lease, seen: Seen) -> Result<u64, CollectError> {
        let mut seen = seen;
        for _ in 0..MAX_LOOKS {
            let Seen { position, phantoms } = &seen;
            let beyond: Vec<&Row> = phantoms.iter().filter(|row| row.key.block > position.number).collect();
            if beyond.is_empty() {
                return Ok(0);
            }
            let writes = self.removal(*position, &beyond).await?;
            match self.chain.store.commit(Commit::of(writes).under_lease(lease)).await {
                Ok(_) => return Ok(beyond.len() as u64),
                // The head has moved: perhaps to one of these blocks.
                Err(StoreError::CursorConflict { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            match self.look_for_phantoms().await? {
                Some(again) => seen = again,
                None => return Ok(0),
            }
        }
        Err(StoreError::Busy.into())
    }

    /// What takes rows out, refused unless the head still stands where it stood.
    async fn removal(&self, position: BlockRef, rows: &[&Row]) -> Result<Vec<Write>, CollectError> {
        let (chain, names) = (self.chain.options.chain, &self.chain.names);
        let generation = self.chain.generation().await? + 1;
        let stands = ledger::at(position);
        let mut writes = vec![
            Write::ResetCursor { name: names.head.clone(), expected: stands.clone(), to: stands },
            Write::PutState { key: names.generation.clone(), value: Some(generation.to_string()) },
        ];
        let places: BTreeSet<(&Identifier, u64, Address)> =
            rows.iter().map(|row| (&row.table, row.key.block, row.contract)).collect();
        let mut messages = Vec::new();
        for (table, number, contract) in places {
            let (blocks, contracts) = (BlockRange { from: number, to: number }, vec![contract]);
            let fact = Fact {
                by: format!("phantom-{contract}"),
                generation,
                from_block: number,
                to_block: Some(number),
                head: position,
                events: 0,
                tables: vec![table.as_str()],
            };
            messages.push(self.chain.message(REMOVED, &fact));
            writes.push(match table.as_str() {
                compare::MISFITS => Write::EraseEvents { chain, blocks, contracts },
                _ => Write::EraseRows { table: table.clone(), blocks, contracts },
            });
        }
        writes.push(Write::Publish(messages));
        Ok(writes)
    }
}
