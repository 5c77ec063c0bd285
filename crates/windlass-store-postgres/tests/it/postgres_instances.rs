//! Sessions that hold a lock: what proves a death, what proves nothing, and a session that
//! is lost while its process lives.

use std::time::Duration;

use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreError;
use windlass_core::lease::Lease;
use windlass_core::store::{Door, Leases};
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_testkit::make;

use crate::database::{Database, address, url, url_at};
use crate::pooler::Pooler;
use crate::proxy::Proxy;

/// Longer than any test takes.
const TTL: Duration = Duration::from_secs(3_600);

/// Which session holds the lock of an instance.
const LOCK_HOLDER: &str = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND mode = 'ExclusiveLock' AND classid::BIGINT = $1::BIGINT >> 32 AND objid::BIGINT = $1::BIGINT & 4294967295 AND objsubid = 1";

async fn open_at(database: &Database, url: &str) -> PostgresStore {
    let options = PostgresOptions { prove_alive: true, ..database.options(url) };
    PostgresStore::open(options).await.expect("the server is up")
}

async fn open(database: &Database) -> PostgresStore {
    open_at(database, &url()).await
}

async fn acquire(store: &PostgresStore, who: &str) -> Option<Lease> {
    store.acquire_lease(&make::lease_name("l"), &make::owner(who), TTL).await.expect("an answer")
}

/// The only instance that is registered.
async fn instance(client: &tokio_postgres::Client) -> i64 {
    client.query_one("SELECT id FROM instance", &[]).await.expect("one instance").get(0)
}

async fn lock_holder(client: &tokio_postgres::Client, id: i64) -> Option<i32> {
    client.query_opt(LOCK_HOLDER, &[&id]).await.expect("an answer").map(|row| row.get(0))
}

