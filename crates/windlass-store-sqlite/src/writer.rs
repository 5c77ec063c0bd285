//! The way to the thread that owns the writing connection.
//!
//! Whatever writes is sent there as a closure and runs in one transaction; there
//! is one writer per process, so writers of one process queue up instead of
//! fighting over the file's lock.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::{CachedStatement, Connection};
use tokio::sync::{mpsc, oneshot};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::{Clock, Timestamp};

use crate::error::Translate;
use crate::identity::Identity;
use crate::instance::Instances;
use crate::writing::{MAX_QUEUED, Mode, Queued, WriterThread};

/// A connection within a transaction, and the instant at which it runs.
pub(crate) struct Tx<'a> {
    connection: &'a Connection,
    /// The store's clock, read once for the whole transaction.
    pub(crate) now: Timestamp,
    /// Which processes are alive.
    pub(crate) instances: &'a Instances,
    /// How many leases and lanes of dead processes it has freed.
    freed: Cell<usize>,
}

impl<'a> Tx<'a> {
    pub(crate) fn new(connection: &'a Connection, now: Timestamp, instances: &'a Instances) -> Self {
        Self { connection, now, instances, freed: Cell::new(0) }
    }

    /// Leases and lanes of a dead process were freed, so many.
    pub(crate) fn freed(&self, held: usize) {
        self.freed.set(self.freed.get() + held);
    }

    /// How many leases and lanes of dead processes were freed in all.
    pub(crate) fn freed_count(&self) -> usize {
        self.freed.get()
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

/// A handle on the writing thread.
pub(crate) struct Writer {
    sender: mpsc::Sender<Queued>,
    thread: Mutex<Option<JoinHandle<()>>>,
    closed: AtomicBool,
    clock: Arc<dyn Clock>,
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
    pub(crate) fn start(
        connection: Connection,
        clock: Option<Arc<dyn Clock>>,
        identity: Identity,
        instances: Arc<Instances>,
    ) -> StoreResult<Self> {
        let clock = clock.unwrap_or_else(|| Arc::new(SystemClock));
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let state = WriterThread::new(connection, clock.clone(), receiver, identity, instances);
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".to_owned())
            .spawn(move || state.serve())
            .map_err(|error| StoreError::Other(error.to_string()))?;
        let (thread, closed) = (Mutex::new(Some(thread)), AtomicBool::new(false));
        Ok(Self { sender, thread, closed, clock })
    }

    /// The store's clock.
    pub(crate) fn now(&self) -> StoreResult<Timestamp> {
        self.check_open()?;
        Ok(self.clock.now())
    }

    /// Runs a closure in a write transaction: committed if it succeeds, undone if not.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        mode: Mode,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.send(mode.is_claim(), move |thread| thread.transact(mode, work)).await
    }

    /// Runs a claim if a look without a transaction says that there is something to claim.
    pub(crate) async fn run_claim_if<T: Default + Send + 'static>(
        &self,
        is_there: impl FnOnce(&Tx<'_>) -> StoreResult<bool> + Send + 'static,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let claim = move |thread: &mut WriterThread| match thread.read_of_file(is_there)? {
            true => thread.transact(Mode::Claim, work),
            false => Ok(T::default()),
        };
        self.send(true, claim).await
    }

    /// Runs a closure that only reads, for a database that has no other connection.
    pub(crate) async fn run_reading<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.send(false, move |thread| thread.read(work)).await
    }

    async fn send<T: Send + 'static>(
        &self,
        is_claim: bool,
        work: impl FnOnce(&mut WriterThread) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        self.check_open()?;
        let (answer, answered) = oneshot::channel();
        let queued = Queued::new(is_claim, move |thread| {
            let result = thread.map_or(Err(StoreError::Busy), work);
            // A caller that has gone away does not undo what was committed.
            let _ = answer.send(result);
        });
        self.sender.send(queued).await.map_err(|_| StoreError::Closed)?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    fn check_open(&self) -> StoreResult<()> {
        if self.closed.load(Ordering::Acquire) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Finishes what is queued, folds the write-ahead log in, and refuses more.
    pub(crate) async fn close(&self) {
        let last = self.send(false, WriterThread::checkpoint);
        // A checkpoint that fails leaves the log for the next opening, which loses nothing.
        let _ = last.await;
        self.closed.store(true, Ordering::Release);
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
