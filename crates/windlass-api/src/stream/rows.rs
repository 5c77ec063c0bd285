//! The rows of a span of blocks, of several tables, in the chain's order, a little at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery};
use windlass_core::store::Tables;
use windlass_core::table::{EventRow, RowKey, TableSpec, Value};

use super::position::RowPlace;
use crate::limits::STREAM_ROWS;

/// The fewest rows that are worth a question.
const MIN_PAGE_ROWS: u32 = 16;

/// The rows that are still to come.
pub(super) struct SpanRows {
    sources: Vec<Source>,
    from: u64,
    to: u64,
    page_rows: u32,
}

/// A table, and what was read of it and not given out.
struct Source {
    table: Arc<TableSpec>,
    read: VecDeque<EventRow>,
    after: Option<RowKey>,
    is_done: bool,
}

impl SpanRows {
    /// The rows of blocks `from..=to` behind a row, if one is given.
    pub(super) fn new(tables: &[Arc<TableSpec>], from: u64, to: u64, after: Option<&RowPlace>) -> Self {
        let source = |table: &Arc<TableSpec>| Source {
            table: Arc::clone(table),
            read: VecDeque::new(),
            after: after.and_then(|place| behind(place, table)),
            is_done: from > to,
        };
        let count = u32::try_from(tables.len()).unwrap_or(u32::MAX).max(1);
        Self {
            sources: tables.iter().map(source).collect(),
            from,
            to,
            page_rows: (STREAM_ROWS / count).max(MIN_PAGE_ROWS),
        }
    }

    /// The next rows; none at the end.
    pub(super) async fn next(&mut self, store: &dyn Tables) -> StoreResult<Vec<(Arc<TableSpec>, EventRow)>> {
        for source in self.sources.iter_mut().filter(|source| source.read.is_empty() && !source.is_done) {
            source.fill(store, (self.from, self.to), self.page_rows).await?;
        }
        // Beyond the last row read of some table, that table may have more in between.
        let unread = self.sources.iter().filter(|source| !source.is_done);
        let known_to = unread.filter_map(|source| source.read.back()).map(|row| row.head.key()).min();
        let mut rows = Vec::new();
        for source in &mut self.sources {
            while let Some(row) =
                source.read.pop_front_if(|row| known_to.is_none_or(|known| row.head.key() <= known))
            {
                rows.push((Arc::clone(&source.table), row));
            }
        }
        rows.sort_by(|(table, row), (other, than)| {
            row.head.key().cmp(&than.head.key()).then_with(|| table.name.cmp(&other.name))
        });
        Ok(rows)
    }
}

impl Source {
    async fn fill(&mut self, store: &dyn Tables, (from, to): (u64, u64), limit: u32) -> StoreResult<()> {
        let mut conditions = vec![bound(Comparison::AtMost, to)];
        // Beside a key that is as high, the first block would only lead the database astray.
        if self.after.is_none_or(|after| after.block < from) {
            conditions.push(bound(Comparison::AtLeast, from));
        }
        let query = RowQuery {
            table: self.table.name.clone(),
            conditions,
            order: RowOrder::OldestFirst,
            after: self.after,
            limit,
        };
        let rows = match store.rows(&query).await {
            // Dropped since it was listed.
            Err(StoreError::TableMissing(_)) => Vec::new(),
            rows => rows?,
        };
        self.is_done = rows.len() < limit as usize;
        self.after = rows.last().map(|row| row.head.key()).or(self.after);
        self.read = rows.into();
        Ok(())
    }
}

/// Where a table goes on behind a row that may be another table's: rows of one key
/// come by the names of their tables.
fn behind(place: &RowPlace, table: &TableSpec) -> Option<RowKey> {
    let RowKey { block, log_index } = place.key;
    if table.name <= place.table {
        return Some(place.key);
    }
    match (block, log_index) {
        (0, 0) => None,
        (_, 0) => Some(RowKey { block: block - 1, log_index: u32::MAX }),
        _ => Some(RowKey { block, log_index: log_index - 1 }),
    }
}

fn bound(comparison: Comparison, block: u64) -> Condition {
    let number = i64::try_from(block).unwrap_or(i64::MAX);
    Condition { place: Place::Block, comparison, values: vec![Value::Integer(number)] }
}
