//! Trouble for one process: calls that fail before or after they were made, reads that
//! fail, the process's death, and a sleep that is longer than its leases, which others take
//! over meanwhile, or take and die.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use rand::Rng;
use rand::rngs::StdRng;
use tokio::sync::Notify;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::{LeaseName, Owner};
use windlass_core::reader::{ChainError, ChainErrorKind};
use windlass_core::store::Store;
use windlass_engine::pay::names::PayNames;
use windlass_testkit::clock::ManualClock;
use windlass_testkit::hooked::StoreHook;

use super::direct::ChainHook;
use super::world::World;

/// How often each kind of trouble really happened.
pub(super) type Tally = Arc<Mutex<BTreeMap<&'static str, u64>>>;

/// How many accounts a process has at most.
pub(super) const MAX_SIGNERS: usize = 3;
/// So many turns the others get while a process sleeps.
const TURNS_ASLEEP: usize = 200;

/// Trouble for one process.
pub(super) struct Trouble {
    random: Mutex<StdRng>,
    /// In a thousand calls so many fail.
    rate: u32,
    pub(super) killed: Notify,
    clock: Arc<ManualClock>,
    store: Arc<dyn Store>,
    leases: Vec<LeaseName>,
    tally: Tally,
}

enum What {
    Nothing,
    Fails,
    Sleeps,
    Dies,
}

impl Trouble {
    pub(super) fn new(random: StdRng, rate: u32, world: &World, tally: Tally) -> Arc<Self> {
        let names = PayNames::new(world.vault).expect("names");
        let accounts = world.chain.accounts().into_iter().skip(1).take(MAX_SIGNERS);
        let leases = accounts.map(|account| names.signer(account.address()).expect("a name")).collect();
        let (clock, store) = (world.clock.clone(), world.store.clone());
        let (random, killed) = (Mutex::new(random), Notify::new());
        Arc::new(Self { random, rate, killed, clock, store, leases, tally })
    }

    /// The process sleeps through its leases; perhaps somebody takes the accounts, and dies.
    async fn sleep(&self) {
        self.hit("slept through its leases");
        self.clock.advance_ms(61_000);
        let is_taken = self.random.lock().expect("whole").random_bool(0.5);
        for lease in self.leases.iter().filter(|_| is_taken) {
            let thief = Owner::new("passer-by").expect("a name");
            let _ = self.store.acquire_lease(lease, &thief, Duration::from_millis(1)).await.expect("asked");
        }
        for _ in 0..TURNS_ASLEEP {
            tokio::task::yield_now().await;
        }
    }

    fn hit(&self, what: &'static str) {
        *self.tally.lock().expect("whole").entry(what).or_default() += 1;
    }

    /// Whether the next call fails; it may never be made.
    async fn fails(&self, how: &'static str) -> bool {
        let (what, yields) = {
            let mut random = self.random.lock().expect("whole");
            let what = match random.random_range(0..1_000) {
                number if number < self.rate => What::Fails,
                998 => What::Sleeps,
                999 => What::Dies,
                _ => What::Nothing,
            };
            (what, random.random_range(0..3))
        };
        for _ in 0..yields {
            tokio::task::yield_now().await;
        }
        match what {
            What::Nothing => return false,
            What::Fails => self.hit(how),
            What::Sleeps => {
                self.sleep().await;
                return false;
            }
            What::Dies => {
                self.hit("killed");
                self.killed.notify_one();
                std::future::pending::<()>().await;
            }
        }
        true
    }
}

#[async_trait]
impl StoreHook for Trouble {
    async fn before(&self, _: &'static str) -> StoreResult<()> {
        match self.fails("the database refused").await {
            true => Err(StoreError::Busy),
            false => Ok(()),
        }
    }

    async fn after(&self, _: &'static str) -> StoreResult<()> {
        match self.fails("the database's answer was lost").await {
            true => Err(StoreError::OutcomeUnknown { place: "here".to_owned() }),
            false => Ok(()),
        }
    }

    async fn reading(&self, _: &'static str) -> StoreResult<()> {
        match self.fails("the database could not be read").await {
            true => Err(StoreError::Unreachable { place: "here".to_owned(), reason: "reset".to_owned() }),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl ChainHook for Trouble {
    async fn before(&self, _: &'static str) -> Result<(), ChainError> {
        match self.fails("the endpoint refused").await {
            true => Err(ChainError::new(ChainErrorKind::Unreachable, "reset")),
            false => Ok(()),
        }
    }

    async fn after(&self, _: &'static str) -> Result<(), ChainError> {
        match self.fails("the endpoint's answer was lost").await {
            true => Err(ChainError::new(ChainErrorKind::Unreachable, "timeout")),
            false => Ok(()),
        }
    }
}
