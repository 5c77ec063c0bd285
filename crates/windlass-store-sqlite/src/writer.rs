//! The thread that owns the writing connection.
//!
//! Whatever writes is sent here as a closure and runs in one transaction; there
//! is one writer per process, so writers of one process queue up instead of
//! fighting over the file's lock.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{CachedStatement, Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};
use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::{Clock, Timestamp};

use crate::error::Translate;

/// How many closures may wait for the writer before senders wait themselves.
const MAX_QUEUED: usize = 1_024;

type Work = Box<dyn FnOnce(&mut WriterThread) + Send>;

/// A connection within a transaction, and the instant at which it runs.
pub(crate) struct Tx<'a> {
    connection: &'a Connection,
    /// The store's clock, read once for the whole transaction.
    pub(crate) now: Timestamp,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(connection: &'a Connection, now: Timestamp) -> Self {
        Self { connection, now }
    }

    /// A statement, compiled once per connection.
    pub(crate) fn prepare(&self, sql: &str) -> StoreResult<CachedStatement<'_>> {
        self.connection.prepare_cached(sql).translate()
    }

    /// Runs a statement; says how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl rusqlite::Params) -> StoreResult<usize> {
        self.prepare(sql)?.execute(params).translate()
    }
}

/// The way to the writing thread.
pub(crate) struct Writer {
    sender: mpsc::Sender<Work>,
    thread: std::sync::Mutex<Option<JoinHandle<()>>>,
    closed: std::sync::atomic::AtomicBool,
    clock: Arc<dyn Clock>,
}

struct WriterThread {
    connection: Connection,
    clock: Arc<dyn Clock>,
    durability: Option<Durability>,
}

struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_ms(windlass_core::time::duration_ms(since))
    }
}

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(connection: Connection, clock: Option<Arc<dyn Clock>>) -> StoreResult<Self> {
        let clock = clock.unwrap_or_else(|| Arc::new(SystemClock));
        let (sender, mut receiver) = mpsc::channel::<Work>(MAX_QUEUED);
        let mut state = WriterThread { connection, clock: clock.clone(), durability: None };
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || {
                while let Some(work) = receiver.blocking_recv() {
                    work(&mut state);
                }
            })
            .map_err(|error| StoreError::Other(error.to_string()))?;
        let thread = std::sync::Mutex::new(Some(thread));
        Ok(Self { sender, thread, closed: std::sync::atomic::AtomicBool::new(false), clock })
    }

    /// The store's clock.
    pub(crate) fn now(&self) -> StoreResult<Timestamp> {
        self.check_open()?;
        Ok(self.clock.now())
    }

    /// Runs a closure in a write transaction: committed if it succeeds, undone if not.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        wait: Duration,
        durability: Durability,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.send(move |thread| thread.transact(wait, durability, work)).await
    }

    /// Runs a closure that only reads, for a database that has no other connection.
    pub(crate) async fn run_reading<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.send(move |thread| work(&Tx::new(&thread.connection, thread.clock.now()))).await
    }

    async fn send<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WriterThread) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.check_open()?;
        let (answer, answered) = oneshot::channel();
        let work: Work = Box::new(move |thread| {
            // A caller that has gone away does not undo what was committed.
            let _ = answer.send(work(thread));
        });
        self.sender.send(work).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    fn check_open(&self) -> StoreResult<()> {
        if self.closed.load(std::sync::atomic::Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Finishes what is queued, folds the write-ahead log in, and refuses more.
    pub(crate) async fn close(&self) {
        let last = self.send(|thread| thread.checkpoint());
        // A checkpoint that fails leaves the log for the next opening, which loses nothing.
        let _ = last.await;
        self.closed.store(true, std::sync::atomic::Ordering::Release);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Replacing the sender closes the channel; the thread drains it and ends.
        let (nobody, _) = mpsc::channel(1);
        self.sender = nobody;
        if let Ok(mut thread) = self.thread.lock()
            && let Some(thread) = thread.take()
        {
            // A panic there has been reported by the closure's caller as a closed store.
            let _ = thread.join();
        }
    }
}

impl WriterThread {
    fn transact<T>(
        &mut self,
        wait: Duration,
        durability: Durability,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T>,
    ) -> StoreResult<T> {
        self.set_durability(durability)?;
        self.connection.busy_timeout(wait).translate()?;
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).translate()?;
        let result = work(&Tx::new(&transaction, self.clock.now()))?;
        transaction.commit().translate()?;
        Ok(result)
    }

    /// `FULL` syncs the log at each commit, `NORMAL` only at checkpoints.
    fn set_durability(&mut self, durability: Durability) -> StoreResult<()> {
        if self.durability != Some(durability) {
            let level = match durability {
                Durability::Full => "FULL",
                Durability::Relaxed => "NORMAL",
            };
            self.connection.pragma_update(None, "synchronous", level).translate()?;
            self.durability = Some(durability);
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> StoreResult<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).translate()
    }
}
