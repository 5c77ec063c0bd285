//! Statements that a person writes.
//!
//! Each runs on a connection of its own that can write nothing, within limits of time and
//! size, and sees temporary views in the place of tables: amounts are decimal text that
//! compares as numbers do, bytes are 0x text.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `connection` | the connection, its views, and what it lets a statement do |
//! | `rewrite` | what aggregates give back is made to compare as numbers do |
//! | `number` | decimal text in order |
//! | `aggregate` | `sum` and `avg`, exact |
//! | `run` | a statement's rows, until a limit is reached |

mod aggregate;
mod connection;
mod number;
mod rewrite;
mod run;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::error::StoreError;
use windlass_core::sql::{SqlError, SqlQuery, SqlReader, SqlRows, SqlTable};

use crate::SqliteStore;
use crate::table::registry;

/// How long after its time a statement may take to notice that it is to stop.
const STOP_GRACE: Duration = Duration::from_secs(5);

#[async_trait]
impl SqlReader for SqliteStore {
    async fn run_sql(&self, query: &SqlQuery) -> Result<SqlRows, SqlError> {
        let Some(options) = self.inner.readers.options().cloned() else {
            return Err(SqlError::Refused("a database in memory has no second connection".to_owned()));
        };
        let tables = self.sql_tables().await?;
        let (query, timeout) = (query.clone(), query.timeout);
        let stop = Arc::new(AtomicBool::new(false));
        // A caller that has gone away needs no answer.
        let _stopped = StopOnDrop(stop.clone());
        let running = tokio::task::spawn_blocking(move || run::run(&options, &tables, &query, stop));
        match tokio::time::timeout(timeout.saturating_add(STOP_GRACE), running).await {
            Ok(ended) => ended.map_err(|error| StoreError::Other(error.to_string()))?,
            Err(_) => Err(SqlError::TimedOut(timeout)),
        }
    }

    async fn sql_tables(&self) -> Result<Vec<SqlTable>, SqlError> {
        let listed = self.read(registry::list_views).await?;
        Ok(listed.into_iter().map(|(info, view)| SqlTable::of(&info, view)).collect())
    }
}

/// Stops a statement whose caller has gone away.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
