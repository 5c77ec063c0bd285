//! An intruder who acts between the moment a row is verified and its commit, or right after it.
//!
//! They see every commit coming, can put back rows and remove the newest entries of the audit log,
//! and win every race.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use tokio::sync::Mutex;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::AuditFault;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::ledger::{ForgeryKind, PayWrite};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::Payouts;
use windlass_core::store::Store;
use windlass_engine::pay::head_file::HeadFile;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::ledger_check::LedgerCheck;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::hooked::{HookedStore, StoreHook};

use super::world::{AUDIT_KEY, Process, World};
use crate::database::{Database, Intruder, Kind};

/// What happens while a transaction is signed, before its commit reaches the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    /// A payout is rejected, and its rows are put back.
    Rejected(PayoutId),
    /// The same, and the entries of the rejection are removed before it was acknowledged.
    RejectedAndCut(PayoutId),
    /// The account is halted, and its row is put back.
    Halted,
}

/// Acts once, at the first commit of a signature; or right after a commit.
struct Race {
    /// The database without this hook.
    world: Arc<World>,
    intruder: Arc<Intruder>,
    meanwhile: Mutex<Option<Meanwhile>>,
    /// Whether everything is put back right after the next commit.
    undoes_next: AtomicBool,
    /// How a rejection that was under way has ended.
    rejected: Mutex<Option<tokio::task::JoinHandle<Result<(), DeskError>>>>,
}

const TABLES: [&str; 6] = ["payout", "budget", "signer", "audit", "audit_head", "api_key"];

impl Race {
    fn tables(&self) -> impl Iterator<Item = &'static str> {
        let has_head = matches!(*self.intruder, Intruder::Postgres(_));
        TABLES.into_iter().filter(move |table| has_head || *table != "audit_head")
    }

    async fn copy(&self) {
        for table in self.tables() {
            let copy = format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}");
            self.intruder.run(&[format!("DROP TABLE IF EXISTS kept_{table}"), copy]).await;
        }
    }

    async fn put_back(&self, keeps_log: bool) {
        for table in self.tables().filter(|table| !(keeps_log && table.starts_with("audit"))) {
            let back = format!("INSERT INTO {table} SELECT * FROM kept_{table}");
            self.intruder.run(&[format!("DELETE FROM {table}"), back]).await;
        }
    }

    async fn act(&self, meanwhile: Meanwhile) {
        self.copy().await;
        match meanwhile {
            Meanwhile::Rejected(id) => {
                self.world.desk().reject(id, "boss", "stolen invoice").await.expect("rejected");
                self.put_back(true).await;
            }
            Meanwhile::RejectedAndCut(id) => {
                let end = self.world.store.audit_head().await.expect("read");
                let desk = self.world.desk();
                let reject = async move { desk.reject(id, "boss", "stolen invoice").await.map(drop) };
                *self.rejected.lock().await = Some(tokio::spawn(reject));
                while self.world.store.audit_head().await.expect("read") == end {
                    tokio::task::yield_now().await;
                }
                self.put_back(false).await;
            }
            Meanwhile::Halted => {
                let ledger = Ledger::new(self.world.store.clone(), AUDIT_KEY);
                let account = self.world.chain.accounts()[1].address();
                let row = ledger.signer(self.world.vault.chain, account).await.expect("read").expect("there");
                let now = self.world.store.now().await.expect("now");
                let halted = PayWrite::Signer(row.halted(Some("looked at".to_owned()), now));
                ledger.commit(Commit::of(vec![Write::Pay(halted)])).await.expect("halted");
                self.put_back(true).await;
            }
        }
    }
}

#[async_trait]
impl StoreHook for Race {
    async fn before(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn after(&self, call: &'static str) -> StoreResult<()> {
        if call == "commit" && self.undoes_next.swap(false, Ordering::SeqCst) {
            self.put_back(false).await;
        }
        Ok(())
    }

    async fn committing(&self, commit: Commit) -> StoreResult<Commit> {
        let is_signed = |write: &Write| matches!(write, Write::Pay(PayWrite::Attempts(_)));
        if commit.writes.iter().any(is_signed)
            && let Some(meanwhile) = self.meanwhile.lock().await.take()
        {
            self.act(meanwhile).await;
        }
        Ok(commit)
    }
}

/// A world whose process is watched.
struct Case {
    world: Arc<World>,
    race: Arc<Race>,
    /// The same world through the hook.
    hooked: World,
    process: Process,
    _folder: tempfile::TempDir,
}

impl Case {
    /// Without a file that keeps the log's end, rows are all that there is.
    async fn without_file(kind: Kind) -> Self {
        Self::with(kind, false).await
    }

    async fn new(kind: Kind) -> Self {
        Self::with(kind, true).await
    }

    async fn with(kind: Kind, has_file: bool) -> Self {
        let clock = Arc::new(ManualClock::new());
        let (database, store, intruder) = Database::open_to_all(kind, clock.clone()).await;
        let mut world = World::with(store, database, clock, None, |_| {});
        world.is_overseen = false;
        let folder = tempfile::tempdir().expect("a folder");
        world.head_file = has_file.then(|| HeadFile::new(folder.path().join("head")));
        let world = Arc::new(world);
        let race = Arc::new(Race {
            world: world.clone(),
            intruder: Arc::new(intruder),
            meanwhile: Mutex::default(),
            undoes_next: AtomicBool::new(false),
            rejected: Mutex::default(),
        });
        let hooked: Arc<dyn Store> = Arc::new(HookedStore::new(world.store.clone(), race.clone()));
        let hooked = world.on(hooked, ());
        let process = hooked.process("one");
        Self { world, race, hooked, process, _folder: folder }
    }

