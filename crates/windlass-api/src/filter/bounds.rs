//! Times as bounds of blocks.
//!
//! Rows are kept by block, not by time, but time never goes back from one block to
//! the next. So the rows at both ends of a span of time are found by halving the
//! blocks in between, a row at a time, and the store reads nothing outside of them.
//! The condition on the time stays beside the bound: a row that is stored between
//! two of the steps is judged by it.

use windlass_core::error::StoreResult;
use windlass_core::row_query::{Comparison, Condition, Place, RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, Identifier, RowKey, Value};

use crate::error::ApiResult;

/// The conditions, and the bounds of the blocks that those on the time imply: one for
/// the first second that all of them want, one for the last.
pub(crate) async fn within_blocks(
    store: &dyn Store,
    table: &Identifier,
    conditions: &[Condition],
) -> ApiResult<Vec<Condition>> {
    let (mut from, mut until) = (None, None);
    for condition in conditions.iter().filter(|condition| condition.place == Place::Timestamp) {
        let (first, end) = wanted(condition);
        from = from.max(first);
        until = until.into_iter().chain(end).min();
    }
    let mut all = conditions.to_vec();
    if let Some(second) = from {
        let (last_before, _) = around(store, table, second).await?;
        all.extend(last_before.map(|block| on_block(Comparison::Above, block)));
    }
    if let Some(second) = until {
        let (_, first_after) = around(store, table, second).await?;
        all.extend(first_after.map(|block| on_block(Comparison::Below, block)));
    }
    Ok(all)
}

/// The first second that a condition wants, and the first that it does not want any more.
fn wanted(condition: &Condition) -> (Option<i64>, Option<i64>) {
    let seconds = || {
        condition.values.iter().filter_map(|value| match value {
            Value::Integer(second) => Some(*second),
            _ => None,
        })
    };
    let (least, most) = (seconds().min(), seconds().max());
    let behind = most.map(|second| second.saturating_add(1));
    match condition.comparison {
        Comparison::AtLeast => (least, None),
        Comparison::Above => (behind, None),
        Comparison::Below => (None, most),
        Comparison::AtMost => (None, behind),
        Comparison::Is => (least, behind),
        Comparison::IsNot => (None, None),
    }
}

/// The block of the last row before a second, and of the first row at or after it.
async fn around(
    store: &dyn Store,
    table: &Identifier,
    second: i64,
) -> StoreResult<(Option<u64>, Option<u64>)> {
    let is_before = |row: &EventRow| i64::try_from(row.head.timestamp_s).is_ok_and(|time| time < second);
    let block = |row: &EventRow| row.head.block.number;
    let Some(oldest) = end(store, table, RowOrder::OldestFirst).await? else { return Ok((None, None)) };
    let Some(newest) = end(store, table, RowOrder::NewestFirst).await? else { return Ok((None, None)) };
    if !is_before(&oldest) {
        return Ok((None, Some(block(&oldest))));
    }
    if is_before(&newest) {
        return Ok((Some(block(&newest)), None));
    }
    // Rows below `edge` may be before the second, rows from there on are not.
    let (mut before, mut after, mut edge) = (block(&oldest), block(&newest), block(&newest));
    while before + 1 < edge {
        let middle = before + (edge - before - 1) / 2;
        match first_above(store, table, middle).await? {
            Some(row) if is_before(&row) => before = block(&row),
            Some(row) => (edge, after) = (middle + 1, block(&row)),
            None => edge = middle + 1,
        }
    }
    Ok((Some(before), Some(after)))
}

async fn end(store: &dyn Store, table: &Identifier, order: RowOrder) -> StoreResult<Option<EventRow>> {
    one(store, table, order, None).await
}

async fn first_above(store: &dyn Store, table: &Identifier, block: u64) -> StoreResult<Option<EventRow>> {
    let after = RowKey { block, log_index: u32::MAX };
    one(store, table, RowOrder::OldestFirst, Some(after)).await
}

async fn one(
    store: &dyn Store,
    table: &Identifier,
    order: RowOrder,
    after: Option<RowKey>,
) -> StoreResult<Option<EventRow>> {
    let query = RowQuery { table: table.clone(), conditions: Vec::new(), order, after, limit: 1 };
    Ok(store.rows(&query).await?.pop())
}

fn on_block(comparison: Comparison, block: u64) -> Condition {
    let number = i64::try_from(block).unwrap_or(i64::MAX);
    Condition { place: Place::Block, comparison, values: vec![Value::Integer(number)] }
}
