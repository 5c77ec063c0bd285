//! What the store has against what the chain says, row by row.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::chain::ChainId;
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::route::Sorted;
use windlass_core::row_query::{Comparison, Condition, MAX_ROW_PAGE, Place, RowOrder, RowQuery};
use windlass_core::store::{MAX_EVENT_PAGE, Store};
use windlass_core::table::{EventRow, Identifier, RowKey, Rows, Value};

use super::error::CollectError;
use super::routing::Routing;

/// How the rows of one table differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// On the chain, not in the store.
    pub missing: Vec<RowKey>,
    /// In the store, not on the chain.
    pub extra: Vec<RowKey>,
    /// On both, and not the same.
    pub altered: Vec<RowKey>,
}

impl Compared {
    /// Adds what was found in other blocks, or later.
    pub(super) fn extend(&mut self, other: Self) {
        self.missing.extend(other.missing);
        self.extra.extend(other.extra);
        self.altered.extend(other.altered);
    }

    /// Whether they do not differ.
    pub fn is_same(&self) -> bool {
        self.missing.is_empty() && self.extra.is_empty() && self.altered.is_empty()
    }

    /// The blocks in which they differ.
    pub fn blocks(&self) -> impl Iterator<Item = u64> {
        self.missing.iter().chain(&self.extra).chain(&self.altered).map(|key| key.block)
    }
}

/// Compares the tables of a router within some blocks.
pub(super) async fn tables(
    store: &dyn Store,
    routing: &Routing,
    blocks: BlockRange,
    found: &Sorted,
) -> Result<BTreeMap<Identifier, Compared>, CollectError> {
    let mut compared = BTreeMap::new();
    for (table, contracts) in &routing.tables {
        let mut stored = stored(store, &table.name, blocks).await?;
        // What others have put there is theirs.
        stored.retain(|_, row| contracts.contains(&row.head.address));
        let rows = found.tables.iter().filter(|rows| rows.table().name == table.name);
        compared.insert(table.name.clone(), compare(stored, rows));
    }
    Ok(compared)
}

/// Under which name the logs that fit no table are compared: that of the table they are kept in.
pub const MISFITS: &str = "event";

/// Compares the logs that fit no table within some blocks.
pub(super) async fn misfits(
    store: &dyn Store,
    chain: ChainId,
    routing: &Routing,
    blocks: BlockRange,
    found: &Sorted,
) -> Result<Compared, CollectError> {
    let key = |log: &LogEvent| RowKey { block: log.block.number, log_index: log.log_index };
    let kept = kept(store, chain, blocks).await?;
    let mut stored: BTreeMap<RowKey, LogEvent> = kept.into_iter().map(|log| (key(&log), log)).collect();
    let mut compared = Compared::default();
    for log in &found.raw {
        match stored.remove(&key(log)) {
            None => compared.missing.push(key(log)),
            Some(kept) if kept != *log => compared.altered.push(key(log)),
            Some(_) => {}
        }
    }
    // What others have put there is theirs; what has a place in a table is nobody's.
    let extra = stored.into_iter().filter(|(_, log)| routing.keeps(log) || routing.outgrows(log));
    compared.extra.extend(extra.map(|(key, _)| key));
    Ok(compared)
}

/// Every log of some blocks that is kept as it came, whoever it is kept for.
pub(super) async fn kept(
    store: &dyn Store,
    chain: ChainId,
    blocks: BlockRange,
) -> Result<Vec<LogEvent>, CollectError> {
    let mut kept = Vec::new();
    let mut from = (blocks.from, 0);
    loop {
        let page = store.events(chain, from, MAX_EVENT_PAGE).await?;
        let Some(last) = page.last() else { return Ok(kept) };
        from = (last.block.number, last.log_index.saturating_add(1));
        let is_past = last.block.number > blocks.to || page.len() < MAX_EVENT_PAGE as usize;
        kept.extend(page.into_iter().filter(|log| log.block.number <= blocks.to));
        if is_past {
            return Ok(kept);
        }
    }
}

/// The blocks in which any table differs, or the logs that fit none.
pub(super) async fn differing_blocks(
    store: &dyn Store,
    chain: ChainId,
    routing: &Routing,
    blocks: BlockRange,
    found: &Sorted,
) -> Result<BTreeSet<u64>, CollectError> {
    let compared = tables(store, routing, blocks, found).await?;
    let mut differing: BTreeSet<u64> = compared.values().flat_map(Compared::blocks).collect();
    differing.extend(misfits(store, chain, routing, blocks, found).await?.blocks());
    Ok(differing)
}

fn compare<'a>(mut stored: BTreeMap<RowKey, EventRow>, found: impl Iterator<Item = &'a Rows>) -> Compared {
    let mut compared = Compared::default();
    for (head, values) in found.flat_map(Rows::iter) {
        match stored.remove(&head.key()) {
            None => compared.missing.push(head.key()),
            Some(row) if row.head != *head || row.values != values => compared.altered.push(head.key()),
            Some(_) => {}
        }
    }
    compared.extra.extend(stored.into_keys());
    compared
}

/// The rows of a table within some blocks.
pub(super) async fn stored(
    store: &dyn Store,
    table: &Identifier,
    blocks: BlockRange,
) -> Result<BTreeMap<RowKey, EventRow>, CollectError> {
    let bound = |comparison, block: u64| Condition {
        place: Place::Block,
        comparison,
        values: vec![Value::Integer(i64::try_from(block).unwrap_or(i64::MAX))],
    };
    let mut rows = BTreeMap::new();
    let mut after = None;
    loop {
        let query = RowQuery {
            table: table.clone(),
            conditions: vec![bound(Comparison::AtLeast, blocks.from), bound(Comparison::AtMost, blocks.to)],
            order: RowOrder::OldestFirst,
            after,
            limit: MAX_ROW_PAGE,
        };
        let page = store.rows(&query).await?;
        let Some(last) = page.last() else { return Ok(rows) };
        after = Some(last.head.key());
        rows.extend(page.into_iter().map(|row| (row.head.key(), row)));
    }
}
