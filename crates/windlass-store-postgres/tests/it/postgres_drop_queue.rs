//! A queue that is taken away while somebody fills it.

use windlass_core::commit::{Commit, Write, Written};
use windlass_core::store::{Door, Jobs};
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, url};

fn put(value: &str) -> Write {
    Write::PutState { key: make::state_key("k"), value: Some(value.to_owned()) }
}

/// As a range that is split while its campaign ends: what takes its place comes into being
/// behind the back of whoever waits for it.
#[tokio::test]
async fn what_a_job_leaves_in_its_place_is_dropped_with_the_queue() {
    let database = Database::new();
    let name = &database.schema;
    let url = format!("{}?application_name={name}", url());
    let store = PostgresStore::open(database.options(&url)).await.expect("the server is up");
    let (holder, other) = (database.client().await, database.client().await);
    let waiting = async |count: usize| {
        let sql = "SELECT FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'";
        while other.query(sql, &[name]).await.expect("an answer").len() < count {
            tokio::task::yield_now().await;
        }
    };
    store.commit(Commit::of(vec![put("1")])).await.expect("a row to lock");
    store.enqueue_jobs(vec![make::job("q", "whole", "{}")]).await.expect("ids");
    let ticket = store.claim_jobs(&make::claim("q", "a", 1)).await.expect("a job")[0].ticket;
    holder.batch_execute("BEGIN; SELECT FROM state FOR UPDATE").await.expect("a lock");

    let pieces = vec![make::job("q", "half", "{}"), make::job("q", "other half", "{}")];
    let writes = vec![Write::CompleteJob(ticket), Write::Enqueue(pieces), put("2")];
    let split = store.commit(Commit::of(writes).under_job(ticket));
    let drop_queue = async {
        waiting(1).await;
        store.commit(Commit::of(vec![Write::DropQueue(make::queue("q"))])).await
    };
    let let_go = async {
        waiting(2).await;
        holder.batch_execute("COMMIT").await.expect("the lock is given back");
    };
    let (split, dropped, ()) = tokio::join!(split, drop_queue, let_go);
    split.expect("it came first");
    assert_eq!(dropped.expect("an answer"), [Written::Rows(2)]);
    for table in ["lane", "job"] {
        let left = other.query(&format!("SELECT FROM {table}"), &[]).await.expect("an answer").len();
        assert_eq!(left, 0, "{table}");
    }
    assert_eq!(store.claim_jobs(&make::claim("q", "b", 10)).await.expect("nothing"), []);
}
