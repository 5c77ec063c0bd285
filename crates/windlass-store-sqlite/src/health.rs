//! Whether the store is well, and its end.

use async_trait::async_trait;
use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::store::{Health, StoreInfo};
use windlass_core::time::Timestamp;

use crate::SqliteStore;
use crate::error::Translate;
use crate::migrate::SCHEMA_VERSION;

#[async_trait]
impl Health for SqliteStore {
    async fn now(&self) -> StoreResult<Timestamp> {
        self.read(|tx| {
            // Reading anything shows that the file is there and whole at its beginning.
            tx.prepare("SELECT count(*) FROM sqlite_schema")?.query_row([], |_| Ok(())).translate()?;
            Ok(tx.now)
        })
        .await
    }

    async fn describe(&self) -> StoreResult<StoreInfo> {
        self.now().await?;
        Ok(StoreInfo {
            kind: "sqlite".to_owned(),
            version: rusqlite::version().to_owned(),
            place: self.inner.place.to_string(),
            schema: SCHEMA_VERSION,
        })
    }

    async fn check(&self) -> StoreResult<()> {
        self.read(|tx| {
            let mut statement = tx.prepare("PRAGMA quick_check(1)")?;
            match statement.query_row([], |row| row.get::<_, String>(0)).translate()? {
                answer if answer == "ok" => Ok(()),
                damage => Err(StoreError::Corrupt(damage)),
            }
        })
        .await?;
        if self.inner.read_only { Ok(()) } else { self.write(Durability::Relaxed, |_| Ok(())).await }
    }

    async fn close(&self) {
        self.unregister().await;
        self.inner.writer.close().await;
    }
}
