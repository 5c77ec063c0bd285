//! The store's clock, description and end.

use async_trait::async_trait;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::store::{Health, StoreInfo};
use windlass_core::time::Timestamp;

use crate::PostgresStore;
use crate::migrate::SCHEMA_VERSION;
use crate::row::{get, timestamp};

#[async_trait]
impl Health for PostgresStore {
    async fn now(&self) -> StoreResult<Timestamp> {
        self.read(&(), |tx, ()| {
            Box::pin(async {
                let row = tx.query_one("SELECT windlass_now($1)", &[&tx.now_ms]).await?;
                timestamp(&row, 0)
            })
        })
        .await
    }

    async fn describe(&self) -> StoreResult<StoreInfo> {
        let version = self
            .read(&(), |tx, ()| {
                Box::pin(async {
                    let row = tx.query_one("SELECT current_setting('server_version')", &[]).await?;
                    get(&row, 0)
                })
            })
            .await?;
        Ok(StoreInfo {
            kind: "postgres".to_owned(),
            version,
            place: self.inner.place.address.clone(),
            schema: SCHEMA_VERSION,
        })
    }

    /// A look writes nothing, so the server is asked whether a write would be taken.
    async fn check(&self) -> StoreResult<()> {
        let writable = self
            .read(&(), |tx, ()| {
                Box::pin(async {
                    let sql =
                        "SELECT NOT pg_is_in_recovery() AND has_table_privilege('lane', 'INSERT, UPDATE')";
                    get(&tx.query_one(sql, &[]).await?, 0)
                })
            })
            .await?;
        if writable { Ok(()) } else { Err(StoreError::ReadOnly) }
    }

    async fn close(&self) {
        if let Some(proof) = self.inner.proof.get() {
            proof.end();
        }
        self.inner.pool.close();
        // Waits for the operations that had a connection already.
        drop(self.inner.running.write().await);
    }
}
