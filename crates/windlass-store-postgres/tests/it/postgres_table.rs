//! Typed tables on a server: COPY that meets a rival, counts that are locked last,
//! numbers as PostgreSQL itself reads them, and names that are kept back.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use windlass_core::chain::U256;
use windlass_core::commit::{Commit, Write, Written};
use windlass_core::error::StoreError;
use windlass_core::store::{Door, Tables};
use windlass_core::table::{ColumnKind, EventRow, I256, TableSpec, Value};
use windlass_core::table_rules::is_reserved;
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, url};

/// Enough for COPY.
const MANY: u64 = 500;

fn batch(table: &Arc<TableSpec>, blocks: std::ops::Range<u64>) -> Write {
    Write::Rows(make::rows(table, blocks.map(|block| make::row(block, 0, 1))))
}

async fn with_table(database: &Database) -> (PostgresStore, Arc<TableSpec>) {
    // Under a name of its own, a store can be told from others on the server.
    let url = format!("{}?application_name={}", url(), database.schema);
    let store = PostgresStore::open(database.options(&url)).await.expect("the server is up");
    let table = make::table("t", 1);
    store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
    (store, table)
}

/// Waits until the store waits for a lock; returns what it is about to do.
async fn until_it_waits(database: &Database) -> String {
    let watcher = database.client().await;
    // Not for the moment in which a table's file grows.
    let waiting = "SELECT query FROM pg_stat_activity \
         WHERE application_name = $1 AND wait_event_type = 'Lock' AND wait_event <> 'extend'";
    loop {
        if let Some(row) = watcher.query(waiting, &[&database.schema]).await.expect("an answer").first() {
            return row.get(0);
        }
        tokio::task::yield_now().await;
    }
}

const RIVALS_ROW: &str = "INSERT INTO t SELECT 7, 0, $1, 0, $1, $2, 0, 0, 0, true, $2, '', '', ''";

/// It looks, sees nothing, copies, and waits for a rival: whose row it then merges with.
#[tokio::test]
async fn a_copy_that_is_overtaken_merges() {
    let database = Database::new();
    let (store, table) = with_table(&database).await;
    let rival = database.client().await;
    rival.batch_execute("BEGIN").await.expect("a transaction");
    let head = make::row_head(7, 0, 1);
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
        [&head.block.hash.as_slice(), &head.address.as_slice()];
    rival.execute(RIVALS_ROW, &values).await.expect("written");
    let finish = async {
        let query = until_it_waits(&database).await;
        assert!(query.starts_with("COPY"), "{query}");
        rival.batch_execute("COMMIT").await.expect("committed");
    };
    let put = Write::PutState { key: make::state_key("k"), value: Some("1".to_owned()) };
    let commit = Commit::of(vec![put, batch(&table, 0..MANY)]);
    let (written, ()) = tokio::join!(store.commit(commit), finish);
    assert_eq!(written.expect("written"), [Written::Done, Written::Rows(MANY - 1)]);
    assert_eq!(store.rows(&make::page("t", 10_000)).await.expect("rows").len() as u64, MANY);
    assert_eq!(
        store.count_rows(&table.name, &[]).await.expect("a count"),
        MANY - 1,
        "the rival counted none"
    );
}

#[tokio::test]
async fn a_copy_that_is_overtaken_by_another_fork_is_refused() {
    let database = Database::new();
    let (store, table) = with_table(&database).await;
    let rival = database.client().await;
    rival.batch_execute("BEGIN").await.expect("a transaction");
    let head = make::row_head(7, 0, 2);
    let values: [&(dyn tokio_postgres::types::ToSql + Sync); 2] =
        [&head.block.hash.as_slice(), &head.address.as_slice()];
    rival.execute(RIVALS_ROW, &values).await.expect("written");
    let finish = async {
        until_it_waits(&database).await;
        rival.batch_execute("COMMIT").await.expect("committed");
    };
    let (written, ()) = tokio::join!(store.commit(Commit::of(vec![batch(&table, 0..MANY)])), finish);
    assert!(matches!(written, Err(StoreError::EventConflict { chain: 1, count: 1 })), "{written:?}");
    assert_eq!(store.count_rows(&table.name, &[]).await.expect("a count"), 0);
}

