//! Indexes of columns. Each is made in one transaction: it is there whole or not at all.

use windlass_core::error::StoreResult;
use windlass_core::table::Identifier;
use windlass_core::table_index::index_name;

use super::registry;
use crate::error::Translate;
use crate::writer::Tx;

/// The columns of a table that have an index, in the table's order.
pub(super) fn list(tx: &Tx<'_>, name: &Identifier) -> StoreResult<Vec<Identifier>> {
    let table = registry::require(tx, name)?;
    let mut indexed = Vec::new();
    for column in table.columns {
        if exists(tx, name, &column.name)? {
            indexed.push(column.name);
        }
    }
    Ok(indexed)
}

/// Makes the index of a column; `false` when it is there.
pub(super) fn create(tx: &Tx<'_>, name: &Identifier, column: &Identifier) -> StoreResult<bool> {
    registry::require(tx, name)?.require_indexable(column)?;
    if exists(tx, name, column)? {
        return Ok(false);
    }
    let (index, table, column) = (index_name(name, column), name.quoted(), column.quoted());
    tx.execute(&format!("CREATE INDEX \"{index}\" ON {table} ({column}, block_number, log_index)"), [])?;
    Ok(true)
}

/// Takes the index of a column away; `false` when there was none.
pub(super) fn drop(tx: &Tx<'_>, name: &Identifier, column: &Identifier) -> StoreResult<bool> {
    registry::require(tx, name)?.require_indexable(column)?;
    if !exists(tx, name, column)? {
        return Ok(false);
    }
    tx.execute(&format!("DROP INDEX \"{}\"", index_name(name, column)), [])?;
    Ok(true)
}

fn exists(tx: &Tx<'_>, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1)";
    tx.prepare(sql)?.query_row([index_name(table, column)], |row| row.get(0)).translate()
}
