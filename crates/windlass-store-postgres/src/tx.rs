//! One transaction on one connection.
//!
//! Statements are prepared once per connection, and kept: their text says nothing
//! that varies but a typed table and its columns. Statements whose futures are
//! polled together go out together and come back in order, so what does not
//! depend on an earlier answer costs no round trip of its own.
//!
//! Invariants: a statement that changes anything goes out only after BEGIN was
//! acknowledged (behind a BEGIN that failed it would stand on its own); a
//! connection that did not answer in time is never used again.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use deadpool_postgres::{Client, Object};
use futures_util::FutureExt;
use futures_util::future::join;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use crate::connect::ANSWER_TIMEOUT;
use crate::error::{Fault, Outcome};
use crate::mark::Mark;

/// A value for a statement.
pub(crate) type Param<'a> = &'a (dyn ToSql + Sync);

/// A transaction that reads much of a table is planned for its values, with whatever reads
/// fastest; groups are counted in memory before they are sorted on disk.
const SCAN: &str = "BEGIN READ ONLY; SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on; \
                    SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL work_mem = '32MB'; \
                    SET LOCAL max_parallel_workers_per_gather = DEFAULT";

/// How an operation is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Statements stand alone; nothing is written.
    Read,
    /// A transaction that reads much of a table, and is planned for that.
    Scan,
    /// One statement, which is a transaction by itself.
    Alone,
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
    /// using long enough for a neighbour's commit, and too short to be noticed.
    const fn opening(self) -> &'static str {
        match self {
            Self::Read | Self::Alone => "",
            Self::Scan => SCAN,
            Self::Full => "BEGIN",
            Self::Relaxed => "BEGIN; SET LOCAL synchronous_commit = off",
            Self::Claim => "BEGIN; SET LOCAL lock_timeout = '50ms'",
        }
    }
}

/// A connection in use, and the transaction on it, which begins with its first
/// statement. Dropped before its end, the transaction is rolled back, for nobody
/// waits for it any more.
pub(crate) struct Tx {
    /// `None` once dropped.
    client: Option<Client>,
    mode: Mode,
    mark: Option<Mark>,
    begun: AtomicBool,
    ended: AtomicBool,
    lost: AtomicBool,
    /// The caller's clock; `None` lets the database say what time it is.
    pub(crate) now_ms: Option<i64>,
    /// The instance that takes leases and lanes; `None` if nobody could tell that it died.
    pub(crate) instance: Option<i64>,
}

impl Tx {
    /// Takes a connection for an operation, with a mark if its mode wants one.
    pub(crate) fn new(
        client: Client,
        mode: Mode,
        mark: Option<Mark>,
        now_ms: Option<i64>,
        instance: Option<i64>,
    ) -> Self {
        let stands_alone = matches!(mode, Mode::Read | Mode::Alone);
        Self {
            client: Some(client),
            mode,
            mark,
            begun: AtomicBool::new(stands_alone),
            ended: AtomicBool::new(stands_alone),
            lost: AtomicBool::new(false),
            now_ms,
            instance,
        }
    }

    /// Commits. When the connection is lost, nobody knows whether it was done.
    pub(crate) async fn commit(&self) -> Outcome<()> {
        if !self.is_over() {
            self.answer(self.client().batch_execute("COMMIT")).await?;
            self.end();
        }
        Ok(())
    }

