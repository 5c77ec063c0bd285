//! The database is put back to a copy that is older than the chain: with accounts that have
//! signed since, with transactions that were open then, or before they were signed. Nothing
//! is paid twice, and in the end everything is paid.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::payout::desk::DeskError;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::submit::Submitted;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::clock::ManualClock;

use super::world::World;
use crate::database::Kind;

/// Databases in files, which can be copied as they stand.
struct Folder(Arc<tempfile::TempDir>);

impl Folder {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    async fn world(&self, change: impl FnOnce(&mut PayOptions)) -> World {
        let clock = Arc::new(ManualClock::new());
        let store = open(&self.path("first"), clock.clone()).await;
        World::with(store, self.0.clone(), clock, None, change)
    }

    /// Copies the database as it stands; between two steps it is whole.
    fn copy(&self) {
        for part in ["", "-wal"] {
            let from = self.path(&format!("first{part}"));
            std::fs::copy(from, self.path(&format!("copy{part}"))).expect("copied");
        }
    }

    /// The world with the copy in the database's place, once what was held then is free.
    async fn restore(&self, world: &World) -> World {
        world.clock.advance_ms(61_000);
        let store = open(&self.path("copy"), world.clock.clone()).await;
        world.on(store, self.0.clone())
    }
}

async fn open(path: &Path, clock: Arc<ManualClock>) -> Arc<dyn Store> {
    Arc::new(SqliteStore::open(SqliteOptions::file(path).with_clock(clock)).await.expect("a store"))
}

fn folder() -> Folder {
    Folder(Arc::new(tempfile::tempdir().expect("a folder")))
}

async fn approve_three(world: &World) -> Vec<PayoutId> {
    let mut ids = Vec::new();
    for number in 0..3 {
        ids.push(world.approved(&format!("invoice-{number}"), 10 + number).await);
    }
    ids
}

async fn are_confirmed(world: &World, ids: &[PayoutId]) {
    for id in ids {
        let payout = world.payout(*id).await;
        assert_eq!(payout.state, PayoutState::Confirmed, "{payout:#?}");
    }
}

/// The account is behind the chain: it is halted, and pays on once a person lets it.
async fn goes_on_once_resumed(world: &World) {
    let late = world.approved("late", 77).await;
    let mut process = world.process("three");
    world.clock.advance_ms(61_000);
    // Where its blocks are not final, the endpoints are asked twice.
    process.submitters[0].step().await.expect("stepped");
    world.clock.advance_ms(3_000);
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    assert_eq!(world.payout(late).await.state, PayoutState::Approved);
    let signer = world.chain.accounts()[1].address();
    let resumed = world.resume(signer).await.expect("resumed");
    assert_eq!(resumed.next_nonce, world.chain.nonce(signer));
    world.drive(&mut process, 60).await;
    are_confirmed(world, &[late]).await;
    world.agrees().await;
}

/// The copy knows payouts as approved, and the account's nonces from before they were signed.
#[tokio::test]
async fn a_copy_from_before_they_were_signed_finds_them_paid() {
    let folder = folder();
    let world = folder.world(|_| {}).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    let ids = approve_three(&world).await;
    folder.copy();
    world.drive(&mut process, 40).await;
    let sent = world.sent.lock().expect("whole").len();
    let restored = folder.restore(&world).await;
    let mut process = restored.process("two");
    let _ = process.submitters[0].step().await.expect("stepped");
    are_confirmed(&restored, &ids).await;
    assert_eq!(restored.sent.lock().expect("whole").len(), sent, "nothing was sent");
    goes_on_once_resumed(&restored).await;
    assert_eq!(restored.payments().await.len(), 4);
}

/// The copy knows transactions as open; since then they were offered more for, mined, and
/// more was signed.
#[tokio::test]
async fn a_copy_with_open_transactions_follows_them_to_their_end() {
    let folder = folder();
    let world = folder.world(|_| {}).await;
    let mut ids = approve_three(&world).await;
    let mut process = world.process("one");
    process.submitters[0].step().await.expect("submitted");
    folder.copy();
    world.drop_all();
    world.chain.mine_many(4);
    world.clock.advance_ms(5_000);
    process.tracker.step().await.expect("more is offered");
    world.approved("invoice-3", 40).await;
    world.drive(&mut process, 40).await;
    assert_eq!(world.payments().await.len(), 4);

    let restored = folder.restore(&world).await;
    // Whoever asked for the last one asks again: nobody here remembers.
    ids.push(restored.approved("invoice-3", 40).await);
    let mut process = restored.process("two");
    for _ in 0..8 {
        restored.round(&mut process).await;
    }
    are_confirmed(&restored, &ids).await;
    assert_eq!(restored.payments().await.len(), 4);
    goes_on_once_resumed(&restored).await;
}

/// The copy is from before they were signed, and what was signed still waits to be mined: now
/// it is signed otherwise, with the same nonce. Whichever is mined, each is paid once.
#[tokio::test]
async fn a_copy_from_before_what_still_waits_was_signed_pays_each_once() {
    for is_old_mined in [true, false] {
        let folder = folder();
        let world = folder.world(|_| {}).await;
        let mut process = world.process("one");
        assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
        let ids = approve_three(&world).await;
        folder.copy();
        process.submitters[0].step().await.expect("submitted");
        let first = world.payout(ids[0]).await.intent.expect("submitted");
        let first = world.store.attempts(first).await.expect("read")[0].hash;
        if !is_old_mined {
            assert!(world.chain.drop_transaction(first));
        }
        let mut restored = folder.restore(&world).await;
        restored.options = Arc::new(PayOptions { batch: 10, ..(*world.options).clone() });
        let mut process = restored.process("two");
        let done = process.submitters[0].step().await.expect("submitted");
        assert!(matches!(done, Submitted::Worked { transactions: 1, payouts: 3, .. }), "{done:?}");
        restored.drive(&mut process, 60).await;
        are_confirmed(&restored, &ids).await;
        assert_eq!(restored.payments().await.len(), 3);
        goes_on_once_resumed(&restored).await;
    }
}

