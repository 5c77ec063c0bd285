//! Views of typed tables, which any SQLite client reads: addresses, hashes and bytes as 0x
//! text, amounts as decimal text.
//!
//! The registry names the view of each table. One that is missing, because the table is of an
//! earlier version or something else had its name, is made when the store is opened or the
//! next table is made or dropped.

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::table::{ColumnKind, HEAD_COLUMNS, Identifier, TableSpec};
use windlass_core::table_rules::RESERVED_TABLES;
use windlass_core::table_view::view_names;

use super::decimal_sql::{Form, of_int, of_uint};
use super::registry;
use crate::error::Translate;
use crate::row::get;
use crate::writer::Tx;

/// A longer view is written in the short form: many builds of SQLite take no statement of a
/// million bytes, and would not open the file.
const MAX_FAST_BYTES: usize = 400_000;

/// Whether a table has no view.
pub(super) fn is_any_missing(tx: &Tx<'_>) -> StoreResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM event_table WHERE view_name IS NULL)";
    tx.prepare(sql)?.query_row([], |row| row.get(0)).translate()
}

/// Makes the views that are missing.
pub(super) fn make_missing(tx: &Tx<'_>) -> StoreResult<()> {
    for name in without_view(tx)? {
        let table = registry::require(tx, &name)?;
        for view in view_names(&name) {
            if is_free(tx, &view)? {
                create(tx, &table, &view)?;
                break;
            }
        }
    }
    Ok(())
}

fn without_view(tx: &Tx<'_>) -> StoreResult<Vec<Identifier>> {
    let mut statement = tx.prepare("SELECT name FROM event_table WHERE view_name IS NULL ORDER BY name")?;
    let mut rows = statement.query([]).translate()?;
    let mut names = Vec::new();
    while let Some(row) = rows.next().translate()? {
        names.push(crate::row::name(row, 0)?);
    }
    Ok(names)
}

fn is_free(tx: &Tx<'_>, name: &str) -> StoreResult<bool> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    let is_unused: bool = tx.prepare(sql)?.query_row([name], |row| row.get(0)).translate()?;
    Ok(is_unused && !RESERVED_TABLES.contains(&name))
}

fn create(tx: &Tx<'_>, table: &TableSpec, view: &str) -> StoreResult<()> {
    tx.execute(&definition(table, view), [])?;
    let sql = "UPDATE event_table SET view_name = ?2 WHERE name = ?1";
    tx.execute(sql, (table.name.as_str(), view))?;
    Ok(())
}

/// Takes the view of a table away, if it has one.
pub(super) fn drop_of(tx: &Tx<'_>, table: &Identifier) -> StoreResult<()> {
    let mut statement =
        tx.prepare("SELECT view_name FROM event_table WHERE name = ?1 AND view_name IS NOT NULL")?;
    let mut rows = statement.query([table.as_str()]).translate()?;
    let view: Option<String> = rows.next().translate()?.map(|row| get(row, 0)).transpose()?;
    match view {
        Some(view) => drop_named(tx, &view),
        None => Ok(()),
    }
}

/// Takes the view of that name away, if it is one of ours: a table is to have the name.
pub(super) fn make_way(tx: &Tx<'_>, name: &Identifier) -> StoreResult<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM event_table WHERE view_name = ?1)";
    let is_ours: bool = tx.prepare(sql)?.query_row([name.as_str()], |row| row.get(0)).translate()?;
    if is_ours { drop_named(tx, name.as_str()) } else { Ok(()) }
}

fn drop_named(tx: &Tx<'_>, view: &str) -> StoreResult<()> {
    let view = Identifier::new(view).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    tx.execute("UPDATE event_table SET view_name = NULL WHERE view_name = ?1", [view.as_str()])?;
    tx.execute(&format!("DROP VIEW IF EXISTS {}", view.quoted()), [])?;
    Ok(())
}

fn definition(table: &TableSpec, view: &str) -> String {
    let fast = definition_in(table, view, Form::Fast);
    if fast.len() <= MAX_FAST_BYTES { fast } else { definition_in(table, view, Form::Short) }
}

fn definition_in(table: &TableSpec, view: &str, form: Form) -> String {
    let head = HEAD_COLUMNS.into_iter().map(|name| match name {
        "block_hash" | "transaction_hash" | "address" => named(&hex(name), name),
        name => name.to_owned(),
    });
    let own = table.columns.iter().map(|column| {
        let name = column.name.quoted();
        match column.kind {
            ColumnKind::Uint => named(&of_uint(&name, form), &name),
            ColumnKind::Int => named(&of_int(&name, form), &name),
            ColumnKind::Address | ColumnKind::Bytes => named(&hex(&name), &name),
            ColumnKind::Integer | ColumnKind::Bool | ColumnKind::Text | ColumnKind::Json => name,
        }
    });
    let columns: Vec<String> = head.chain(own).collect();
    format!("CREATE VIEW \"{view}\" AS SELECT {} FROM {}", columns.join(", "), table.name.quoted())
}

fn named(expression: &str, name: &str) -> String {
    format!("{expression} AS {name}")
}

/// Bytes as lower-case text.
pub(crate) fn hex(column: &str) -> String {
    format!("'0x' || lower(hex({column}))")
}
