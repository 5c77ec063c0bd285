//! Which store a case runs on, and a fresh place in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tempfile::TempDir;
use windlass_core::store::Store;
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

/// A store by name.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StoreKind {
    /// A file in a temporary folder
    Sqlite,
    /// The server at `--postgres-url`
    Postgres,
}

/// Which store.
#[derive(Args, Clone)]
pub(crate) struct StoreArgs {
    /// The store to measure
    #[arg(long, value_enum, default_value = "sqlite")]
    pub(crate) store: StoreKind,
    /// A PostgreSQL server; `scripts/with-services` starts one and sets the variable
    #[arg(long, env = "WINDLASS_TEST_POSTGRES_URL", hide_env_values = true)]
    pub(crate) postgres_url: Option<String>,
}

/// The schema that benchmarks use on a PostgreSQL server; emptied at the start.
pub(crate) const SCHEMA: &str = "windlass_bench";

/// The database for a `windlass run` on a PostgreSQL server; dropped at the start.
const DATABASE: &str = "windlass_bench_run";

/// A fresh store, and the folder it lives in.
pub(crate) struct Place {
    /// The store.
    pub(crate) store: Arc<dyn Store>,
    /// Gone with the place.
    pub(crate) folder: TempDir,
}

impl Place {
    /// A file beside the store, gone with the place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl StoreArgs {
    /// The store's name in the report.
    pub(crate) fn name(&self) -> &'static str {
        match self.store {
            StoreKind::Sqlite => "sqlite",
            StoreKind::Postgres => "postgres",
        }
    }

    /// The server's URL.
    pub(crate) fn url(&self) -> Result<&str, String> {
        let hint = "no PostgreSQL: give --postgres-url, or run under scripts/with-services";
        self.postgres_url.as_deref().ok_or_else(|| hint.to_owned())
    }

    /// Opens a fresh store.
    pub(crate) async fn open(&self) -> Result<Place, Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let store: Arc<dyn Store> = match self.store {
            StoreKind::Sqlite => {
                Arc::new(SqliteStore::open(SqliteOptions::file(folder.path().join("bench.db"))).await?)
            }
            StoreKind::Postgres => {
                let client = connect(self.url()?).await?;
                client.batch_execute(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")).await?;
                let options =
                    PostgresOptions { schema: Some(SCHEMA.into()), ..PostgresOptions::new(self.url()?) };
                Arc::new(PostgresStore::open(options).await?)
            }
        };
        Ok(Place { store, folder })
    }

    /// A fresh database for another process: its URL, as a configuration has it. A file is
    /// put into the folder.
    pub(crate) async fn fresh_database(&self, folder: &Path) -> Result<String, Box<dyn std::error::Error>> {
        match self.store {
            StoreKind::Sqlite => Ok(format!("sqlite:{}", folder.join("windlass.db").display())),
            StoreKind::Postgres => {
                let client = connect(self.url()?).await?;
                client.batch_execute(&format!("DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")).await?;
                client.batch_execute(&format!("CREATE DATABASE {DATABASE}")).await?;
                let mut url = reqwest::Url::parse(self.url()?)?;
                url.set_path(DATABASE);
                Ok(url.into())
            }
        }
    }

    /// Opens such a database without changing it.
    pub(crate) async fn open_to_read(&self, url: &str) -> Result<Arc<dyn Store>, Box<dyn std::error::Error>> {
        Ok(match self.store {
            StoreKind::Sqlite => {
                let file = SqliteOptions::file(url.trim_start_matches("sqlite:"));
                Arc::new(SqliteStore::open(SqliteOptions { read_only: true, ..file }).await?)
            }
            StoreKind::Postgres => {
                let options = PostgresOptions { read_only: true, ..PostgresOptions::new(url) };
                Arc::new(PostgresStore::open(options).await?)
            }
        })
    }

    /// Opens a SQLite file that stays, and may be there already.
    pub(crate) async fn open_kept(&self, path: &Path) -> Result<Place, Box<dyn std::error::Error>> {
        if self.store != StoreKind::Sqlite {
            return Err("only a SQLite file can be kept".into());
        }
        let store = SqliteStore::open(SqliteOptions::file(path)).await?;
        Ok(Place { store: Arc::new(store), folder: tempfile::tempdir()? })
    }
}

/// A bare connection, for limits and settings.
pub(crate) async fn connect(url: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            anstream::eprintln!("error: the connection to PostgreSQL broke: {error}");
        }
    });
    Ok(client)
}
