//! The process is killed at every point where something was, or is about to be, written,
//! signed or sent; another one takes over. The points are numbered by wrappers around the
//! ports, so a new one cannot be forgotten. In the story that is played, payouts are asked
//! for, approved and rejected, a transaction is lost and offered more for, and a confirmed
//! payment goes with its block.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::Notify;
use windlass_core::error::StoreResult;
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::state::PayoutState;
use windlass_core::reader::ChainError;
use windlass_devnet::chain::ReorgOptions;
use windlass_engine::pay::desk::Desk;
use windlass_testkit::hooked::{HookedStore, StoreHook};

use super::direct::ChainHook;
use super::planted::Plant;
use super::world::{Process, World};
use crate::database::Kind;

/// More points than any run has.
const MAX_POINTS: usize = 5_000;
/// How many rounds a run may take until everything is settled.
const MAX_ROUNDS: usize = 80;
/// How often people ask until they are heard.
const MAX_ASKED: usize = 20;
/// How many payouts are to be made.
const PAYOUTS: u64 = 3;

/// What is played.
#[derive(Debug, Clone, Copy)]
pub(super) struct Story {
    /// Whether the chain's own coin is paid, and not a token.
    pub(super) is_of_coin: bool,
    pub(super) batch: usize,
    pub(super) plant: Plant,
}

/// What happens to the chain, once each, whoever lives.
#[derive(Default)]
struct Happened {
    is_lost: AtomicBool,
    is_reorganised: AtomicBool,
}

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

/// What people want; whoever got no answer asks again.
async fn commands(world: &World, desk: &Desk) -> Result<(), DeskError> {
    let mut asked: Vec<_> =
        (0..PAYOUTS).map(|number| world.request(&format!("invoice-{number}"), 10 + number)).collect();
    asked.push(world.request("unwanted", 99));
    let created = desk.create(&asked, "asker").await?;
    for created in &created[..created.len() - 1] {
        desk.approve(created.payout.id, "boss").await?;
    }
    desk.reject(created[created.len() - 1].payout.id, "boss", "no").await?;
    Ok(())
}

/// Whoever is refused by the database asks again, too.
async fn command(world: &World, desk: &Desk) {
    for _ in 0..MAX_ASKED {
        match commands(world, desk).await {
            Err(DeskError::Store(_)) => {}
            done => return done.expect("nothing is wrong with what is asked for"),
        }
    }
    panic!("the database never took what was asked for");
}

/// Steps until everything is settled; what is to happen to the chain happens in between.
async fn drive(world: &World, process: &mut Process, happened: &Happened) {
    for _ in 0..MAX_ROUNDS {
        world.steps(process).await;
        let payouts = world.payouts().await;
        let is_any = |state| payouts.iter().any(|payout| payout.state == state);
        let once = |done: &AtomicBool| !done.swap(true, Ordering::SeqCst);
        if is_any(PayoutState::Submitted) && world.chain.pool_len() > 0 && once(&happened.is_lost) {
            world.drop_all();
            world.chain.mine_many(world.options.bump_after_blocks + 1);
        }
        if is_any(PayoutState::Confirmed) && once(&happened.is_reorganised) {
            let reorg = ReorgOptions { return_to_pool: false, fill: false, ..ReorgOptions::default() };
            world.chain.reorg(4, &reorg).expect("a reorg");
        }
        world.pass_time();
        if world.is_settled().await {
            return;
        }
    }
    panic!("not settled after {MAX_ROUNDS} rounds: {:#?}", world.payouts().await);
}

/// Runs until it is killed or everything is settled; whether it was killed.
async fn run(world: &World, tripwire: &Arc<Tripwire>, happened: &Happened, plant: Plant) -> bool {
    let store = Arc::new(HookedStore::new(plant.into_store(world), tripwire.clone()));
    let mut process = world.process_of("first", store.clone(), tripwire.clone(), 1);
    let desk = world.desk_of(store);
    let life = async {
        command(world, &desk).await;
        drive(world, &mut process, happened).await;
    };
    tokio::select! {
        biased;
        () = tripwire.killed.notified() => true,
        () = life => false,
    }
}

/// Plays a story with a death at a point, to its end; the calls that were met until then, or
/// nothing if the story has no such point.
pub(super) async fn killed_at(kind: Kind, point: usize, story: Story) -> Option<BTreeSet<&'static str>> {
    let Story { is_of_coin, batch, plant } = story;
    let mut world = World::new(kind, |options| options.batch = batch).await;
    if is_of_coin {
        world = world.of_coin();
    }
    plant.into_chain(&world);
    let (tripwire, happened) = (Tripwire::new(point), Happened::default());
    let is_killed = run(&world, &tripwire, &happened, plant).await;
    if is_killed {
        // Whoever comes next waits until what the dead one held is free.
        world.clock.advance_ms(61_000);
        command(&world, &world.desk()).await;
        drive(&world, &mut world.process("second"), &happened).await;
    }
    is_told_as_it_was(&world, point).await;
    is_killed.then(|| tripwire.names.lock().expect("whole").clone())
}

async fn is_told_as_it_was(world: &World, point: usize) {
    world.agrees().await;
    let payouts = world.payouts().await;
    let count = |state| payouts.iter().filter(|payout| payout.state == state).count();
    let counts = (count(PayoutState::Confirmed), count(PayoutState::Rejected), payouts.len());
    let wanted = usize::try_from(PAYOUTS).expect("small");
    assert_eq!(counts, (wanted, 1, wanted + 1), "point {point}: {payouts:#?}");
    for told in ["payout.reorganised", "attempt.signed"] {
        assert!(world.is_logged(told).await, "point {point}: {told} never happened");
    }
    let mut attempts = 0;
    for payout in payouts.iter().filter(|payout| payout.state == PayoutState::Confirmed) {
        let intent = payout.intent.expect("a transaction");
        attempts = attempts.max(world.store.attempts(intent).await.expect("read").len());
    }
    assert!(attempts > 1, "point {point}: more was never offered");
}

async fn at_every_point(kind: Kind, is_of_coin: bool, batch: usize, stride: usize) {
    let mut names = BTreeSet::new();
    let mut points = 0;
    for point in (1..MAX_POINTS).step_by(stride) {
        match killed_at(kind, point, Story { is_of_coin, batch, plant: Plant::Nothing }).await {
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
    at_every_point(Kind::Sqlite, false, 1, 1).await;
}

#[tokio::test]
async fn killed_at_every_point_of_a_batch_each_payout_is_paid_once() {
    at_every_point(Kind::Sqlite, false, 2, 1).await;
}

/// A sample: every point is the same call to another store.
#[tokio::test]
async fn killed_on_postgres_each_payout_is_paid_once() {
    at_every_point(Kind::Postgres, false, 2, 13).await;
}

#[tokio::test]
async fn killed_at_every_point_each_payout_of_the_coin_is_paid_once() {
    at_every_point(Kind::Sqlite, true, 1, 1).await;
}

#[tokio::test]
async fn killed_at_every_point_of_a_batch_each_payout_of_the_coin_is_paid_once() {
    at_every_point(Kind::Sqlite, true, 2, 1).await;
}

#[tokio::test]
async fn killed_on_postgres_each_payout_of_the_coin_is_paid_once() {
    at_every_point(Kind::Postgres, true, 2, 13).await;
}
