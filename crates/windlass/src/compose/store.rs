//! From `database.url` to an open store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};
use windlass_core::code::Code;
use windlass_core::sql::SqlReader;
use windlass_core::sql::lexer::Dialect;
use windlass_core::store::Store;
use windlass_store_postgres::{PostgresOptions, PostgresStore};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use crate::config::database::{Database, Location, UrlError};
use crate::failure::Failure;

/// What the store is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// To look: no SQLite file is created.
    Look,
    /// To find out whether it could be changed: nothing is, and no SQLite file is created.
    Examine,
    /// To change what is there: no SQLite file is created.
    Change,
    /// To work: created and migrated as needed.
    Work,
}

impl Access {
    /// Whether others may have to know that this process has died.
    const fn may_hold_leases(self) -> bool {
        matches!(self, Self::Change | Self::Work)
    }
}

/// How many connections the API has to a PostgreSQL server: those of the loops are not
/// lent to it, so that neither waits for the other.
const API_CONNECTIONS: u32 = windlass_api::limits::DEFAULT_CONCURRENT_REQUESTS as u32;

/// Opens what the API reads: the same database, over connections of its own. A SQLite
/// store has readers apart from its writer already.
pub(crate) async fn open_for_api(
    database: &Database,
    store: &Arc<dyn Store>,
) -> Result<Arc<dyn Store>, Failure> {
    match locate(database)? {
        Location::Sqlite(_) => Ok(Arc::clone(store)),
        Location::Postgres(url) => {
            let options = PostgresOptions {
                max_connections: API_CONNECTIONS,
                ..PostgresOptions::new(url.expose_secret())
            };
            Ok(Arc::new(PostgresStore::open(options).await?))
        }
    }
}

/// Opens the configured store.
pub(crate) async fn open(database: &Database, access: Access) -> Result<Arc<dyn Store>, Failure> {
    match locate(database)? {
        Location::Sqlite(path) => Ok(Arc::new(open_sqlite(path, access).await?)),
        Location::Postgres(url) => Ok(Arc::new(open_postgres(&url, access).await?)),
    }
}

/// A store that answers statements, and cannot be written to.
pub(crate) struct SqlStore {
    pub(crate) reader: Arc<dyn SqlReader>,
    /// Whose SQL it speaks.
    pub(crate) dialect: Dialect,
    store: Arc<dyn Store>,
}

impl SqlStore {
    pub(crate) async fn close(&self) {
        self.store.close().await;
    }
}

/// Opens the configured store for statements.
pub(crate) async fn open_sql(database: &Database) -> Result<SqlStore, Failure> {
    match locate(database)? {
        Location::Sqlite(path) => {
            let store = Arc::new(open_sqlite(path, Access::Look).await?);
            Ok(SqlStore { reader: store.clone(), dialect: Dialect::Sqlite, store })
        }
        Location::Postgres(url) => {
            let store = Arc::new(open_postgres(&url, Access::Look).await?);
            Ok(SqlStore { reader: store.clone(), dialect: Dialect::Postgres, store })
        }
    }
}

async fn open_sqlite(path: PathBuf, access: Access) -> Result<SqliteStore, Failure> {
    // Told apart before SQLite is asked: its own words do not say so.
    if path.is_dir() {
        return Err(folder(&path));
    }
    if access != Access::Work && !path.exists() {
        return Err(absent(&path));
    }
    let options = SqliteOptions {
        read_only: access == Access::Look,
        prove_alive: access.may_hold_leases(),
        ..SqliteOptions::file(path)
    };
    Ok(SqliteStore::open(options).await?)
}

async fn open_postgres(url: &SecretString, access: Access) -> Result<PostgresStore, Failure> {
    let options = PostgresOptions {
        read_only: access == Access::Look,
        prove_alive: access.may_hold_leases(),
        ..PostgresOptions::new(url.expose_secret())
    };
    Ok(PostgresStore::open(options).await?)
}

/// Where the database is, its secret read.
pub(crate) fn locate(database: &Database) -> Result<Location, Failure> {
    database.url.locate().map_err(|error| match error {
        UrlError::Secret(error) => Failure::coded(Code::SecretMissing, error)
            .hint("set it, or change `database.url`; `windlass config show` names its origin"),
        UrlError::Location(error) => {
            Failure::coded(Code::ConfigInvalid, error).hint("correct what `database.url` points to")
        }
    })
}

fn absent(path: &Path) -> Failure {
    Failure::coded(Code::DatabaseUnreachable, format_args!("there is no database at `{}`", path.display()))
        .hint("in a new folder begin with `windlass init`; with a configuration, `windlass run` creates it; if it is elsewhere, correct `database.url` or name its file with --config")
}

/// What stands at the path is a folder.
pub(crate) fn folder(path: &Path) -> Failure {
    let message = format!("`{}` is a folder, and the database is a file", path.display());
    Failure::coded(Code::DatabaseUnreachable, message).hint("name a file in it in `database.url`")
}
