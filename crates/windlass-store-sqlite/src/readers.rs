//! Connections that only read, lent out one query at a time.

use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use tokio::sync::Semaphore;
use windlass_core::error::{StoreError, StoreResult};

use crate::connect::{self, Place, SqliteOptions};
use crate::error::Translate;

/// Who answers reads.
pub(crate) enum Readers {
    /// Connections of their own; in WAL mode they block nobody.
    Pool(Pool),
    /// A database in memory has one connection only.
    ThroughWriter,
}

/// Idle reading connections, opened when first needed.
pub(crate) struct Pool {
    options: SqliteOptions,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Readers {
    pub(crate) fn new(options: &SqliteOptions) -> Self {
        match options.place {
            Place::Memory => Self::ThroughWriter,
            Place::File(_) => Self::Pool(Pool {
                options: options.clone(),
                idle: Arc::default(),
                permits: Arc::new(Semaphore::new(options.max_readers.max(1))),
            }),
        }
    }
}

impl Readers {
    /// How another connection is opened; `None` where there can be one only.
    pub(crate) fn options(&self) -> Option<&SqliteOptions> {
        match self {
            Self::Pool(pool) => Some(&pool.options),
            Self::ThroughWriter => None,
        }
    }
}

impl Pool {
    /// Runs a closure within one snapshot of the database.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let (options, idle) = (self.options.clone(), self.idle.clone());
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let taken = idle.lock().ok().and_then(|mut idle| idle.pop());
            let mut connection = match taken {
                Some(connection) => connection,
                None => connect::open_reader(&options)?,
            };
            let snapshot = connection.transaction().translate()?;
            let result = work(&snapshot);
            drop(snapshot);
            if let Ok(mut idle) = idle.lock() {
                idle.push(connection);
            }
            result
        });
        reading.await.map_err(|error| StoreError::Other(error.to_string()))?
    }
}
