//! Rows, counts and totals as they are read. Questions come in any form, so their
//! statements are planned for the one time: nothing is kept of them on a connection.

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use windlass_core::chain::{BlockRef, Bytes};
use windlass_core::row_query::{Condition, MAX_ROW_PAGE, MAX_SUM_GROUPS, RowQuery, SumGroup, SumQuery};
use windlass_core::table::{ColumnKind, EventRow, HEAD_COLUMNS, Identifier, RowHead, TableSpec, Value};
use windlass_core::table_rules::check_conditions;

use super::exact::Exact;
use super::question::{self, Question};
use super::registry::{self, is, missing};
use crate::error::Outcome;
use crate::row::{address, damaged, get, hash, unsigned};
use crate::tx::{Param, Tx};

/// A page of rows.
pub(super) async fn rows(tx: &Tx, query: &RowQuery) -> Outcome<Vec<EventRow>> {
    let table = registry::require(tx, &query.table).await?;
    query.validate(&table)?;
    let question = question::page(&table, query, query.limit.min(MAX_ROW_PAGE))?;
    let rows = ask(tx, &table, &question).await?;
    rows.iter().map(|row| event_row(&table, row)).collect()
}

/// How many rows meet the conditions.
pub(super) async fn count(tx: &Tx, name: &Identifier, conditions: &[Condition]) -> Outcome<u64> {
    let table = registry::require(tx, name).await?;
    check_conditions(&table, conditions)?;
    let rows = ask(tx, &table, &question::count(&table, conditions)?).await?;
    rows.first().map_or(Ok(0), |row| unsigned(row, 0))
}

/// Totals of a column.
pub(super) async fn totals(tx: &Tx, query: &SumQuery) -> Outcome<Vec<SumGroup>> {
    let table = registry::require(tx, &query.table).await?;
    query.validate(&table)?;
    let kind = query.by.as_ref().map(|place| place.kind(&table)).transpose()?;
    let question = question::totals(&table, query, query.limit.min(MAX_SUM_GROUPS))?;
    let rows = ask(tx, &table, &question).await?;
    let read = |row| {
        let by = kind.map(|kind| value(row, 0, kind)).transpose()?;
        Ok(SumGroup { by, sum: get(row, 1)?, rows: unsigned(row, 2)? })
    };
    rows.iter().map(read).collect()
}

async fn ask(tx: &Tx, table: &TableSpec, question: &Question<'_>) -> Outcome<Vec<Row>> {
    let params: Vec<(Param<'_>, Type)> =
        question.values.iter().map(|bound| (&*bound.value as Param<'_>, bound.type_of.clone())).collect();
    let rows = tx.query_once(&question.sql, &params).await;
    // It was dropped, or made anew, since it was looked up.
    rows.map_err(|fault| if is(&fault, &registry::GONE) { missing(&table.name) } else { fault })
}

fn event_row(table: &TableSpec, row: &Row) -> Outcome<EventRow> {
    let head = RowHead {
        block: BlockRef { number: unsigned(row, 0)?, hash: hash(row, 2)? },
        log_index: unsigned(row, 1)?,
        timestamp_s: unsigned(row, 3)?,
        transaction_hash: hash(row, 4)?,
        address: address(row, 5)?,
    };
    let places = (HEAD_COLUMNS.len()..).zip(&table.columns);
    let values = places.map(|(place, column)| value(row, place, column.kind)).collect::<Outcome<_>>()?;
    Ok(EventRow { head, values })
}

fn value(row: &Row, place: usize, kind: ColumnKind) -> Outcome<Value> {
    let exact = || get::<Exact>(row, place);
    let no_number = || damaged("a number that its column does not take");
    Ok(match kind {
        ColumnKind::Integer => Value::Integer(get(row, place)?),
        ColumnKind::Uint => Value::Uint(exact()?.uint().ok_or_else(no_number)?),
        ColumnKind::Int => Value::Int(exact()?.int().ok_or_else(no_number)?),
        ColumnKind::Bool => Value::Bool(get(row, place)?),
        ColumnKind::Address => Value::Address(address(row, place)?),
        ColumnKind::Bytes => Value::Bytes(Bytes::copy_from_slice(get(row, place)?)),
        ColumnKind::Text | ColumnKind::Json => Value::Text(get(row, place)?),
    })
}
