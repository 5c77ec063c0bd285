//! The writing thread itself: one transaction after another.
//!
//! While another process holds the file's lock, a commit waits its turn, and the
//! claims that come in behind it are told "busy" at once instead of waiting with it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::mpsc;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::Clock;

use crate::connect::WRITE_WAIT;
use crate::error::Translate;
use crate::identity::Identity;
use crate::instance::Instances;
use crate::writer::Tx;

/// How many closures may wait for the writer before senders wait themselves.
pub(crate) const MAX_QUEUED: usize = 1_024;
/// How long the file's lock is waited for before waiting claims are looked after.
const LOCK_TRY: Duration = Duration::from_millis(20);

type Work = Box<dyn FnOnce(Option<&mut WriterThread>) + Send>;

/// Work that waits for the writer; it is run without one when it need not be waited for.
pub(crate) struct Queued {
    is_claim: bool,
    work: Work,
}

impl Queued {
    pub(crate) fn new(is_claim: bool, work: impl FnOnce(Option<&mut WriterThread>) + Send + 'static) -> Self {
        Self { is_claim, work: Box::new(work) }
    }
}

/// What a transaction needs of the disk and of other processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It survives the loss of power.
    Full,
    /// It survives the death of the process.
    Relaxed,
    /// It waits for nobody. What it hands out survives the loss of power, the
    /// handing out need not: nobody is left on a machine that was down.
    Claim,
}

/// The owner of the writing connection.
pub(crate) struct WriterThread {
    connection: Connection,
    identity: Identity,
    instances: Arc<Instances>,
    clock: Arc<dyn Clock>,
    receiver: mpsc::Receiver<Queued>,
    /// What was received while claims were looked after.
    backlog: VecDeque<Queued>,
    synced_commits: Option<bool>,
    /// Whether something may stand in the log that a loss of power would undo.
    unsynced: bool,
    /// Changes when another connection has committed.
    data_version: i64,
}

impl WriterThread {
    pub(crate) fn new(
        connection: Connection,
        clock: Arc<dyn Clock>,
        receiver: mpsc::Receiver<Queued>,
        identity: Identity,
        instances: Arc<Instances>,
    ) -> Self {
        let backlog = VecDeque::new();
        Self {
            connection,
            identity,
            instances,
            clock,
            receiver,
            backlog,
            synced_commits: None,
            unsynced: true,
            data_version: 0,
        }
    }

    /// Works until nobody can send any more.
    pub(crate) fn serve(mut self) {
        while let Some(queued) = self.backlog.pop_front().or_else(|| self.receiver.blocking_recv()) {
            (queued.work)(Some(&mut self));
        }
    }

    /// Runs a closure in a write transaction: committed if it succeeds, undone if not.
    pub(crate) fn transact<T>(
        &mut self,
        mode: Mode,
        work: impl FnOnce(&Tx<'_>) -> StoreResult<T>,
    ) -> StoreResult<T> {
        self.identity.check()?;
        let synced = self.sync_for(mode)?;
        self.lock(mode)?;
        let result = work(&Tx::new(&self.connection, self.clock.now(), &self.instances));
        match result.and_then(|result| self.control("COMMIT").map(|()| result)) {
            Ok(result) => {
                self.unsynced = !synced && (self.unsynced || mode == Mode::Relaxed);
                Ok(result)
            }
            Err(error) => {
                // Nothing to roll back is as good as rolled back.
                let _ = self.control("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Runs a closure that only reads.
    pub(crate) fn read<T>(&mut self, work: impl FnOnce(&Tx<'_>) -> StoreResult<T>) -> StoreResult<T> {
        work(&Tx::new(&self.connection, self.clock.now(), &self.instances))
    }

    /// Folds the write-ahead log into the database.
    pub(crate) fn checkpoint(&mut self) -> StoreResult<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).translate()
    }

    /// Sets whether the next commit syncs the log (`FULL`) or leaves that to
    /// checkpoints (`NORMAL`). Syncing covers everything committed before, so a
    /// claim syncs only when there is something that was not.
    fn sync_for(&mut self, mode: Mode) -> StoreResult<bool> {
        let synced = match mode {
            Mode::Full => true,
            Mode::Relaxed => false,
            Mode::Claim => self.others_committed()? || self.unsynced,
        };
        if self.synced_commits != Some(synced) {
            let level = if synced { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level).translate()?;
            self.synced_commits = Some(synced);
        }
        Ok(synced)
    }

    fn others_committed(&mut self) -> StoreResult<bool> {
        let mut statement = self.connection.prepare_cached("PRAGMA data_version").translate()?;
        let version = statement.query_row([], |row| row.get(0)).translate()?;
        Ok(std::mem::replace(&mut self.data_version, version) != version)
    }

    /// Takes the file's write lock.
    fn lock(&mut self, mode: Mode) -> StoreResult<()> {
        let begun = Instant::now();
        let once = if mode == Mode::Claim { Duration::ZERO } else { LOCK_TRY };
        self.connection.busy_timeout(once).translate()?;
        loop {
            match self.control("BEGIN IMMEDIATE") {
                Err(StoreError::Busy) if mode != Mode::Claim && begun.elapsed() < WRITE_WAIT => {
                    self.refuse_claims();
                }
                answer => return answer,
            }
        }
    }

    /// Tells the claims that have come in that the database is busy.
    fn refuse_claims(&mut self) {
        while self.backlog.len() < MAX_QUEUED
            && let Ok(queued) = self.receiver.try_recv()
        {
            if queued.is_claim {
                (queued.work)(None);
            } else {
                self.backlog.push_back(queued);
            }
        }
    }

    /// Begins or ends a transaction.
    fn control(&self, statement: &str) -> StoreResult<()> {
        self.connection.prepare_cached(statement).translate()?.execute([]).translate()?;
        Ok(())
    }
}
