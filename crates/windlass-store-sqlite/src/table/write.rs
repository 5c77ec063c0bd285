//! Rows in and out. What is there already stays; what contradicts it refuses the commit.

use rusqlite::{CachedStatement, Params};
use windlass_core::chain::{Address, B256, ChainId};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::range::BlockRange;
use windlass_core::table::{HEAD_COLUMNS, Identifier, RowHead, Rows, TableSpec, Value};
use windlass_core::table_rules::storable_text;

use super::exact::Exact;
use super::registry;
use crate::error::Translate;
use crate::row::{hash, signed};
use crate::writer::Tx;

/// Stores rows of one table.
pub(crate) fn insert(tx: &Tx<'_>, rows: &Rows) -> StoreResult<Written> {
    let table = rows.table();
    if !registry::require(tx, &table.name)?.holds_same(table) {
        return Err(StoreError::TableMissing(table.name.clone()));
    }
    let mut statement = tx.prepare(&insert_sql(table))?;
    let (mut new, mut contradictions) = (0, 0);
    for (head, values) in rows.iter() {
        if insert_one(&mut statement, head, values)? {
            new += 1;
        } else if stored_hash(tx, table, head)? != head.block.hash {
            contradictions += 1;
        }
    }
    if contradictions > 0 {
        return Err(StoreError::EventConflict { chain: table.chain.as_i64(), count: contradictions });
    }
    registry::grow(tx, &table.name, new)?;
    Ok(Written::Rows(new.unsigned_abs()))
}

fn insert_sql(table: &TableSpec) -> String {
    let columns: String = table.columns.iter().map(|column| format!(", {}", column.name.quoted())).collect();
    let places = vec!["?"; HEAD_COLUMNS.len() + table.columns.len()].join(", ");
    let (name, head) = (table.name.quoted(), HEAD_COLUMNS.join(", "));
    format!("INSERT INTO {name} ({head}{columns}) VALUES ({places}) ON CONFLICT DO NOTHING")
}

fn insert_one(statement: &mut CachedStatement<'_>, head: &RowHead, values: &[Value]) -> StoreResult<bool> {
    statement.raw_bind_parameter(1, signed("block", head.block.number)?).translate()?;
    statement.raw_bind_parameter(2, head.log_index).translate()?;
    statement.raw_bind_parameter(3, head.block.hash.as_slice()).translate()?;
    statement.raw_bind_parameter(4, signed("timestamp", head.timestamp_s)?).translate()?;
    statement.raw_bind_parameter(5, head.transaction_hash.as_slice()).translate()?;
    statement.raw_bind_parameter(6, head.address.as_slice()).translate()?;
    for (place, value) in (HEAD_COLUMNS.len() + 1..).zip(values) {
        bind(statement, place, value).translate()?;
    }
    Ok(statement.raw_execute().translate()? == 1)
}

fn bind(statement: &mut CachedStatement<'_>, place: usize, value: &Value) -> rusqlite::Result<()> {
    match value {
        Value::Integer(number) => statement.raw_bind_parameter(place, number),
        Value::Uint(number) => statement.raw_bind_parameter(place, Exact::of_uint(*number).as_slice()),
        Value::Int(number) => statement.raw_bind_parameter(place, Exact::of_int(*number).as_slice()),
        Value::Bool(flag) => statement.raw_bind_parameter(place, flag),
        Value::Address(address) => statement.raw_bind_parameter(place, address.as_slice()),
        Value::Bytes(bytes) => statement.raw_bind_parameter(place, bytes.as_ref()),
        Value::Text(text) => statement.raw_bind_parameter(place, storable_text(text).as_ref()),
    }
}

fn stored_hash(tx: &Tx<'_>, table: &TableSpec, head: &RowHead) -> StoreResult<B256> {
    let name = table.name.quoted();
    let sql = format!("SELECT block_hash FROM {name} WHERE block_number = ?1 AND log_index = ?2");
    let key = (signed("block", head.block.number)?, head.log_index);
    tx.prepare(&sql)?.query_row(key, |row| Ok(hash(row, 0))).translate()?
}

/// Takes rows of some blocks out, of these contracts or of all.
pub(crate) fn erase(
    tx: &Tx<'_>,
    name: &Identifier,
    blocks: BlockRange,
    contracts: &[Address],
) -> StoreResult<Written> {
    registry::require(tx, name)?;
    // No row stands above that number.
    let Ok(from) = i64::try_from(blocks.from) else { return Ok(Written::Rows(0)) };
    let to = i64::try_from(blocks.to).unwrap_or(i64::MAX);
    if contracts.is_empty() {
        return delete(tx, name, "", (from, to)).map(Written::Rows);
    }
    let of_these = "AND hex(address) IN (SELECT value FROM json_each(?3))";
    delete(tx, name, of_these, (from, to, hex_list(contracts)?)).map(Written::Rows)
}

/// Contracts as one value for `json_each`, however many there are: as `hex` writes them.
pub(crate) fn hex_list(contracts: &[Address]) -> StoreResult<String> {
    let contracts: Vec<String> = contracts.iter().map(|contract| format!("{contract:X}")).collect();
    serde_json::to_string(&contracts).map_err(|error| StoreError::Invalid(error.to_string()))
}

/// Takes back the rows of a chain from a block on, whatever table they are in; says how many.
pub(crate) fn retract(tx: &Tx<'_>, chain: ChainId, from: i64) -> StoreResult<u64> {
    let tables = registry::of_chain(tx, chain)?;
    tables.iter().map(|name| delete(tx, name, "", (from, i64::MAX))).sum()
}

fn delete(tx: &Tx<'_>, name: &Identifier, more: &str, values: impl Params) -> StoreResult<u64> {
    let sql = format!("DELETE FROM {} WHERE block_number BETWEEN ?1 AND ?2 {more}", name.quoted());
    let gone = tx.execute(&sql, values)? as u64;
    if gone > 0 {
        registry::grow(tx, name, -signed("a count", gone)?)?;
    }
    Ok(gone)
}
