//! Rows, counts and totals as they are read.

use rusqlite::{Row, params_from_iter};
use windlass_core::chain::{BlockRef, Bytes};
use windlass_core::error::StoreResult;
use windlass_core::row_query::{Condition, MAX_ROW_PAGE, MAX_SUM_GROUPS, RowQuery, SumGroup, SumQuery};
use windlass_core::table::{ColumnKind, EventRow, HEAD_COLUMNS, Identifier, RowHead, TableSpec, Value};
use windlass_core::table_rules::check_conditions;

use super::question::{self, Question};
use super::{exact, registry};
use crate::error::Translate;
use crate::row::{address, damaged, get, hash, unsigned};
use crate::writer::Tx;

/// A page of rows.
pub(super) fn rows(tx: &Tx<'_>, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
    let table = registry::require(tx, &query.table)?;
    query.validate(&table)?;
    let question = question::page(&table, query, query.limit.min(MAX_ROW_PAGE));
    ask(tx, question, |row| event_row(&table, row))
}

/// How many rows meet the conditions.
pub(super) fn count(tx: &Tx<'_>, name: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
    if conditions.is_empty() {
        return registry::count(tx, name);
    }
    check_conditions(&registry::require(tx, name)?, conditions)?;
    let counts: Vec<u64> = ask(tx, question::count(name, conditions), |row| unsigned(row, 0))?;
    Ok(counts.into_iter().sum())
}

/// Totals of a column.
pub(super) fn totals(tx: &Tx<'_>, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
    let table = registry::require(tx, &query.table)?;
    query.validate(&table)?;
    let kind = query.by.as_ref().map(|place| place.kind(&table)).transpose()?;
    ask(tx, question::totals(query, query.limit.min(MAX_SUM_GROUPS)), |row| {
        let by = kind.map(|kind| value(row, 0, kind)).transpose()?;
        Ok(SumGroup { by, sum: get(row, 1)?, rows: unsigned(row, 2)? })
    })
}

fn ask<T>(tx: &Tx<'_>, question: Question, read: impl Fn(&Row<'_>) -> StoreResult<T>) -> StoreResult<Vec<T>> {
    let mut statement = tx.prepare(&question.sql)?;
    let mut rows = statement.query(params_from_iter(question.values)).translate()?;
    let mut answers = Vec::new();
    while let Some(row) = rows.next().translate()? {
        answers.push(read(row)?);
    }
    Ok(answers)
}

fn event_row(table: &TableSpec, row: &Row<'_>) -> StoreResult<EventRow> {
    let head = RowHead {
        block: BlockRef { number: unsigned(row, 0)?, hash: hash(row, 2)? },
        log_index: unsigned(row, 1)?,
        timestamp_s: unsigned(row, 3)?,
        transaction_hash: hash(row, 4)?,
        address: address(row, 5)?,
    };
    let places = (HEAD_COLUMNS.len()..).zip(&table.columns);
    let values = places.map(|(place, column)| value(row, place, column.kind)).collect::<StoreResult<_>>()?;
    Ok(EventRow { head, values })
}

fn value(row: &Row<'_>, place: usize, kind: ColumnKind) -> StoreResult<Value> {
    let blob = || -> StoreResult<&[u8]> {
        row.get_ref(place).translate()?.as_blob().map_err(|error| damaged(place, &error))
    };
    let no_number = || damaged(place, &"a number in another form");
    Ok(match kind {
        ColumnKind::Integer => Value::Integer(get(row, place)?),
        ColumnKind::Uint => Value::Uint(exact::uint(blob()?).ok_or_else(no_number)?),
        ColumnKind::Int => Value::Int(exact::int(blob()?).ok_or_else(no_number)?),
        ColumnKind::Bool => Value::Bool(get(row, place)?),
        ColumnKind::Address => Value::Address(address(row, place)?),
        ColumnKind::Bytes => Value::Bytes(Bytes::copy_from_slice(blob()?)),
        ColumnKind::Text | ColumnKind::Json => Value::Text(get(row, place)?),
    })
}
