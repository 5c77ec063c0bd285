//! One plan for all parameters: it must suit a large queue as well as a small one,
//! and a commit into as many lanes as one may name.

use windlass_core::job::{JobFilter, JobId};
use windlass_core::row_query::{RowOrder, RowQuery};
use windlass_core::store::{Jobs, Tables};
use windlass_core::table::ColumnKind;
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, url};

const LANES: usize = 10_000;

#[tokio::test]
async fn a_large_queue_is_filled_listed_and_drained_by_key() {
    let database = Database::new();
    let store = database.open().await;
    store.enqueue_jobs(vec![make::job("small", "k", "{}")]).await.expect("an id");
    assert_eq!(store.claim_jobs(&make::claim("small", "a", 1)).await.expect("jobs").len(), 1);
    let jobs = (0..LANES).map(|lane| make::job("large", &format!("k{lane:05}"), "{}")).collect();
    let ids: Vec<JobId> = store.enqueue_jobs(jobs).await.expect("ids");
    assert_eq!(ids.len(), LANES);
    let after = Some(ids[LANES - 3]);
    let page = JobFilter { queue: Some(make::queue("large")), after, limit: 10, ..JobFilter::default() };
    let listed: Vec<JobId> = store.list_jobs(&page).await.expect("a page").iter().map(|row| row.id).collect();
    assert_eq!(listed, ids[LANES - 2..]);
    let claimed = store.claim_jobs(&make::claim("large", "a", 100)).await.expect("jobs");
    assert_eq!(claimed.iter().map(|job| job.ticket.job).collect::<Vec<_>>(), ids[..100]);
    let tickets: Vec<_> = claimed.iter().map(|job| job.ticket).collect();
    assert_eq!(store.complete_jobs(&tickets).await.expect("an answer"), []);
    let counts = store.count_jobs().await.expect("counts");
    assert_eq!(counts[0].open, LANES as u64 - 100);
}

const BLOCKS: u64 = 100_000;

/// The statement that a store has sent last, as the server saw it.
async fn last_statement(database: &Database, client: &tokio_postgres::Client) -> String {
    let sql = "SELECT query FROM pg_stat_activity
               WHERE application_name = $1 AND query LIKE '%ORDER BY block_number%' AND pid <> pg_backend_pid()";
    client.query_one(sql, &[&database.schema]).await.expect("a statement").get(0)
}

/// How the server carries a page out, in the store's own session settings.
async fn plan(client: &tokio_postgres::Client, statement: &str, after: Option<u64>) -> String {
    let values = after.map_or_else(String::new, |block| format!("{block}, 0, "));
    let explain = format!(
        "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off;
         DEALLOCATE ALL; PREPARE page AS {statement};
         EXPLAIN (ANALYZE, TIMING off, SUMMARY off) EXECUTE page ({values}100)"
    );
    let lines = client.simple_query(&explain).await.expect("a plan");
    let text = lines.iter().filter_map(|line| match line {
        tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    text.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn a_deep_page_of_a_table_is_found_by_key() {
    let database = Database::new();
    let url = format!("{}?application_name={}", url(), database.schema);
    let mut options = database.options(&url);
    options.max_connections = 1;
    let store = PostgresStore::open(options).await.expect("the server is up");
    let table = make::table_of("t", 1, &[("a", ColumnKind::Integer)]);
    store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
    let client = database.client().await;
    let fill = format!(
        "INSERT INTO t SELECT number, 0, sha256(''), 0, sha256(''), substring(sha256('') FROM 1 FOR 20), number
         FROM generate_series(0, {}) AS number; ANALYZE t",
        BLOCKS - 1
    );
    client.batch_execute(&fill).await.expect("rows");
    for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
        for after in [None, Some(200), Some(BLOCKS / 2), Some(BLOCKS - 200)] {
            let key = after.map(|block| make::row_key(block, 0));
            let rows =
                store.rows(&RowQuery { order, after: key, ..make::page("t", 100) }).await.expect("rows");
            assert_eq!(rows.len(), 100);
            let plan = plan(&client, &last_statement(&database, &client).await, after).await;
            assert!(plan.contains("using t_pkey"), "{plan}");
            assert_eq!(plan.contains("Index Cond"), after.is_some(), "{plan}");
            assert!(plan.contains("actual rows=100 "), "no more is read than is wanted: {plan}");
            assert!(!plan.contains("Sort") && !plan.contains("Filter"), "{plan}");
        }
    }
}
