//! A fresh database of either kind for each case; a schema of the server's is dropped with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_postgres::NoTls;
use windlass_core::store::Store;
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::clock::ManualClock;

/// Which store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// A database that lasts as long as its case.
pub(crate) struct Database {
    schema: Option<String>,
}

impl Database {
    /// A fresh one, and the store on it.
    pub(crate) async fn open(kind: Kind, clock: Arc<ManualClock>) -> (Self, Arc<dyn Store>) {
        match kind {
            Kind::Sqlite => {
                let options = SqliteOptions::memory().with_clock(clock);
                let store = SqliteStore::open(options).await.expect("a store");
                (Self { schema: None }, Arc::new(store))
            }
            Kind::Postgres => {
                let schema = fresh_schema();
                let options = PostgresOptions {
                    schema: Some(schema.clone()),
                    max_connections: 4,
                    clock: Some(clock),
                    ..PostgresOptions::new(url())
                };
                let store = PostgresStore::open(options).await.expect("the server is up");
                (Self { schema: Some(schema) }, Arc::new(store))
            }
        }
    }
}

fn fresh_schema() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    format!("windlass_cases_{}_{nanos}_{count}", std::process::id())
}

fn url() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL").expect(
        "WINDLASS_TEST_POSTGRES_URL is not set; \
         hint: scripts/with-services --only postgres cargo nextest run -p windlass-engine",
    )
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(schema) = self.schema.take() else { return };
        // Dropping cannot wait within the test's own runtime.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(&url(), NoTls).await?;
                tokio::spawn(connection);
                client.batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })
        });
        let _ = dropped.join();
    }
}
