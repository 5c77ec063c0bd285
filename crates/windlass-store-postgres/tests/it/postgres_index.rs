//! Indexes of columns: an interrupted one is made anew, and questions are answered by them.

use windlass_core::row_query::{Comparison, RowOrder, RowQuery};
use windlass_core::store::Tables;
use windlass_core::table::ColumnKind;
use windlass_core::table::Value;
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, url};

/// How many rows the table has.
const ROWS: u64 = 50_000;
/// How many values the column has.
const VALUES: u64 = 500;

/// A table whose column has few values, and a client beside the store.
async fn filled(database: &Database) -> (PostgresStore, tokio_postgres::Client) {
    let url = format!("{}?application_name={}", url(), database.schema);
    let mut options = database.options(&url);
    options.max_connections = 1;
    let store = PostgresStore::open(options).await.expect("the server is up");
    let table = make::table_of("t", 1, &[("a", ColumnKind::Integer)]);
    store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
    let client = database.client().await;
    let fill = format!(
        "INSERT INTO t SELECT number, 0, sha256(''), 0, sha256(''), substring(sha256('') FROM 1 FOR 20),
                              number % {VALUES}
         FROM generate_series(0, {}) AS number; ANALYZE t",
        ROWS - 1
    );
    client.batch_execute(&fill).await.expect("rows");
    (store, client)
}

/// A process that dies while it makes an index leaves one that answers nothing.
#[tokio::test]
async fn an_index_that_was_left_invalid_is_made_anew() {
    let database = Database::new();
    let (store, client) = filled(&database).await;
    // The same name, and rows that a unique index cannot have.
    let broken = client.batch_execute("CREATE UNIQUE INDEX CONCURRENTLY \"t/a\" ON t (a)").await;
    assert!(broken.is_err(), "it was interrupted");
    let (table, column) = (make::identifier("t"), make::identifier("a"));
    assert_eq!(store.column_indexes(&table).await.expect("columns"), []);
    assert!(store.create_column_index(&table, &column).await.expect("an index"));
    assert_eq!(store.column_indexes(&table).await.expect("columns"), std::slice::from_ref(&column));
    let sql = "SELECT indisvalid AND NOT indisunique FROM pg_index WHERE indexrelid = '\"t/a\"'::regclass";
    assert!(client.query_one(sql, &[]).await.expect("an index").get::<_, bool>(0));
}

/// Whoever makes indexes in the schema holds a lock; its session's end gives it back.
#[tokio::test]
async fn an_index_that_another_session_makes_is_not_touched() {
    let database = Database::new();
    let (store, client) = filled(&database).await;
    let lock = "SELECT pg_advisory_lock(hashtext('windlass/index'), hashtext(current_schema()))";
    client.batch_execute(lock).await.expect("the lock");
    let (table, column) = (make::identifier("t"), make::identifier("a"));
    let refused = store.create_column_index(&table, &column).await.expect_err("another is at it");
    assert!(matches!(refused, windlass_core::error::StoreError::Busy), "{refused}");
    client.batch_execute("SELECT pg_advisory_unlock_all()").await.expect("given back");
    assert!(store.create_column_index(&table, &column).await.expect("an index"));
}

#[tokio::test]
async fn a_page_of_one_value_is_read_from_its_index_alone() {
    let database = Database::new();
    let (store, client) = filled(&database).await;
    let (table, column) = (make::identifier("t"), make::identifier("a"));
    store.create_column_index(&table, &column).await.expect("an index");
    for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
        let conditions = vec![make::condition("a", Comparison::Is, vec![Value::Integer(7)])];
        let query = RowQuery { order, conditions, ..make::page("t", 20) };
        assert_eq!(store.rows(&query).await.expect("rows").len(), 20);
        let sql = "SELECT query FROM pg_stat_activity
                   WHERE application_name = $1 AND query LIKE '%ORDER BY block_number%' AND pid <> pg_backend_pid()";
        let statement: String = client.query_one(sql, &[&database.schema]).await.expect("a statement").get(0);
        let explain = format!(
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
             DEALLOCATE ALL; PREPARE page AS {statement};
             EXPLAIN (ANALYZE, TIMING off, SUMMARY off) EXECUTE page (7, 20)"
        );
        let lines = client.simple_query(&explain).await.expect("a plan");
        let text = lines.iter().filter_map(|line| match line {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        let plan = text.collect::<Vec<_>>().join("\n");
        assert!(plan.contains("using \"t/a\"") && plan.contains("actual rows=20 "), "{plan}");
        assert!(!plan.contains("Sort") && !plan.contains("Filter"), "{plan}");
    }
}
