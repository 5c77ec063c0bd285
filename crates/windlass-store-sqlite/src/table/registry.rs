//! Which tables there are. What a table holds stands in the registry as JSON, and
//! beside it how many rows it has, kept by whatever writes them.

use std::sync::Arc;

use rusqlite::OptionalExtension;
use windlass_core::chain::ChainId;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::store::TableInfo;
use windlass_core::table::{Column, ColumnKind, Identifier, TableSpec};
use windlass_core::table_rules::check_room;

use super::view;
use crate::error::Translate;
use crate::row::{get, name, unsigned};
use crate::writer::Tx;

/// What every table begins with.
const HEAD: &str = "block_number INTEGER NOT NULL, log_index INTEGER NOT NULL, block_hash BLOB NOT NULL, \
                    block_timestamp INTEGER NOT NULL, transaction_hash BLOB NOT NULL, address BLOB NOT NULL";

/// Makes the tables that are not there yet; returns their names.
pub(super) fn create(tx: &Tx<'_>, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
    let mut made = Vec::new();
    for table in tables {
        if !is_known(tx, table)? {
            create_one(tx, table)?;
            made.push(table.name.clone());
        }
    }
    view::make_missing(tx)?;
    Ok(made)
}

/// Whether a table is there already; refuses one whose name another has.
pub(super) fn is_known(tx: &Tx<'_>, table: &TableSpec) -> StoreResult<bool> {
    table.validate()?;
    match find(tx, &table.name)? {
        None => Ok(false),
        Some(stored) if stored.holds_same(table) => Ok(true),
        Some(stored) => Err(table.conflict_with(&stored)),
    }
}

fn create_one(tx: &Tx<'_>, table: &TableSpec) -> StoreResult<()> {
    view::make_way(tx, &table.name)?;
    let exists = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    if tx.prepare(exists)?.query_row([table.name.as_str()], |row| row.get(0)).translate()? {
        return Err(table.conflict("something else"));
    }
    let count: usize = tx
        .prepare("SELECT count(*) FROM event_table")?
        .query_row([], |row| Ok(unsigned(row, 0)))
        .translate()??;
    check_room(count)?;
    let columns: String = table.columns.iter().map(|column| format!(", {}", definition(column))).collect();
    let sql = format!(
        "CREATE TABLE {} ({HEAD}{columns}, PRIMARY KEY (block_number, log_index)) STRICT, WITHOUT ROWID",
        table.name.quoted()
    );
    tx.execute(&sql, [])?;
    let spec = serde_json::to_string(table).map_err(|error| StoreError::Invalid(error.to_string()))?;
    tx.execute(
        "INSERT INTO event_table (name, chain_id, spec) VALUES (?1, ?2, ?3)",
        (table.name.as_str(), table.chain.as_i64(), spec),
    )?;
    Ok(())
}

fn definition(column: &Column) -> String {
    let kind = match column.kind {
        ColumnKind::Integer | ColumnKind::Bool => "INTEGER",
        ColumnKind::Uint | ColumnKind::Int | ColumnKind::Address | ColumnKind::Bytes => "BLOB",
        ColumnKind::Text | ColumnKind::Json => "TEXT",
    };
    format!("{} {kind} NOT NULL", column.name.quoted())
}

/// Takes a table away; `false` when there was none.
pub(super) fn drop_table(tx: &Tx<'_>, name: &Identifier) -> StoreResult<bool> {
    view::drop_of(tx, name)?;
    if tx.execute("DELETE FROM event_table WHERE name = ?1", [name.as_str()])? == 0 {
        return Ok(false);
    }
    tx.execute(&format!("DROP TABLE {}", name.quoted()), [])?;
    // The name may be what another table's view is called.
    view::make_missing(tx)?;
    Ok(true)
}

/// Every table, by name.
pub(super) fn list(tx: &Tx<'_>) -> StoreResult<Vec<TableInfo>> {
    Ok(list_views(tx)?.into_iter().map(|(table, _)| table).collect())
}

/// Every table with its view, by name.
pub(crate) fn list_views(tx: &Tx<'_>) -> StoreResult<Vec<(TableInfo, Option<String>)>> {
    let mut statement = tx.prepare("SELECT spec, row_count, view_name FROM event_table ORDER BY name")?;
    let mut rows = statement.query([]).translate()?;
    let mut tables = Vec::new();
    while let Some(row) = rows.next().translate()? {
        let spec: String = get(row, 0)?;
        tables.push((TableInfo { spec: Arc::new(parse(&spec)?), rows: unsigned(row, 1)? }, get(row, 2)?));
    }
    Ok(tables)
}

/// The tables of a chain, by name.
pub(super) fn of_chain(tx: &Tx<'_>, chain: ChainId) -> StoreResult<Vec<Identifier>> {
    let mut statement = tx.prepare("SELECT name FROM event_table WHERE chain_id = ?1 ORDER BY name")?;
    let mut rows = statement.query([chain.as_i64()]).translate()?;
    let mut names = Vec::new();
    while let Some(row) = rows.next().translate()? {
        names.push(name(row, 0)?);
    }
    Ok(names)
}

/// What a table holds.
pub(super) fn find(tx: &Tx<'_>, name: &Identifier) -> StoreResult<Option<TableSpec>> {
    let spec: Option<String> = tx
        .prepare("SELECT spec FROM event_table WHERE name = ?1")?
        .query_row([name.as_str()], |row| row.get(0))
        .optional()
        .translate()?;
    spec.as_deref().map(parse).transpose()
}

/// What a table holds, which must be there.
pub(super) fn require(tx: &Tx<'_>, name: &Identifier) -> StoreResult<TableSpec> {
    find(tx, name)?.ok_or_else(|| StoreError::TableMissing(name.clone()))
}

/// How many rows a table has.
pub(super) fn count(tx: &Tx<'_>, name: &Identifier) -> StoreResult<u64> {
    tx.prepare("SELECT row_count FROM event_table WHERE name = ?1")?
        .query_row([name.as_str()], |row| Ok(unsigned(row, 0)))
        .optional()
        .translate()?
        .unwrap_or_else(|| Err(StoreError::TableMissing(name.clone())))
}

/// Remembers that a table has so many rows more. One that was tampered with stays at zero.
pub(super) fn grow(tx: &Tx<'_>, name: &Identifier, by: i64) -> StoreResult<()> {
    let sql = "UPDATE event_table SET row_count = max(row_count + ?2, 0) WHERE name = ?1";
    tx.execute(sql, (name.as_str(), by))?;
    Ok(())
}

fn parse(spec: &str) -> StoreResult<TableSpec> {
    serde_json::from_str(spec).map_err(|error| StoreError::Corrupt(format!("a table's description: {error}")))
}
