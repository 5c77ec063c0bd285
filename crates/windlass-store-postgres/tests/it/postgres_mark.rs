//! The rows by which lost commits are looked up: what becomes of a store whose rows were forgotten.

use windlass_core::store::{Cursors, Jobs};
use windlass_store_postgres::PostgresStore;
use windlass_testkit::make;

use crate::database::{Database, address, url_at};
use crate::proxy::{Cut, Proxy};

async fn marks(database: &Database) -> Vec<i64> {
    let rows = database.client().await.query("SELECT id FROM commit_mark ORDER BY id", &[]).await;
    rows.expect("marks").iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn a_mark_that_was_forgotten_is_replaced() {
    let database = Database::new();
    let store = database.open().await;
    let client = database.client().await;
    for round in 0..3 {
        let seeded = store.seed_cursor(&make::cursor_name(&format!("c{round}")), make::cursor(0, "x")).await;
        assert!(seeded.expect("a write"), "round {round}");
        assert_eq!(marks(&database).await.len(), 1, "one at a time needs one mark");
        client.batch_execute("DELETE FROM commit_mark").await.expect("forgotten");
    }
}

#[tokio::test]
async fn a_mark_is_used_again_unless_its_connection_was_lost() {
    let database = Database::new();
    let proxy = Proxy::start(address()).await;
    let url = format!("{}?sslmode=disable", url_at(&proxy.address));
    let store = PostgresStore::open(database.options(&url)).await.expect("the proxy lets it pass");
    let enqueue = || store.enqueue_jobs(vec![make::job("q", "k", "{}")]);
    enqueue().await.expect("an id");
    enqueue().await.expect("an id");
    assert_eq!(marks(&database).await.len(), 1);
    let mut broken = true;
    let (mut message, mut used) = (1, 1);
    while broken {
        proxy.arm(message, Cut::After);
        enqueue().await.expect("an id");
        broken = proxy.disarm();
        used += usize::from(broken);
        message += 1;
        // A connection that is lost before the mark was written costs none.
        let created = marks(&database).await.len();
        assert!(created <= used, "{created} marks after {used} losses");
    }
    let before = marks(&database).await.len();
    assert!(before > 2, "only {before} marks: a lost one was used again");
    enqueue().await.expect("an id");
    assert_eq!(marks(&database).await.len(), before);
}
