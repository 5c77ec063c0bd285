//! What a store brings so that the suite can run against it.

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::sql::SqlReader;
use windlass_core::sql::lexer::Dialect;
use windlass_core::store::Store;

use crate::clock::ManualClock;

/// A database that lives in one handle, such as one in memory.
pub struct OneHandle {
    /// The handle.
    pub store: Arc<dyn Store>,
    /// Its clock.
    pub clock: Arc<ManualClock>,
}

#[async_trait]
impl Harness for OneHandle {
    async fn open(&self) -> Arc<dyn Store> {
        self.store.clone()
    }

    fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }

    fn durable(&self) -> bool {
        false
    }
}

/// One fresh database, and the clock that its handles read.
#[async_trait]
pub trait Harness: Send + Sync {
    /// Opens another handle on the same database, as another process would.
    /// A database that lives in one handle only gives that handle again.
    async fn open(&self) -> Arc<dyn Store>;

    /// Opens another handle that proves to others that it is alive, if the store can.
    async fn open_proving(&self) -> Arc<dyn Store> {
        self.open().await
    }

    /// The clock of every handle.
    fn clock(&self) -> Arc<ManualClock>;

    /// Whether the database outlives its last handle.
    fn durable(&self) -> bool {
        true
    }

    /// A restart: closes a handle and opens a new one. What cannot outlive its
    /// handle is kept open.
    async fn restart(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        if !self.durable() {
            return store;
        }
        store.close().await;
        drop(store);
        self.open().await
    }

    /// A crash: drops a handle without a word and opens a new one.
    async fn crash(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        drop(store);
        self.open().await
    }
}

/// A database that answers statements which a person writes.
#[async_trait]
pub trait SqlHarness: Harness {
    /// Opens a handle to ask it, on the same database.
    async fn open_sql(&self) -> Arc<dyn SqlReader>;

    /// Whose SQL it speaks.
    fn dialect(&self) -> Dialect;

    /// Runs a statement as another program would, which may write.
    async fn execute(&self, sql: &str);

    /// The one number that a statement of another program returns.
    async fn number(&self, sql: &str) -> i64;
}
