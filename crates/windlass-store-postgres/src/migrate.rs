//! The schema, brought up to date under a lock. Many processes may try at once;
//! one does it, the others find it done. A database that a later version has
//! been at is left alone.

use deadpool_postgres::Client;
use windlass_core::error::{StoreError, StoreResult};

use crate::PostgresStore;
use crate::connect::quoted;
use crate::error::Outcome;
use crate::mark;
use crate::row::get;

/// The version this binary brings a database to.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Each brings the schema from the version before it to its own; never changed once released.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_foundation.sql"),
    include_str!("../migrations/0002_pay.sql"),
    include_str!("../migrations/0003_vouched.sql"),
    include_str!("../migrations/0004_instance.sql"),
    include_str!("../migrations/0005_authenticated.sql"),
    include_str!("../migrations/0006_table_view.sql"),
    include_str!("../migrations/0007_resent.sql"),
    include_str!("../migrations/0008_bookkeeping.sql"),
    include_str!("../migrations/0009_unreadable.sql"),
];

/// The advisory lock of a migration: "windlass" as a number. Databases have their own.
const MIGRATION_LOCK: i64 = 0x7769_6e64_6c61_7373;

impl PostgresStore {
    /// Brings the schema up to date. Nothing is tried again here: whoever starts
    /// with a wrong URL is to hear of it at once.
    pub(crate) async fn migrate(&self, schema: Option<&str>) -> StoreResult<()> {
        self.try_migrate(schema).await.map_err(|fault| fault.explain(&self.inner.place))
    }

    /// Refuses a schema that is not the one this binary works with, and leaves it alone.
    pub(crate) async fn check_schema(&self) -> StoreResult<()> {
        self.try_check().await.map_err(|fault| fault.explain(&self.inner.place))
    }

    async fn try_check(&self) -> Outcome<()> {
        let client = self.connection(false).await?;
        if is_current(&client).await? {
            return Ok(());
        }
        let found = stored_version(&client).await?;
        Err(StoreError::OlderSchema { found, known: SCHEMA_VERSION }.into())
    }

    async fn try_migrate(&self, schema: Option<&str>) -> Outcome<()> {
        let mut client = self.connection(false).await?;
        if !is_current(&client).await? {
            upgrade(&mut client, schema).await?;
        }
        mark::forget_old(&client).await
    }
}

/// Whether nothing is to be done, so that a restart needs no lock and no right to create.
async fn is_current(client: &Client) -> Outcome<bool> {
    match stored_version(client).await? {
        found if found > SCHEMA_VERSION => {
            Err(StoreError::NewerSchema { found, known: SCHEMA_VERSION }.into())
        }
        found => Ok(found == SCHEMA_VERSION),
    }
}

async fn stored_version(client: &Client) -> Outcome<i64> {
    let table = client.query_one("SELECT to_regclass('schema_version') IS NOT NULL", &[]).await?;
    if !get::<bool>(&table, 0)? {
        return Ok(0);
    }
    let row = client.query_one("SELECT COALESCE(max(version), 0) FROM schema_version", &[]).await?;
    get(&row, 0)
}

async fn upgrade(client: &mut Client, schema: Option<&str>) -> Outcome<()> {
    // One transaction; dropping it on an error takes everything back.
    let transaction = client.build_transaction().start().await?;
    // A new index on a large table takes as long as it takes.
    transaction.batch_execute("SET LOCAL lock_timeout = '60s'; SET LOCAL statement_timeout = 0").await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATION_LOCK]).await?;
    if let Some(name) = schema {
        transaction.batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", quoted(name)?)).await?;
    }
    transaction
        .batch_execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT PRIMARY KEY)")
        .await?;
    let row = transaction.query_one("SELECT COALESCE(max(version), 0) FROM schema_version", &[]).await?;
    let found: i64 = get(&row, 0)?;
    if found > SCHEMA_VERSION {
        return Err(StoreError::NewerSchema { found, known: SCHEMA_VERSION }.into());
    }
    for (version, sql) in (1_i64..).zip(MIGRATIONS).filter(|(version, _)| *version > found) {
        transaction.batch_execute(sql).await?;
        transaction.execute("INSERT INTO schema_version (version) VALUES ($1)", &[&version]).await?;
    }
    transaction.commit().await?;
    Ok(())
}