async fn wait_for_lock(client: &tokio_postgres::Client, id: i64, is_wanted: impl Fn(Option<i32>) -> bool) {
    while !is_wanted(lock_holder(client, id).await) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_session_that_was_cut_is_replaced_and_its_process_keeps_what_it_holds() {
    let database = Database::new();
    let first = open(&database).await;
    let client = database.client().await;
    let id = instance(&client).await;
    let lease = acquire(&first, "first").await.expect("it is free");
    let session = lock_holder(&client, id).await.expect("a session");
    client.execute("SELECT pg_terminate_backend($1)", &[&session]).await.expect("ended");
    wait_for_lock(&client, id, |holder| holder.is_some_and(|holder| holder != session)).await;
    let second = open(&database).await;
    assert_eq!(acquire(&second, "second").await, None);
    assert_eq!(second.list_abandoned_leases().await.expect("leases"), []);
    first.extend_lease(&lease, TTL).await.expect("it is still the holder");
    drop(first);
    wait_for_lock(&client, id, |holder| holder.is_none()).await;
    assert_eq!(acquire(&second, "second").await.expect("it is free").epoch, lease.epoch.next());
}

/// Its session is gone and does not come back for a while: others take it for dead.
#[tokio::test]
async fn a_living_process_that_is_taken_for_dead_is_fenced_and_goes_on_afterwards() {
    let database = Database::new();
    drop(database.open().await);
    let proxy = Proxy::start(address()).await;
    let first = open_at(&database, &format!("{}?sslmode=disable", url_at(&proxy.address))).await;
    let client = database.client().await;
    let id = instance(&client).await;
    let lease = acquire(&first, "first").await.expect("it is free");
    let second = database.open().await;
    let session = lock_holder(&client, id).await.expect("a session");
    proxy.let_in(false);
    client.execute("SELECT pg_terminate_backend($1)", &[&session]).await.expect("ended");
    wait_for_lock(&client, id, |holder| holder.is_none()).await;
    let heir = acquire(&second, "second").await.expect("the first counts as dead");
    assert_eq!(heir.epoch, lease.epoch.next());
    let write = || vec![Write::PutState { key: make::state_key("k"), value: Some("1".into()) }];
    let zombie = first.commit(Commit::of(write()).under_lease(&lease)).await;
    assert!(matches!(zombie, Err(StoreError::Fenced { .. })), "{zombie:?}");
    second.commit(Commit::of(write()).under_lease(&heir)).await.expect("the heir writes");
    proxy.let_in(true);
    wait_for_lock(&client, id, |holder| holder.is_some()).await;
    second.release_lease(&heir).await.expect("released");
    acquire(&first, "first").await.expect("it goes on");
    assert_eq!(acquire(&second, "second").await, None);
}

/// One that waits for its lock is alive, whoever else has it for a moment.
#[tokio::test]
async fn a_process_that_waits_for_its_lock_counts_as_alive() {
    let database = Database::new();
    let first = open(&database).await;
    let (client, blocker) = (database.client().await, database.client().await);
    let id = instance(&client).await;
    acquire(&first, "first").await.expect("it is free");
    let second = database.open().await;
    let session = lock_holder(&client, id).await.expect("a session");
    let waiting = async |than: i64| {
        let waits =
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objsubid = 1
            AND classid::BIGINT = $1::BIGINT >> 32 AND objid::BIGINT = $1::BIGINT & 4294967295 AND pid <> $2";
        while client.query_one(waits, &[&id, &session]).await.expect("an answer").get::<_, i64>(0) < than {
            tokio::task::yield_now().await;
        }
    };
    // Whoever waits for the lock already gets it before the session that comes next.
    let block = async { blocker.execute("SELECT pg_advisory_lock_shared($1)", &[&id]).await };
    let cut = async {
        waiting(1).await;
        client.execute("SELECT pg_terminate_backend($1)", &[&session]).await.expect("ended");
    };
    let (blocked, ()) = tokio::join!(block, cut);
    blocked.expect("the lock");
    waiting(1).await;
    assert_eq!(acquire(&second, "second").await, None);
    blocker.execute("SELECT pg_advisory_unlock_shared($1)", &[&id]).await.expect("free again");
    wait_for_lock(&client, id, |holder| holder.is_some()).await;
    assert_eq!(acquire(&second, "second").await, None);
}

#[tokio::test]
async fn a_lock_that_was_lost_in_a_restart_of_the_server_proves_nothing() {
    let database = Database::new();
    let first = open(&database).await;
    let client = database.client().await;
    let id = instance(&client).await;
    acquire(&first, "first").await.expect("it is free");
    drop(first);
    wait_for_lock(&client, id, |holder| holder.is_none()).await;
    let before = "UPDATE instance SET server_started_at = server_started_at - interval '1 day'";
    client.execute(before, &[]).await.expect("changed");
    let second = database.open().await;
    assert_eq!(acquire(&second, "second").await, None);
    assert_eq!(second.list_abandoned_leases().await.expect("leases"), []);
    let third = open(&database).await;
    assert_eq!(acquire(&third, "third").await, None, "its time is not over");
    assert_ne!(instance(&client).await, id, "what proves nothing is forgotten");
}

/// Behind a pooler the lock may be in a session that others use too.
#[tokio::test]
async fn behind_a_pooler_that_shares_sessions_nothing_is_concluded() {
    let database = Database::new();
    drop(database.open().await);
    let pooler = Pooler::start(address()).await;
    let shared = format!("{}?sslmode=disable", url_at(&pooler.address));
    let first = open_at(&database, &shared).await;
    assert!(pooler.has_shared(), "the session with the lock was given to nobody else");
    acquire(&first, "first").await.expect("it is free");
    let client = database.client().await;
    let named = "SELECT instance_id FROM lease WHERE name = 'l'";
    assert_eq!(client.query_one(named, &[]).await.expect("a lease").get::<_, Option<i64>>(0), None);
    assert!(client.query("SELECT FROM instance", &[]).await.expect("instances").is_empty());
    drop(first);
    let second = open(&database).await;
    assert_eq!(acquire(&second, "second").await, None);
}
