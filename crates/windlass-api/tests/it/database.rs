//! A fresh database of either kind for each app; a schema of the server's is dropped with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_postgres::NoTls;
use windlass_core::store::Store;
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

/// Which store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

/// A database that lasts as long as the app that reads it.
pub(crate) struct Database {
    pub(crate) store: Arc<dyn Store>,
    place: Place,
}

/// Where it is, if that has to be cleared away.
enum Place {
    Memory,
    Folder { _held: tempfile::TempDir },
    Schema(String),
}

impl Database {
    /// A fresh one; on SQLite in memory.
    pub(crate) async fn open(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self { store: sqlite(SqliteOptions::memory()).await, place: Place::Memory },
            Kind::Postgres => Self::schema().await,
        }
    }

    /// A fresh one that is read while it is written; on SQLite in a file.
    pub(crate) async fn shared(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => {
                let folder = tempfile::tempdir().unwrap();
                let store = sqlite(SqliteOptions::file(folder.path().join("api.db"))).await;
                Self { store, place: Place::Folder { _held: folder } }
            }
            Kind::Postgres => Self::schema().await,
        }
    }

    async fn schema() -> Self {
        Self::at(&url()).await
    }

    /// A fresh schema of the server that is reached at another address, such as a relay's.
    pub(crate) async fn behind(address: &str) -> Self {
        Self::at(&format!("{}?sslmode=disable", url().replace(&server_address(), address))).await
    }

    async fn at(url: &str) -> Self {
        let schema = fresh_schema();
        let options =
            PostgresOptions { schema: Some(schema.clone()), max_connections: 4, ..PostgresOptions::new(url) };
        let store = PostgresStore::open(options).await.expect("the server is up");
        Self { store: Arc::new(store), place: Place::Schema(schema) }
    }
}

async fn sqlite(options: SqliteOptions) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(options).await.unwrap())
}

fn fresh_schema() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    format!("windlass_api_{}_{nanos}_{count}", std::process::id())
}

fn url() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL").expect(
        "WINDLASS_TEST_POSTGRES_URL is not set; \
         hint: scripts/with-services --only postgres cargo nextest run -p windlass-api",
    )
}

/// Host and port of the server.
pub(crate) fn server_address() -> String {
    let config: tokio_postgres::Config = url().parse().unwrap();
    let tokio_postgres::config::Host::Tcp(host) = &config.get_hosts()[0] else {
        panic!("the test server is reached over TCP")
    };
    format!("{host}:{}", config.get_ports()[0])
}

impl Drop for Database {
    fn drop(&mut self) {
        let Place::Schema(schema) = &self.place else { return };
        let sql = clear_away(schema);
        // Dropping cannot wait within the test's own runtime.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let (client, connection) = tokio_postgres::connect(&url(), NoTls).await?;
                tokio::spawn(connection);
                client.batch_execute(&sql).await?;
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
            })
        });
        let _ = dropped.join();
    }
}

/// Drops a schema. Whoever is still reading it, such as a stream of the app, does so on
/// the thread that waits here and would never be done: its session is ended first.
fn clear_away(schema: &str) -> String {
    format!(
        "SELECT pg_terminate_backend(pid) FROM (SELECT DISTINCT l.pid FROM pg_locks l \
             JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = '{schema}' AND l.pid <> pg_backend_pid()) held; \
         SET lock_timeout = '5s'; DROP SCHEMA IF EXISTS {schema} CASCADE"
    )
}
