//! Views of typed tables: bytes as 0x text, everything else as it is. One query reads the
//! same on both stores.
//!
//! The registry names the view of each table. One that is missing, because the table is of an
//! earlier version or something else had its name, is made when the store is opened or the
//! next table is made or dropped.

use windlass_core::table::{ColumnKind, HEAD_COLUMNS, Identifier, TableSpec};
use windlass_core::table_rules::RESERVED_TABLES;
use windlass_core::table_view::view_names;

use super::registry::{self, LOCK};
use crate::error::Outcome;
use crate::row::{damaged, get};
use crate::tx::Tx;

/// Whether anything has a name: a relation, or a type that it would come with.
const IS_TAKEN: &str = "SELECT EXISTS (SELECT FROM pg_class
                            WHERE relname = $1 AND relnamespace = current_schema()::REGNAMESPACE)
                        OR EXISTS (SELECT FROM pg_type
                            WHERE typname = $1 AND typnamespace = current_schema()::REGNAMESPACE)";

/// Whether a table has no view.
pub(super) async fn is_any_missing(tx: &Tx) -> Outcome<bool> {
    let sql = "SELECT EXISTS (SELECT FROM event_table WHERE view_name IS NULL)";
    get(&tx.query_one(sql, &[]).await?, 0)
}

/// Makes the views that are missing.
pub(super) async fn make_missing(tx: &Tx) -> Outcome<()> {
    tx.execute(LOCK, &[]).await?;
    let rows = tx.query("SELECT name FROM event_table WHERE view_name IS NULL ORDER BY name", &[]).await?;
    for row in &rows {
        let name = identifier(get(row, 0)?)?;
        let table = registry::require(tx, &name).await?;
        for view in view_names(&name) {
            if is_free(tx, &view).await? {
                create(tx, &table, &view).await?;
                break;
            }
        }
    }
    Ok(())
}

async fn is_free(tx: &Tx, name: &str) -> Outcome<bool> {
    let is_taken: bool = get(&tx.query_one(IS_TAKEN, &[&name]).await?, 0)?;
    Ok(!is_taken && !RESERVED_TABLES.contains(&name))
}

async fn create(tx: &Tx, table: &TableSpec, view: &str) -> Outcome<()> {
    tx.batch(&definition(table, view)).await?;
    let sql = "UPDATE event_table SET view_name = $2 WHERE name = $1";
    tx.execute(sql, &[&table.name.as_str(), &view]).await?;
    Ok(())
}

/// Takes the view of a table away that is to be dropped. Its row in the registry, which is
/// also its count, is left alone: that is locked behind the table.
pub(super) async fn drop_of(tx: &Tx, table: &Identifier) -> Outcome<()> {
    let sql = "SELECT view_name FROM event_table WHERE name = $1 AND view_name IS NOT NULL";
    match tx.query_opt(sql, &[&table.as_str()]).await? {
        Some(row) => drop_view(tx, &identifier(get(&row, 0)?)?).await,
        None => Ok(()),
    }
}

/// Takes the view of that name away, if it is one of ours: a table is to have the name.
pub(super) async fn make_way(tx: &Tx, name: &Identifier) -> Outcome<()> {
    let sql = "SELECT FROM event_table WHERE view_name = $1";
    match tx.query_opt(sql, &[&name.as_str()]).await? {
        Some(_) => drop_named(tx, name).await,
        None => Ok(()),
    }
}

async fn drop_named(tx: &Tx, view: &Identifier) -> Outcome<()> {
    tx.execute("UPDATE event_table SET view_name = NULL WHERE view_name = $1", &[&view.as_str()]).await?;
    drop_view(tx, view).await
}

async fn drop_view(tx: &Tx, view: &Identifier) -> Outcome<()> {
    tx.batch(&format!("DROP VIEW IF EXISTS {}", view.quoted())).await
}

fn identifier(name: String) -> Outcome<Identifier> {
    Identifier::new(name).map_err(|error| damaged(error.to_string()))
}

fn definition(table: &TableSpec, view: &str) -> String {
    let head = HEAD_COLUMNS.into_iter().map(|name| match name {
        "block_hash" | "transaction_hash" | "address" => hex(name),
        name => name.to_owned(),
    });
    let own = table.columns.iter().map(|column| match column.kind {
        ColumnKind::Address | ColumnKind::Bytes => hex(&column.name.quoted()),
        _ => column.name.quoted(),
    });
    let columns: Vec<String> = head.chain(own).collect();
    format!("CREATE VIEW \"{view}\" AS SELECT {} FROM {}", columns.join(", "), table.name.quoted())
}

/// Bytes as lower-case text, under the column's name.
fn hex(column: &str) -> String {
    format!("'0x' || encode({column}, 'hex') AS {column}")
}