/// Commits into one table wait for each other only with everything else done.
#[tokio::test]
async fn a_count_is_the_last_thing_a_commit_waits_for() {
    let database = Database::new();
    let (store, table) = with_table(&database).await;
    let rival = database.client().await;
    rival.batch_execute("BEGIN; SELECT FROM event_table FOR UPDATE").await.expect("a lock");
    let finish = async {
        let query = until_it_waits(&database).await;
        assert!(query.contains("UPDATE event_table SET row_count"), "{query}");
        let held = "SELECT FROM partition WHERE name = 'p' FOR UPDATE NOWAIT";
        assert!(database.client().await.query(held, &[]).await.is_err(), "the message is written already");
        rival.batch_execute("COMMIT").await.expect("committed");
    };
    let publish = || Write::Publish(vec![make::message("p", "1")]);
    store.commit(Commit::of(vec![publish()])).await.expect("a partition");
    let commit = Commit::of(vec![batch(&table, 0..MANY), publish()]);
    let (written, ()) = tokio::join!(store.commit(commit), finish);
    assert_eq!(written.expect("written"), [Written::Rows(MANY), Written::Messages(vec![2])]);
}

/// A drop takes the table before its count, as a commit does: neither waits for the other in a ring.
#[tokio::test]
async fn a_drop_waits_for_a_commit_and_not_the_other_way_round() {
    let database = Database::new();
    let (store, table) = with_table(&database).await;
    let rival = database.client().await;
    rival.batch_execute("BEGIN; DELETE FROM t").await.expect("a transaction");
    let finish = async {
        until_it_waits(&database).await;
        let count = "UPDATE event_table SET row_count = row_count + 1 WHERE name = 't'; COMMIT";
        rival.batch_execute(count).await.expect("committed");
    };
    let (dropped, ()) = tokio::join!(store.drop_table(&table.name), finish);
    assert!(dropped.expect("dropped"));
}

/// Both ways in, COPY and merge, write numbers that the server reads as they are.
#[tokio::test]
async fn numbers_are_what_postgresql_says_they_are() {
    let database = Database::new();
    let store = database.open().await;
    let columns = [("amount", ColumnKind::Uint), ("delta", ColumnKind::Int)];
    let tables = [make::table_of("copied", 1, &columns), make::table_of("merged", 1, &columns)];
    store.create_tables(&tables).await.expect("tables");
    let wide = (any::<[u64; 4]>(), 0usize..256).prop_map(|(limbs, shift)| U256::from_limbs(limbs) >> shift);
    let round = (any::<u64>(), 0usize..=57)
        .prop_map(|(number, zeros)| U256::from(number) * U256::from(10).pow(U256::from(zeros)));
    let numbers = prop_oneof![wide, round];
    let mut runner = TestRunner::deterministic();
    let mut draw = || numbers.new_tree(&mut runner).expect("a number").current();
    let drawn: Vec<(U256, I256)> = (0..2_000).map(|_| (draw(), I256::from_raw(draw()))).collect();
    let rows: Vec<EventRow> = (0..)
        .zip(&drawn)
        .map(|(block, (uint, int))| EventRow {
            head: make::row_head(block, 0, 1),
            values: vec![Value::Uint(*uint), Value::Int(*int)],
        })
        .collect();
    let pieces =
        std::iter::once((&tables[0], &rows[..])).chain(rows.chunks(200).map(|few| (&tables[1], few)));
    for (table, piece) in pieces {
        let write = Write::Rows(make::rows(table, piece.to_vec()));
        store.commit(Commit::of(vec![write])).await.expect("written");
    }
    for name in ["copied", "merged"] {
        let client = database.client().await;
        let sql = format!("SELECT amount::TEXT, delta::TEXT FROM {name} ORDER BY block_number");
        let told = client.query(&sql, &[]).await.expect("numbers");
        let told: Vec<(String, String)> = told.iter().map(|row| (row.get(0), row.get(1))).collect();
        let expected: Vec<(String, String)> =
            drawn.iter().map(|(uint, int)| (uint.to_string(), int.to_string())).collect();
        assert_eq!(told, expected, "{name}");
        assert_eq!(store.rows(&make::page(name, 10_000)).await.expect("rows"), rows, "{name}");
    }
}

#[tokio::test]
async fn the_stores_own_tables_are_kept_back() {
    let database = Database::new();
    drop(database.open().await);
    let sql = "SELECT tablename::TEXT FROM pg_tables WHERE schemaname = $1";
    let rows = database.client().await.query(sql, &[&database.schema]).await.expect("names");
    assert!(rows.len() > 10);
    for row in rows {
        let name: String = row.get(0);
        assert!(is_reserved(&make::identifier(&name)), "{name} is not kept back");
    }
}
