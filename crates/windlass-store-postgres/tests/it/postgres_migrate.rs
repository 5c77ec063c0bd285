//! Opening: many at once, again, and after a later version has been here.

use windlass_core::error::StoreError;
use windlass_core::store::Leases;
use windlass_store_postgres::{PostgresStore, SCHEMA_VERSION};
use windlass_testkit::make;

use crate::database::{Database, url};

#[tokio::test]
async fn many_may_open_a_new_database_at_once() {
    let database = Database::new();
    let opening: Vec<_> =
        (0..8).map(|_| tokio::spawn(PostgresStore::open(database.options(&url())))).collect();
    for opened in opening {
        let store = opened.await.expect("no panic").expect("opened");
        assert_eq!(store.list_leases().await.expect("leases"), []);
    }
    let versions = database.client().await.query("SELECT version FROM schema_version", &[]).await;
    assert_eq!(versions.expect("versions").len() as i64, SCHEMA_VERSION);
}

#[tokio::test]
async fn opening_again_keeps_what_is_there() {
    let database = Database::new();
    let store = database.open().await;
    let name = make::lease_name("l");
    let lease = store.acquire_lease(&name, &make::owner("a"), make::ms(10)).await.expect("an answer");
    drop(store);
    assert_eq!(database.open().await.list_leases().await.expect("leases"), [lease.expect("a lease")]);
}

#[tokio::test]
async fn a_newer_database_is_refused_and_left_alone() {
    let database = Database::new();
    drop(database.open().await);
    let client = database.client().await;
    let newer = SCHEMA_VERSION + 1;
    client.execute("INSERT INTO schema_version VALUES ($1)", &[&newer]).await.expect("written");
    client.batch_execute("DROP TABLE commit_mark").await.expect("dropped");
    let refused = PostgresStore::open(database.options(&url())).await.expect_err("refused");
    assert!(
        matches!(refused, StoreError::NewerSchema { found, known } if found == newer && known == SCHEMA_VERSION)
    );
    let touched = client.query_one("SELECT to_regclass('commit_mark')::TEXT", &[]).await.expect("an answer");
    assert_eq!(touched.get::<_, Option<String>>(0), None);
}
