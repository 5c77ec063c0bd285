//! The writing thread itself: one transaction after another.
//!
//! Claims go before commits: a claim takes microseconds and somebody waits for it to begin
//! its work, while a commit of ten thousand rows takes milliseconds. While another process
//! holds the file's lock, a commit waits its turn, and the claims that come in behind it are
//! told "busy" at once instead of waiting with it.

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
use crate::instance::{self, Instances};
use crate::writer::Tx;

/// How many closures may wait for the writer before senders wait themselves.
pub(crate) const MAX_QUEUED: usize = 1_024;
/// How long the file's lock is waited for before waiting claims are looked after.
const LOCK_TRY: Duration = Duration::from_millis(20);
/// After so many claims in a row a commit is let through, however many claims still wait.
const MAX_CLAIMS_IN_A_ROW: u32 = 32;

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
    /// Like `Claim`, for what can be handed out again after a loss of power because nothing
    /// was done with it that is not in this database.
    RelaxedClaim,
}

impl Mode {
    pub(crate) fn is_claim(self) -> bool {
        matches!(self, Self::Claim | Self::RelaxedClaim)
    }
}

/// The owner of the writing connection.
pub(crate) struct WriterThread {
    connection: Connection,
    identity: Identity,
    instances: Arc<Instances>,
    clock: Arc<dyn Clock>,
    receiver: mpsc::Receiver<Queued>,
    /// Claims that were received and wait.
    claims: VecDeque<Queued>,
    /// Everything else that was received and waits.
    backlog: VecDeque<Queued>,
    claims_in_a_row: u32,
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
        Self {
            connection,
            identity,
            instances,
            clock,
            receiver,
            claims: VecDeque::new(),
            backlog: VecDeque::new(),
            claims_in_a_row: 0,
            synced_commits: None,
            unsynced: true,
            data_version: 0,
        }
    }

    /// Works until nobody can send any more.
    pub(crate) fn serve(mut self) {
        while let Some(queued) = self.next() {
            (queued.work)(Some(&mut self));
        }
    }

    /// What is to be done next; `None` when nobody can send any more.
    fn next(&mut self) -> Option<Queued> {
        self.receive();
        let is_claims_turn = self.claims_in_a_row < MAX_CLAIMS_IN_A_ROW || self.backlog.is_empty();
        if let Some(claim) = self.claims.pop_front_if(|_| is_claims_turn) {
            self.claims_in_a_row += 1;
            return Some(claim);
        }
        self.claims_in_a_row = 0;
        self.backlog.pop_front().or_else(|| self.receiver.blocking_recv())
    }

    /// Sorts what has come in since.
    fn receive(&mut self) {
        while self.claims.len() + self.backlog.len() < MAX_QUEUED
            && let Ok(queued) = self.receiver.try_recv()
        {
            let queue = if queued.is_claim { &mut self.claims } else { &mut self.backlog };
            queue.push_back(queued);
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
        let tx = Tx::new(&self.connection, self.clock.now(), &self.instances);
        let result = work(&tx);
        let freed = tx.freed_count();
        match result.and_then(|result| self.control("COMMIT").map(|()| result)) {
            Ok(result) => {
                self.unsynced = !synced && (self.unsynced || mode != Mode::Claim);
                instance::log_freed(freed);
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

    /// The same, if the file is still the one that was opened.
    pub(crate) fn read_of_file<T>(&mut self, work: impl FnOnce(&Tx<'_>) -> StoreResult<T>) -> StoreResult<T> {
        self.identity.check()?;
        self.read(work)
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
            Mode::Relaxed | Mode::RelaxedClaim => false,
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
        let once = if mode.is_claim() { Duration::ZERO } else { LOCK_TRY };
        self.connection.busy_timeout(once).translate()?;
        loop {
            match self.control("BEGIN IMMEDIATE") {
                Err(StoreError::Busy) if !mode.is_claim() && begun.elapsed() < WRITE_WAIT => {
                    self.refuse_claims();
                }
                answer => return answer,
            }
        }
    }

    /// Tells the claims that have come in that the database is busy.
    fn refuse_claims(&mut self) {
        self.receive();
        for claim in std::mem::take(&mut self.claims) {
            (claim.work)(None);
        }
    }

    /// Begins or ends a transaction.
    fn control(&self, statement: &str) -> StoreResult<()> {
        self.connection.prepare_cached(statement).translate()?.execute([]).translate()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use windlass_core::time::Timestamp;

    use super::*;
    use crate::connect::Place;

    struct Stopped;

    impl Clock for Stopped {
        fn now(&self) -> Timestamp {
            Timestamp::from_ms(0)
        }
    }

    /// The order in which a writer does what waits for it.
    fn order(waiting: &[(&'static str, bool)]) -> Vec<&'static str> {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        let done = Arc::new(Mutex::new(Vec::new()));
        for (name, is_claim) in waiting.iter().copied() {
            let done = done.clone();
            let note = move |_: Option<&mut WriterThread>| done.lock().expect("a list").push(name);
            sender.try_send(Queued::new(is_claim, note)).expect("room");
        }
        drop(sender);
        let connection = Connection::open_in_memory().expect("a database");
        let (identity, instances) =
            (Identity::of(&Place::Memory).expect("an identity"), Instances::beside(&Place::Memory));
        WriterThread::new(connection, Arc::new(Stopped), receiver, identity, Arc::new(instances)).serve();
        Arc::into_inner(done).expect("nobody has it any more").into_inner().expect("a list")
    }

    #[test]
    fn claims_go_before_commits_and_each_kind_in_its_order() {
        let waiting = [("commit 1", false), ("claim 1", true), ("commit 2", false), ("claim 2", true)];
        assert_eq!(order(&waiting), ["claim 1", "claim 2", "commit 1", "commit 2"]);
    }

    #[test]
    fn claims_do_not_keep_commits_waiting_for_ever() {
        let claims = vec![("claim", true); 3 * MAX_CLAIMS_IN_A_ROW as usize];
        let waiting: Vec<_> = [("commit", false), ("commit", false)].into_iter().chain(claims).collect();
        let places: Vec<usize> = (0..)
            .zip(order(&waiting))
            .filter(|(_, name)| *name == "commit")
            .map(|(place, _)| place)
            .collect();
        let row = MAX_CLAIMS_IN_A_ROW as usize;
        assert_eq!(places, [row, 2 * row + 1]);
    }
}
