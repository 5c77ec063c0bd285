//! A fresh schema for each test, dropped with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_postgres::NoTls;
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_testkit::clock::ManualClock;

/// The server's URL.
pub(crate) fn url() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL").expect(
        "WINDLASS_TEST_POSTGRES_URL is not set; \
         hint: scripts/with-services --only postgres cargo nextest run -p windlass-store-postgres",
    )
}

/// A URL for another host and port.
pub(crate) fn url_at(host_and_port: &str) -> String {
    let (scheme, rest) = url().split_once("://").map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a URL");
    let (user, rest) = rest.rsplit_once('@').expect("a user");
    let (_, database) = rest.split_once('/').expect("a database");
    format!("{scheme}://{user}@{host_and_port}/{database}")
}

/// The server's host and port.
pub(crate) fn address() -> String {
    let config: tokio_postgres::Config = url().parse().expect("a URL");
    let Some(tokio_postgres::config::Host::Tcp(host)) = config.get_hosts().first() else {
        panic!("the tests need a server that listens on TCP")
    };
    format!("{host}:{}", config.get_ports().first().copied().unwrap_or(5432))
}

/// A schema of its own, and the clock of the stores in it.
pub(crate) struct Database {
    pub(crate) schema: String,
    pub(crate) clock: Arc<ManualClock>,
}

impl Database {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
        let schema = format!("windlass_test_{}_{nanos}_{count}", std::process::id());
        Self { schema, clock: Arc::new(ManualClock::new()) }
    }

    /// Options for a store in this schema.
    pub(crate) fn options(&self, url: &str) -> PostgresOptions {
        PostgresOptions {
            schema: Some(self.schema.clone()),
            max_connections: 4,
            clock: Some(self.clock.clone()),
            ..PostgresOptions::new(url)
        }
    }

    /// Opens a store in this schema.
    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresStore::open(self.options(&url())).await.expect("the server is up")
    }

    /// A plain connection in this schema.
    pub(crate) async fn client(&self) -> tokio_postgres::Client {
        let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.expect("the server is up");
        tokio::spawn(connection);
        client.batch_execute(&format!("SET search_path TO {}", self.schema)).await.expect("a schema");
        client
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let drop_schema = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        // Dropping cannot wait within the test's own runtime.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(&url(), NoTls).await?;
                tokio::spawn(connection);
                client.batch_execute(&drop_schema).await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })
        });
        let _ = dropped.join();
    }
}
