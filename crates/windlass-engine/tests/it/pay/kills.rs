//! The process is killed at every point where something was, or is about to be, written,
//! signed or sent; another one takes over. The points are numbered by wrappers around the
//! ports, so a new one cannot be forgotten.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::Notify;
use windlass_core::error::StoreResult;
use windlass_core::payout::state::PayoutState;
use windlass_core::reader::ChainError;
use windlass_testkit::hooked::{HookedStore, StoreHook};

use super::direct::ChainHook;
use super::world::World;
use crate::database::Kind;

/// More points than any run has.
const MAX_POINTS: usize = 2_000;
/// How many rounds a run may take until everything is settled.
const MAX_ROUNDS: usize = 60;

/// Kills at a point: the call there is never made, or its answer never heard.
struct Tripwire {
    kill_at: usize,
    passed: AtomicUsize,
    killed: Notify,
    names: Mutex<BTreeSet<&'static str>>,
}

impl Tripwire {
    fn new(kill_at: usize) -> Arc<Self> {
        let (passed, killed) = (AtomicUsize::new(0), Notify::new());
        Arc::new(Self { kill_at, passed, killed, names: Mutex::default() })
    }

    async fn pass(&self, point: &'static str) {
        self.names.lock().expect("whole").insert(point);
        if self.passed.fetch_add(1, Ordering::SeqCst) + 1 == self.kill_at {
            self.killed.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

#[async_trait]
impl StoreHook for Tripwire {
    async fn before(&self, call: &'static str) -> StoreResult<()> {
        self.pass(call).await;
        Ok(())
    }

    async fn after(&self, call: &'static str) -> StoreResult<()> {
        self.pass(call).await;
        Ok(())
    }
}

#[async_trait]
impl ChainHook for Tripwire {
    async fn before(&self, call: &'static str) -> Result<(), ChainError> {
        if matches!(call, "send" | "sign") {
            self.pass(call).await;
        }
        Ok(())
    }

    async fn after(&self, call: &'static str) -> Result<(), ChainError> {
        if matches!(call, "send" | "sign") {
            self.pass(call).await;
        }
        Ok(())
    }
}

/// Runs until it is killed or everything is settled; whether it was killed.
async fn run(world: &World, tripwire: &Arc<Tripwire>) -> bool {
    let store = Arc::new(HookedStore::new(world.store.clone(), tripwire.clone()));
    let mut process = world.process_of("first", store, tripwire.clone(), 1);
    tokio::select! {
        biased;
        () = tripwire.killed.notified() => true,
        () = world.drive(&mut process, MAX_ROUNDS) => false,
    }
}

async fn killed_at(kind: Kind, point: usize, batch: usize) -> Option<BTreeSet<&'static str>> {
    let world = World::new(kind, |options| options.batch = batch).await;
    for number in 0..3 {
        world.approved(&format!("invoice-{number}"), 10 + number).await;
    }
    let tripwire = Tripwire::new(point);
    if !run(&world, &tripwire).await {
        return None;
    }
    // Whoever comes next waits until what the dead one held is free.
    world.clock.advance_ms(61_000);
    let mut second = world.process("second");
    world.drive(&mut second, MAX_ROUNDS).await;
    world.agrees().await;
    let payouts = world.payouts().await;
    assert!(
        payouts.iter().all(|payout| payout.state == PayoutState::Confirmed),
        "point {point}: {payouts:#?}"
    );
    let names = tripwire.names.lock().expect("whole").clone();
    Some(names)
}

async fn at_every_point(kind: Kind, batch: usize, stride: usize) {
    let mut names = BTreeSet::new();
    let mut points = 0;
    for point in (1..MAX_POINTS).step_by(stride) {
        match killed_at(kind, point, batch).await {
            Some(met) => names.extend(met),
            None => break,
        }
        points += 1;
    }
    println!("{points} points of {names:?}");
    assert!(points > 10 && points < MAX_POINTS - 1, "{points}");
    for name in ["commit", "claim_jobs", "acquire_lease", "send", "sign"] {
        assert!(names.contains(name), "{name} was never met");
    }
}

#[tokio::test]
async fn killed_at_every_point_each_payout_is_paid_once() {
    at_every_point(Kind::Sqlite, 1, 1).await;
}

#[tokio::test]
async fn killed_at_every_point_of_a_batch_each_payout_is_paid_once() {
    at_every_point(Kind::Sqlite, 2, 1).await;
}

/// A sample: every point is the same call to another store.
#[tokio::test]
async fn killed_on_postgres_each_payout_is_paid_once() {
    at_every_point(Kind::Postgres, 2, 5).await;
}