    async fn rounds(&mut self, rounds: usize) {
        for _ in 0..rounds {
            self.hooked.round(&mut self.process).await;
        }
    }

    async fn paid(&self) -> usize {
        self.world.payments().await.len()
    }

    /// Puts a payout's job back into the queue.
    async fn enqueue(&self, id: PayoutId) {
        use windlass_core::job::NewJob;
        use windlass_engine::pay::names::PayNames;
        let names = PayNames::new(self.world.vault).expect("names");
        let job = NewJob::new(names.submit, PayNames::payout_lane(id).expect("a lane"), "{}");
        self.world.store.enqueue_jobs(vec![job]).await.expect("enqueued");
    }
}

macro_rules! on_both_stores {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Kind::Sqlite).await;
            })*
        }
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                super::$name(super::Kind::Postgres).await;
            })*
        }
    };
}

on_both_stores!(
    a_payout_that_is_rejected_while_it_is_signed_is_not_paid,
    an_account_that_is_halted_while_it_signs_does_not_sign,
    a_rejection_that_is_cut_off_before_the_next_step_stops_everything,
    a_rejection_that_is_cut_off_while_another_signs_is_not_acknowledged,
    what_is_taken_away_right_after_its_commit_is_not_acknowledged,
);

async fn a_payout_that_is_rejected_while_it_is_signed_is_not_paid(kind: Kind) {
    let mut case = Case::without_file(kind).await;
    let id = case.world.approved("invoice-1", 5).await;
    *case.race.meanwhile.lock().await = Some(Meanwhile::Rejected(id));
    case.rounds(10).await;
    assert!(case.race.meanwhile.lock().await.is_none(), "somebody was at work");
    assert_eq!(case.paid().await, 0);
    case.enqueue(id).await;
    case.rounds(5).await;
    assert_eq!(case.paid().await, 0);
    LedgerCheck::new(case.process.ledger.clone()).step().await.expect("compared");
    let refused = case.process.ledger.forgeries();
    assert!(
        refused.iter().any(|forgery| forgery.row.table() == "payout" && forgery.kind == ForgeryKind::Unnamed)
    );
}

async fn an_account_that_is_halted_while_it_signs_does_not_sign(kind: Kind) {
    let mut case = Case::new(kind).await;
    // The account's row is there once it has signed.
    case.world.approved("invoice-1", 5).await;
    case.rounds(20).await;
    assert_eq!(case.paid().await, 1);
    case.world.approved("invoice-2", 5).await;
    *case.race.meanwhile.lock().await = Some(Meanwhile::Halted);
    case.rounds(10).await;
    assert!(case.race.meanwhile.lock().await.is_none(), "somebody was at work");
    assert_eq!(case.paid().await, 1);
    let refused = case.process.ledger.forgeries();
    assert!(refused.iter().any(|forgery| forgery.row.table() == "signer"), "{refused:?}");
}

async fn a_rejection_that_is_cut_off_before_the_next_step_stops_everything(kind: Kind) {
    let mut case = Case::new(kind).await;
    let id = case.world.approved("invoice-1", 5).await;
    // A process that has followed the log to here, and reads nothing until the entries are gone.
    case.process.ledger.check_log().await.expect("whole");
    case.race.copy().await;
    case.world.desk().reject(id, "boss", "stolen invoice").await.expect("rejected");
    case.race.put_back(false).await;
    case.rounds(5).await;
    assert_eq!(case.paid().await, 0);
    assert!(matches!(case.process.ledger.fault(), Some(AuditFault::Cut(_))));
    let kept = case.world.head_file.as_ref().expect("a file").read().expect("read").expect("written");
    let end = case.world.store.audit_head().await.expect("read");
    assert!(kept.seq > end.seq, "the file still names what was cut off");
}

async fn a_rejection_that_is_cut_off_while_another_signs_is_not_acknowledged(kind: Kind) {
    let mut case = Case::new(kind).await;
    let id = case.world.approved("invoice-1", 5).await;
    *case.race.meanwhile.lock().await = Some(Meanwhile::RejectedAndCut(id));
    case.rounds(3).await;
    let rejected = case.race.rejected.lock().await.take().expect("under way");
    let error = rejected.await.expect("no panic").expect_err("it is not in the log");
    assert!(matches!(error, DeskError::Store(StoreError::AuditBroken(_))), "{error}");
}

async fn what_is_taken_away_right_after_its_commit_is_not_acknowledged(kind: Kind) {
    let case = Case::new(kind).await;
    let id = case.world.approved("invoice-1", 5).await;
    case.race.copy().await;
    case.race.undoes_next.store(true, Ordering::SeqCst);
    let error =
        case.hooked.desk().reject(id, "boss", "stolen invoice").await.expect_err("it is not in the log");
    assert!(matches!(error, DeskError::Store(StoreError::AuditBroken(_))), "{error}");
    assert_eq!(case.world.payout(id).await.state, PayoutState::Approved, "it was put back");
}
