//! One transaction on one connection.
//!
//! Statements are prepared once per connection. Statements whose futures are
//! polled together go out together and come back in order, so what does not
//! depend on an earlier answer costs no round trip of its own.

use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Client;
use futures_util::FutureExt;
use futures_util::future::join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::error::Outcome;

/// A value for a statement.
pub(crate) type Param<'a> = &'a (dyn ToSql + Sync);

/// How an operation is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Statements stand alone; nothing is written.
    Read,
    /// A transaction that is committed once the disk has it.
    Full,
    /// A transaction that is committed at once; the disk follows.
    Relaxed,
    /// Like `Full`, and hardly waits for locks.
    Claim,
}

impl Mode {
    /// Whether the transaction leaves a mark, because it must not be repeated blindly.
    pub(crate) const fn is_marked(self) -> bool {
        matches!(self, Self::Full | Self::Relaxed)
    }

    /// How the transaction begins. A claim waits for a row that somebody is just
    /// using long enough for a neighbour's commit, and too short to be noticed; and
    /// it is planned for its own queue and number, because one plan for all scans.
    const fn opening(self) -> &'static str {
        match self {
            Self::Read => "",
            Self::Full => "BEGIN",
            Self::Relaxed => "BEGIN; SET LOCAL synchronous_commit = off",
            Self::Claim => {
                "BEGIN; SET LOCAL lock_timeout = '50ms'; SET LOCAL plan_cache_mode = force_custom_plan"
            }
        }
    }
}

/// A connection in use, and the transaction on it. Dropped before its end, the
/// transaction is rolled back, for nobody waits for it any more.
pub(crate) struct Tx {
    client: Client,
    mode: Mode,
    ended: AtomicBool,
    /// The caller's clock; `None` lets the database say what time it is.
    pub(crate) now_ms: Option<i64>,
}

impl Tx {
    /// Takes a connection for an operation.
    pub(crate) fn new(client: Client, mode: Mode, now_ms: Option<i64>) -> Self {
        Self { client, mode, ended: AtomicBool::new(mode == Mode::Read), now_ms }
    }

    /// Begins the transaction. The first statements may be polled together with it, behind it.
    pub(crate) async fn begin(&self) -> Outcome<()> {
        if self.mode != Mode::Read {
            self.client.batch_execute(self.mode.opening()).await?;
        }
        Ok(())
    }

    /// Commits. When the connection is lost, nobody knows whether it was done.
    pub(crate) async fn commit(&self) -> Outcome<()> {
        if !self.is_ended() {
            self.client.batch_execute("COMMIT").await?;
            self.end();
        }
        Ok(())
    }

    /// Runs the last statement and commits, in one round trip. Only for what may be
    /// repeated blindly: when the connection is lost, the answer cannot be had again.
    pub(crate) async fn execute_and_commit(&self, sql: &'static str, params: &[Param<'_>]) -> Outcome<()> {
        debug_assert!(!self.mode.is_marked(), "the answer would be lost with the connection");
        let statement = self.client.prepare_cached(sql).await?;
        let last = self.client.execute(&statement, params);
        let (done, committed) = join(last, self.client.batch_execute("COMMIT")).await;
        done?;
        committed?;
        self.end();
        Ok(())
    }

    /// Passes on what was done, or rolls it back: after that no lock outlives the answer.
    pub(crate) async fn keep<T>(&self, worked: Outcome<T>) -> Outcome<T> {
        // Should the rollback fail, the connection is lost, and with it the transaction.
        if worked.is_err() && !self.is_ended() && self.client.batch_execute("ROLLBACK").await.is_ok() {
            self.end();
        }
        worked
    }

    fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Runs a statement and returns its rows.
    pub(crate) async fn query(&self, sql: &'static str, params: &[Param<'_>]) -> Outcome<Vec<Row>> {
        let statement = self.client.prepare_cached(sql).await?;
        Ok(self.client.query(&statement, params).await?)
    }

    /// Runs a statement that returns one row or none.
    pub(crate) async fn query_opt(&self, sql: &'static str, params: &[Param<'_>]) -> Outcome<Option<Row>> {
        let statement = self.client.prepare_cached(sql).await?;
        Ok(self.client.query_opt(&statement, params).await?)
    }

    /// Runs a statement that returns one row.
    pub(crate) async fn query_one(&self, sql: &'static str, params: &[Param<'_>]) -> Outcome<Row> {
        let statement = self.client.prepare_cached(sql).await?;
        Ok(self.client.query_one(&statement, params).await?)
    }

    /// Runs a statement and returns how many rows it touched.
    pub(crate) async fn execute(&self, sql: &'static str, params: &[Param<'_>]) -> Outcome<u64> {
        let statement = self.client.prepare_cached(sql).await?;
        Ok(self.client.execute(&statement, params).await?)
    }

    /// The connection, for what the above do not cover.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if !self.is_ended() {
            // One poll sends it; whoever uses the connection next is behind it.
            let _ = self.client.batch_execute("ROLLBACK").now_or_never();
        }
    }
}
