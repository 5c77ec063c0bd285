//! The rows of a numbered page, newest first, out of one table or several.

use windlass_core::chain::ChainId;
use windlass_core::row_query::{Comparison, Condition, MAX_ROW_PAGE, Place, RowOrder, RowQuery};
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::{EventRow, RowKey, Value};

use super::seek::{MAX_WALK, Seek};
use super::total;
use crate::error::{ApiError, ApiResult};

/// The page behind so many rows, with the number of rows in all.
pub(super) async fn page(
    store: &dyn Store,
    tables: &[TableInfo],
    skip: u64,
    rows: u32,
) -> ApiResult<(Vec<(ChainId, EventRow)>, u64)> {
    let total = total(tables);
    if skip >= total {
        return Ok((Vec::new(), total));
    }
    let (below, skip) = begin(store, tables, total, skip).await?;
    let wanted = skip.saturating_add(u64::from(rows));
    let mut found = Vec::new();
    for table in tables {
        let walked = walk(store, table, below, wanted).await?;
        found.extend(walked.into_iter().map(|row| (table.spec.chain, row)));
    }
    found.sort_by_key(|(_, row)| std::cmp::Reverse(row.head.key()));
    let page = found.into_iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(rows as usize);
    Ok((page.collect(), total))
}

/// Below which block to begin, behind how many rows.
async fn begin(
    store: &dyn Store,
    tables: &[TableInfo],
    total: u64,
    skip: u64,
) -> ApiResult<(Option<u64>, u64)> {
    if skip <= MAX_WALK {
        return Ok((None, skip));
    }
    let (mut oldest, mut newest) = (u64::MAX, 0);
    for table in tables {
        for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
            for row in read(store, table, order, None, None, 1).await? {
                oldest = oldest.min(row.head.block.number);
                newest = newest.max(row.head.block.number);
            }
        }
    }
    let mut seek = Seek::new(oldest, newest, total, skip);
    while let Some((from, to)) = seek.question() {
        let mut rows = 0;
        for table in tables {
            let blocks = [bound(Comparison::AtLeast, from)?, bound(Comparison::Below, to)?];
            rows += store.count_rows(&table.spec.name, &blocks).await?;
        }
        seek.answer(from, rows);
    }
    let (upper, skip) = seek.found();
    Ok((Some(upper), skip))
}

/// The newest rows of a table below a block, up to so many.
async fn walk(
    store: &dyn Store,
    table: &TableInfo,
    below: Option<u64>,
    wanted: u64,
) -> ApiResult<Vec<EventRow>> {
    let mut found: Vec<EventRow> = Vec::new();
    loop {
        let left = wanted.saturating_sub(found.len() as u64).min(u64::from(MAX_ROW_PAGE)) as u32;
        let after = found.last().map(|row| row.head.key());
        let rows = read(store, table, RowOrder::NewestFirst, below, after, left).await?;
        let is_last = rows.len() < left as usize;
        found.extend(rows);
        if is_last || found.len() as u64 >= wanted {
            return Ok(found);
        }
    }
}

async fn read(
    store: &dyn Store,
    table: &TableInfo,
    order: RowOrder,
    below: Option<u64>,
    after: Option<RowKey>,
    limit: u32,
) -> ApiResult<Vec<EventRow>> {
    // Behind a key that is below it already, the bound would only lead the database astray.
    let below = below.filter(|_| after.is_none());
    let conditions = below.map(|block| bound(Comparison::Below, block)).transpose()?.into_iter().collect();
    let query = RowQuery { table: table.spec.name.clone(), conditions, order, after, limit };
    Ok(store.rows(&query).await?)
}

fn bound(comparison: Comparison, block: u64) -> ApiResult<Condition> {
    let number = i64::try_from(block).map_err(|_| ApiError::internal(format!("no block is {block}")))?;
    Ok(Condition { place: Place::Block, comparison, values: vec![Value::Integer(number)] })
}