    /// Runs the last statement and commits, in one round trip. Only for what may be
    /// repeated blindly: when the connection is lost, the answer cannot be had again.
    pub(crate) async fn execute_and_commit(&self, sql: &'static str, params: &[Param<'_>]) -> Outcome<()> {
        debug_assert!(!self.mode.is_marked(), "the answer would be lost with the connection");
        self.require_begun().await?;
        let statement = self.answer(self.client().prepare_cached(sql)).await?;
        let last = self.answer(self.client().execute(&statement, params));
        let (done, committed) = join(last, self.answer(self.client().batch_execute("COMMIT"))).await;
        done?;
        committed?;
        self.end();
        Ok(())
    }

    /// Passes on what was done, or rolls it back: after that no lock outlives the answer.
    pub(crate) async fn keep<T>(&self, worked: Outcome<T>) -> Outcome<T> {
        // Should the rollback fail, the connection is lost, and with it the transaction.
        let is_open = !self.is_over() && !self.lost.load(Ordering::Relaxed);
        if worked.is_err() && is_open && self.answer(self.client().batch_execute("ROLLBACK")).await.is_ok() {
            self.end();
        }
        worked
    }

    /// Whether no transaction is open: its end was acknowledged, or it never began.
    pub(crate) fn is_over(&self) -> bool {
        self.ended.load(Ordering::Relaxed) || !self.begun.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Runs a statement that changes nothing, though it may lock, and returns its rows. As the first of a
    /// transaction it goes out together with BEGIN.
    pub(crate) async fn look(&self, sql: &'static str, params: &[Param<'_>]) -> Outcome<Vec<Row>> {
        if self.begun.load(Ordering::Relaxed) {
            return self.query(sql, params).await;
        }
        let statement = self.answer(self.client().prepare_cached(sql)).await?;
        let looked = self.answer(self.client().query(&statement, params));
        let (begun, looked) = join(self.require_begun(), looked).await;
        begun?;
        looked
    }

    /// Runs a statement and returns its rows.
    pub(crate) async fn query(&self, sql: &str, params: &[Param<'_>]) -> Outcome<Vec<Row>> {
        self.require_begun().await?;
        let statement = self.answer(self.client().prepare_cached(sql)).await?;
        self.answer(self.client().query(&statement, params)).await
    }

    /// Runs a statement that may never come again: planned for these values, and not kept.
    pub(crate) async fn query_once(&self, sql: &str, params: &[(Param<'_>, Type)]) -> Outcome<Vec<Row>> {
        self.require_begun().await?;
        self.answer(self.client().query_typed(sql, params)).await
    }

    /// Prepares a statement, so that it is sent at once when it is run.
    pub(crate) async fn prepare(&self, sql: &str) -> Outcome<()> {
        self.answer(self.client().prepare_cached(sql)).await.map(drop)
    }

    /// Runs a statement that returns one row or none.
    pub(crate) async fn query_opt(&self, sql: &str, params: &[Param<'_>]) -> Outcome<Option<Row>> {
        self.require_begun().await?;
        let statement = self.answer(self.client().prepare_cached(sql)).await?;
        self.answer(self.client().query_opt(&statement, params)).await
    }

    /// Runs a statement that returns one row.
    pub(crate) async fn query_one(&self, sql: &str, params: &[Param<'_>]) -> Outcome<Row> {
        self.require_begun().await?;
        let statement = self.answer(self.client().prepare_cached(sql)).await?;
        self.answer(self.client().query_one(&statement, params)).await
    }

    /// Runs a statement and returns how many rows it touched.
    pub(crate) async fn execute(&self, sql: &str, params: &[Param<'_>]) -> Outcome<u64> {
        self.require_begun().await?;
        let statement = self.answer(self.client().prepare_cached(sql)).await?;
        self.answer(self.client().execute(&statement, params)).await
    }

    /// Runs a statement that takes no values and returns nothing.
    pub(crate) async fn batch(&self, sql: &str) -> Outcome<()> {
        self.require_begun().await?;
        self.answer(self.client().batch_execute(sql)).await
    }

    /// The connection, for what the above do not cover; to be used within [`Tx::answer`].
    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().expect("it is taken only when this is dropped")
    }

    /// Waits for an answer, but not for ever: a connection that stays silent is lost.
    pub(crate) async fn answer<T, E: Into<Fault>>(
        &self,
        asked: impl Future<Output = Result<T, E>>,
    ) -> Outcome<T> {
        let answer = in_time(ANSWER_TIMEOUT, asked).await;
        if answer.as_ref().is_err_and(Fault::is_lost) {
            self.lost.store(true, Ordering::Relaxed);
        }
        answer
    }

    /// Begins the transaction, unless it has begun: before statements that go out together.
    pub(crate) async fn begin(&self) -> Outcome<()> {
        self.require_begun().await
    }

    /// Begins the transaction, unless it has begun, and writes its mark.
    async fn require_begun(&self) -> Outcome<()> {
        if self.begun.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let opened = self.answer(self.client().batch_execute(self.mode.opening()));
        let Some(mark) = &self.mark else { return opened.await };
        // A mark that stands on its own does no harm, so it need not wait.
        let (opened, written) = join(opened, self.answer(mark.write(self.client()))).await;
        opened?;
        if written? { Ok(()) } else { Err(Fault::MarkForgotten) }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        if self.lost.load(Ordering::Relaxed) {
            drop(Object::take(client));
        } else if !self.is_over() {
            // One poll sends it; whoever uses the connection next is behind it.
            let _ = client.batch_execute("ROLLBACK").now_or_never();
        }
    }
}

/// An answer, or the fault of a connection that stayed silent for too long.
pub(crate) async fn in_time<T, E: Into<Fault>>(
    limit: Duration,
    asked: impl Future<Output = Result<T, E>>,
) -> Outcome<T> {
    match tokio::time::timeout(limit, asked).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(Fault::Silent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn silence_counts_as_a_lost_connection() {
        let silence = std::future::pending::<Result<(), Fault>>();
        let fault = in_time(Duration::ZERO, silence).await.expect_err("no answer");
        assert!(matches!(fault, Fault::Silent) && fault.is_lost() && fault.is_passing());
    }
}
