//! The rules of the schema about what is noted on payouts, and which index finds what.

use rusqlite::Connection;
use tempfile::TempDir;
use windlass_core::commit::{Commit, Write};
use windlass_core::payout::ledger::{PayWrite, Payout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::store::Door;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::make;

/// A database with a payout that has a memo and a reference.
async fn noted() -> (TempDir, Connection) {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("a.db");
    let store = SqliteStore::open(SqliteOptions::file(&path)).await.expect("a store");
    let payout =
        Payout { memo: Memo::new("rent").ok(), reference: Reference::new("2041").ok(), ..make::payout(1) };
    let writes = vec![Write::Pay(PayWrite::Payouts(vec![payout, make::payout(2)]))];
    store.commit(Commit::of(writes)).await.expect("written");
    (folder, Connection::open(path).expect("a connection"))
}

#[tokio::test]
async fn a_memo_and_a_reference_cannot_be_written_again() {
    let (_folder, connection) = noted().await;
    for set in ["memo = 'another'", "memo = NULL", "reference = 'another'", "reference = NULL"] {
        let refused = connection.execute(&format!("UPDATE payout SET version = version + 1, {set}"), []);
        let told = refused.expect_err(set).to_string();
        assert!(told.contains("what was asked for never changes"), "{set}: {told}");
    }
    connection.execute_batch("DROP TRIGGER payout_keeps_what_was_asked").expect("dropped");
    for (column, longest) in [("memo", 500), ("reference", 200)] {
        for length in [0, longest + 1] {
            let sql = format!("UPDATE payout SET version = version + 1, {column} = '{}'", "x".repeat(length));
            let told = connection.execute(&sql, []).expect_err(column).to_string();
            assert!(told.contains("CHECK constraint failed"), "{column}: {told}");
        }
    }
}

#[tokio::test]
async fn payouts_are_searched_over_an_index() {
    let (_folder, connection) = noted().await;
    for (condition, index) in [
        ("reference = '2041'", "payout_of_reference"),
        ("substr(id, 31) = '000001' AND replace(id, '-', '') LIKE '%a000001'", "payout_id_suffix"),
        ("id >= '0198' AND id < '0199'", "PRIMARY KEY"),
        ("recipient = x'00' AND id > '0198'", "payout_to"),
    ] {
        let sql =
            format!("EXPLAIN QUERY PLAN SELECT * FROM payout WHERE {condition} ORDER BY id DESC LIMIT 9");
        let plan: String = connection.query_row(&sql, [], |row| row.get(3)).expect("a plan");
        assert!(plan.starts_with("SEARCH payout USING") && plan.contains(index), "{condition}: {plan}");
    }
}
