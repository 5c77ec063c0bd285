//! A BEGIN that fails alone: what goes out together with it must not stand on its own.

use std::future::Future;

use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobClaim, JobFilter};
use windlass_core::outbox::SinkStart;
use windlass_core::store::{Door, Jobs, Leases, Outbox};
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, address, url_at};
use crate::proxy::Proxy;

async fn refused<T: std::fmt::Debug>(proxy: &Proxy, operation: impl Future<Output = StoreResult<T>>) {
    proxy.spoil_begin();
    let answer = operation.await;
    assert!(proxy.has_spoilt(), "no BEGIN was sent");
    assert!(matches!(answer, Err(StoreError::Other(_))), "{answer:?}");
}

#[tokio::test]
async fn nothing_is_done_when_a_transaction_did_not_begin() {
    let database = Database::new();
    let proxy = Proxy::start(address()).await;
    let url = format!("{}?sslmode=disable", url_at(&proxy.address));
    let store = PostgresStore::open(database.options(&url)).await.expect("the proxy lets it pass");
    store.enqueue_jobs(vec![make::job("q", "k", "{}")]).await.expect("an id");
    let listed = async || store.list_jobs(&JobFilter::default()).await.expect("jobs");
    let before = listed().await;
    let (name, owner) = (make::lease_name("l"), make::owner("a"));
    // Twice: once with statements that are not prepared yet, once with those that are.
    for _ in 0..2 {
        refused(&proxy, store.enqueue_jobs(vec![make::job("q", "other", "{}")])).await;
        let write = Write::PutState { key: make::state_key("s"), value: Some("1".to_owned()) };
        refused(&proxy, store.commit(Commit::of(vec![write]))).await;
        refused(&proxy, store.register_sink(&make::sink("s"), SinkStart::Now)).await;
        // More than one lane can give, so that it does not go in one statement.
        let claim = JobClaim { max_per_lane: 2, ..make::claim("q", "a", 3) };
        refused(&proxy, store.claim_jobs(&claim)).await;
        refused(&proxy, store.acquire_lease(&name, &owner, make::ms(1_000))).await;
    }
    assert_eq!(listed().await, before);
    assert_eq!(store.list_leases().await.expect("leases"), []);
    assert!(store.outbox_depth().await.expect("sinks").is_empty());
    let client = database.client().await;
    assert!(client.query("SELECT FROM state", &[]).await.expect("states").is_empty());
    assert_eq!(store.claim_jobs(&make::claim("q", "a", 3)).await.expect("jobs").len(), 1);
}
