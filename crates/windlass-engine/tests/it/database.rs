//! A fresh database of either kind for each case; a schema of the server's is dropped with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tempfile::TempDir;
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
    folder: Option<Arc<TempDir>>,
}

/// Somebody who can write to the database as they like, and has no key.
pub(crate) enum Intruder {
    Sqlite(Arc<TempDir>),
    Postgres(String),
}

impl Database {
    /// A fresh one, and the store on it.
    pub(crate) async fn open(kind: Kind, clock: Arc<ManualClock>) -> (Self, Arc<dyn Store>) {
        match kind {
            Kind::Sqlite => {
                let options = SqliteOptions::memory().with_clock(clock);
                let store = SqliteStore::open(options).await.expect("a store");
                (Self { schema: None, folder: None }, Arc::new(store))
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
                (Self { schema: Some(schema), folder: None }, Arc::new(store))
            }
        }
    }
}

impl Database {
    /// A fresh one that others reach as well.
    pub(crate) async fn open_to_all(kind: Kind, clock: Arc<ManualClock>) -> (Self, Arc<dyn Store>, Intruder) {
        if kind == Kind::Postgres {
            let (database, store) = Self::open(kind, clock).await;
            let schema = database.schema.clone().expect("a schema");
            return (database, store, Intruder::Postgres(schema));
        }
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        let options = SqliteOptions::file(folder.path().join("db")).with_clock(clock);
        let store = SqliteStore::open(options).await.expect("a store");
        let database = Self { schema: None, folder: Some(folder.clone()) };
        (database, Arc::new(store), Intruder::Sqlite(folder))
    }
}

impl Intruder {
    /// Runs statements that no rule of the schema stands in the way of; how many rows the last
    /// one has changed.
    pub(crate) async fn run(&self, statements: &[String]) -> u64 {
        match self {
            Self::Sqlite(folder) => {
                let connection = rusqlite::Connection::open(folder.path().join("db")).expect("opened");
                connection.busy_timeout(std::time::Duration::from_secs(5)).expect("set");
                connection
                    .execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
                    .expect("set");
                let triggers: Vec<String> = connection
                    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
                    .and_then(|mut rows| rows.query_map([], |row| row.get(0))?.collect())
                    .expect("listed");
                for trigger in triggers {
                    connection.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("dropped");
                }
                let run = |sql: &String| {
                    connection.execute(sql, []).unwrap_or_else(|error| panic!("{error}: {sql}"))
                };
                statements.iter().map(run).fold(0, |_, count| count as u64)
            }
            Self::Postgres(schema) => {
                let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.expect("connected");
                tokio::spawn(connection);
                client
                    .batch_execute(&format!(
                        "SET search_path TO {schema}; SET session_replication_role = replica; {DROP_CHECKS}"
                    ))
                    .await
                    .expect("set");
                let mut count = 0;
                for sql in statements {
                    count = client.execute(sql, &[]).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
                }
                count
            }
        }
    }

    /// Bytes as the database writes them.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> String {
        let digits = alloy_primitives::hex::encode(bytes);
        match self {
            Self::Sqlite(_) => format!("x'{digits}'"),
            Self::Postgres(_) => format!("'\\x{digits}'::bytea"),
        }
    }

    /// An amount as the database writes it.
    pub(crate) fn amount(&self, amount: u64) -> String {
        match self {
            Self::Sqlite(_) => self.bytes(&alloy_primitives::U256::from(amount).to_be_bytes::<32>()),
            Self::Postgres(_) => amount.to_string(),
        }
    }
}

/// Takes every check of the schema away, as SQLite ignores them for an intruder.
const DROP_CHECKS: &str = "DO $$ DECLARE rule record; BEGIN
    FOR rule IN SELECT conrelid::regclass AS of, conname AS name FROM pg_constraint
        WHERE contype = 'c' AND connamespace = current_schema()::regnamespace
    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', rule.of, rule.name); END LOOP;
END $$";

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
        self.folder.take();
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
