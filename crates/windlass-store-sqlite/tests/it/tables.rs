//! Typed tables in a file: what is kept back for the store itself, and what tampering does.

use rusqlite::Connection;
use windlass_core::chain::U256;
use windlass_core::commit::{Commit, Write, Written};
use windlass_core::range::BlockRange;
use windlass_core::store::{Door, Tables};
use windlass_core::table::{ColumnKind, EventRow, I256, MAX_COLUMNS, Value};
use windlass_core::table_rules::is_reserved;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::make;

#[tokio::test]
async fn the_stores_own_tables_are_kept_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.db");
    drop(SqliteStore::open(SqliteOptions::file(&path)).await.expect("a store"));
    let connection = Connection::open(&path).expect("a connection");
    let mut statement =
        connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").expect("a statement");
    let names: Vec<String> =
        statement.query_map([], |row| row.get(0)).expect("names").map(|name| name.expect("a name")).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names {
        assert!(is_reserved(&make::identifier(&name)), "{name} is not kept back");
    }
}

/// Many builds of SQLite take no statement of a million bytes: a longer view would close the
/// whole file to them.
#[tokio::test]
async fn the_view_of_the_widest_table_can_be_read_everywhere() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.db");
    let store = SqliteStore::open(SqliteOptions::file(&path)).await.expect("a store");
    let names: Vec<String> = (0..MAX_COLUMNS).map(|place| format!("a_column_of_amounts_{place}")).collect();
    for (table, kind) in [("uints", ColumnKind::Uint), ("ints", ColumnKind::Int)] {
        let columns: Vec<(&str, ColumnKind)> = names.iter().map(|name| (name.as_str(), kind)).collect();
        let spec = make::table_of(table, 1, &columns);
        store.create_tables(std::slice::from_ref(&spec)).await.expect("a table");
        let value = match kind {
            ColumnKind::Uint => Value::Uint(U256::MAX),
            _ => Value::Int(I256::MIN),
        };
        let row = EventRow { head: make::row_head(1, 0, 1), values: vec![value; MAX_COLUMNS] };
        store.commit(Commit::of(vec![Write::Rows(make::rows(&spec, [row]))])).await.expect("written");
        let connection = Connection::open(&path).expect("a connection");
        let length = "SELECT length(sql) FROM sqlite_schema WHERE name = ?1 || '_view'";
        let bytes: u32 = connection.query_row(length, [table], |row| row.get(0)).expect("a view");
        assert!(bytes < 900_000, "{bytes} bytes");
        let last = format!("SELECT {} FROM {table}_view", names[MAX_COLUMNS - 1]);
        let shown: String = connection.query_row(&last, [], |row| row.get(0)).expect("a text");
        let expected = if table == "uints" { U256::MAX.to_string() } else { I256::MIN.to_string() };
        assert_eq!(shown, expected);
    }
}

/// Somebody else's hands in the file do not stop a repair.
#[tokio::test]
async fn rows_that_others_added_can_be_erased() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.db");
    let store = SqliteStore::open(SqliteOptions::file(&path)).await.expect("a store");
    let table = make::table("t", 1);
    store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
    let write = |write| store.commit(Commit::of(vec![write]));
    write(Write::Rows(make::rows(&table, [make::row(1, 0, 1)]))).await.expect("written");
    let copy = "INSERT INTO t SELECT 2, log_index, block_hash, block_timestamp, transaction_hash, address, \
                    small, amount, delta, flag, who, raw, note, list FROM t";
    assert_eq!(Connection::open(&path).expect("a connection").execute(copy, []).expect("written"), 1);
    let blocks = BlockRange { from: 0, to: 9 };
    let erase = Write::EraseRows { table: table.name.clone(), blocks, contracts: Vec::new() };
    assert_eq!(write(erase).await.expect("erased"), [Written::Rows(2)]);
    assert_eq!(store.count_rows(&table.name, &[]).await.expect("a count"), 0);
}