/// Whoever is not sure asks again.
async fn ask_again(world: &World, number: u64) {
    let desk = world.desk();
    let request = world.request(&format!("invoice-{number}"), 10 + number);
    let id = desk.create(&[request], "asker").await.expect("asked")[0].payout.id;
    match desk.approve(id, "boss").await {
        Ok(_) | Err(DeskError::NotPending(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

/// A copy from any round, put in place after any while: a person lets halted accounts sign
/// again once they can, and then everything that was asked for is paid, and paid once.
#[tokio::test]
async fn a_copy_from_any_time_pays_everything_once() {
    let mut halts = 0;
    for (copied_at, later) in (0..8).flat_map(|at| [1, 3, 14].map(|later| (at, later))) {
        // Alone and together in turns.
        let batch = if (copied_at + later) % 2 == 0 { 1 } else { 2 };
        let folder = folder();
        let world = folder.world(|options| options.batch = batch).await;
        let mut process = world.process("one");
        for round in 0..copied_at + later {
            if round % 2 == 0 && round < 8 {
                ask_again(&world, round).await;
            }
            if round == copied_at {
                folder.copy();
            }
            world.round(&mut process).await;
        }
        let restored = folder.restore(&world).await;
        for number in 0..=10 {
            ask_again(&restored, number).await;
        }
        let mut process = restored.process("two");
        let signer = world.chain.accounts()[1].address();
        for _ in 0..60 {
            restored.round(&mut process).await;
            halts += u32::from(restored.resume(signer).await.is_ok());
            if restored.is_settled().await {
                break;
            }
        }
        let payouts = restored.payouts().await;
        assert!(restored.is_settled().await, "{batch}, {copied_at}, {later}: {payouts:#?}");
        assert_eq!(restored.payments().await.len(), 11, "{batch}, {copied_at}, {later}");
        restored.agrees().await;
    }
    assert!(halts > 10, "accounts were behind the chain: {halts}");
}

/// Nonces that were used elsewhere count once nothing can undo them: behind one that may be
/// free again, nothing would ever be mined.
#[tokio::test]
async fn an_account_is_resumed_behind_final_nonces_only() {
    let folder = folder();
    let world = folder.world(|_| {}).await;
    let mut process = world.process("one");
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Idle);
    let mint = super::world::mintCall { to: world.token, amount: alloy_primitives::U256::ONE };
    world.act(1, world.token, &mint);
    world.approved("invoice-1", 25).await;
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::NotYet);
    world.clock.advance_ms(3_000);
    assert_eq!(process.submitters[0].step().await.expect("stepped"), Submitted::Halted);
    let signer = world.chain.accounts()[1].address();
    assert!(world.resume(signer).await.is_err(), "its block may go");
    world.chain.mine_many(super::world::FINALITY + 1);
    world.resume(signer).await.expect("resumed");
    world.drive(&mut process, 40).await;
    world.agrees().await;
}

/// The database is an old copy: the payout was approved in it, and has been paid since.
#[tokio::test]
async fn a_database_that_is_restored_from_an_old_copy_pays_nothing_twice() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    world.approved("invoice-1", 25).await;
    world.drive(&mut world.process("one"), 40).await;
    assert_eq!(world.payments().await.len(), 1);
    // The copy knows the payout as approved, and of no transaction.
    let restored = world.restored().await;
    let id = restored.approved("invoice-1", 25).await;
    let mut process = restored.process("two");
    let _ = process.submitters[0].step().await.expect("stepped");
    let payout = restored.payout(id).await;
    assert_eq!(payout.state, PayoutState::Confirmed, "{payout:#?}");
    assert!(payout.finalized_at.is_some() && payout.intent.is_none());
    assert_eq!(restored.payments().await.len(), 1);
    restored.agrees().await;
}

/// The same without a word of the payout in the copy: its key, asked for again, is the same request.
#[tokio::test]
async fn a_payout_that_the_copy_has_forgotten_is_found_when_it_is_asked_for_again() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    world.approved("invoice-1", 25).await;
    world.drive(&mut world.process("one"), 40).await;
    let restored = world.restored().await;
    let mut process = restored.process("two");
    let _ = process.submitters[0].step().await.expect("stepped");
    let id = restored.approved("invoice-1", 25).await;
    for _ in 0..5 {
        let _ = process.submitters[0].step().await;
        restored.clock.advance_ms(20_000);
    }
    assert_eq!(restored.payout(id).await.state, PayoutState::Confirmed);
    assert_eq!(restored.payments().await.len(), 1);
    restored.agrees().await;
}

/// The copy of the database forgot the key, and somebody uses it for somebody else.
#[tokio::test]
async fn a_request_that_was_paid_otherwise_is_not_taken_for_paid() {
    let world = World::new(Kind::Sqlite, |_| {}).await;
    world.approved("invoice-1", 25).await;
    world.drive(&mut world.process("one"), 40).await;
    let restored = world.restored().await;
    let id = restored.approved("invoice-1", 26).await;
    let mut process = restored.process("two");
    for _ in 0..5 {
        let _ = process.submitters[0].step().await;
        restored.clock.advance_ms(20_000);
    }
    let payout = restored.payout(id).await;
    assert_eq!(payout.state, PayoutState::Approved);
    assert!(payout.hold.is_some());
    assert_eq!(restored.payments().await.len(), 1);
}
