//! Completions that share a commit.

use futures_util::FutureExt;
use windlass_core::error::StoreError;
use windlass_core::job::JobTicket;
use windlass_core::store::{Health, Jobs};
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::Database;

/// Jobs of as many lanes, claimed.
async fn claimed(store: &PostgresStore, count: u32) -> Vec<JobTicket> {
    let jobs = (0..count).map(|number| make::job("q", &format!("lane{number}"), "x")).collect();
    store.enqueue_jobs(jobs).await.expect("ids");
    let claimed = store.claim_jobs(&make::claim("q", "a", count)).await.expect("jobs");
    claimed.iter().map(|job| job.ticket).collect()
}

async fn open_jobs(store: &PostgresStore) -> u64 {
    store.count_jobs().await.expect("counts").iter().map(|queue| queue.open).sum()
}

#[tokio::test]
async fn a_caller_that_goes_away_takes_nobody_with_it() {
    let database = Database::new();
    let store = database.open().await;
    let tickets = claimed(&store, 2).await;
    let mut leaves = Box::pin(store.complete_jobs(&tickets[..1]));
    assert!((&mut leaves).now_or_never().is_none(), "it waits for the server");
    let stays = store.complete_jobs(&tickets[1..]);
    drop(leaves);
    assert_eq!(stays.await.expect("an answer"), []);
    assert_eq!(open_jobs(&store).await, 0, "what was asked for is done, heard of or not");
}

#[test]
fn the_end_of_a_runtime_does_not_end_the_completions_of_the_next() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let database = Database::new();
    let first = runtime();
    let (store, tickets) = first.block_on(async {
        let store = database.open().await;
        let tickets = claimed(&store, 2).await;
        // Its task has been made and has not run.
        let mut asked = Box::pin(store.complete_jobs(&tickets[..1]));
        assert!((&mut asked).now_or_never().is_none());
        drop(asked);
        (store, tickets)
    });
    drop(first);
    runtime().block_on(async {
        assert_eq!(store.complete_jobs(&tickets[1..]).await.expect("an answer"), []);
    });
}

#[tokio::test]
async fn a_closed_store_refuses_them() {
    let database = Database::new();
    let store = database.open().await;
    let tickets = claimed(&store, 1).await;
    store.close().await;
    assert!(matches!(store.complete_jobs(&tickets).await, Err(StoreError::Closed)));
}
