//! Random schedules: several workers at once, endpoints and databases that fail before or
//! after they have done it, reorgs, lost transactions, kills, workers that sleep through
//! their leases, clocks that jump over midnight, a vault that is paused and cancels, a key
//! that is used elsewhere. At the end store, vault and balances agree.

use std::sync::Arc;

use alloy_primitives::U256;
use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use windlass_core::payout::desk::DeskError;
use windlass_core::payout::ledger::{IntentState, Payout};
use windlass_core::payout::state::PayoutState;
use windlass_devnet::chain::ReorgOptions;
use windlass_testkit::hooked::HookedStore;

use super::direct::Calm;
use super::planted::Plant;
use super::trouble::{MAX_SIGNERS, Tally, Trouble};
use super::world::{FINALITY, Process, World, cancelRequestCall, mintCall, pauseCall, unpauseCall};
use crate::database::Kind;

/// How many schedules `./test` runs, and how many with `--soak`.
const SEEDS: u64 = 200;
const SOAK_SEEDS: u64 = 5_000;
const POSTGRES_SEEDS: u64 = 10;
/// From this seed on the chain's own coin is paid, and not a token.
const FIRST_COIN_SEED: u64 = 20_000;
const COIN_SEEDS: u64 = 40;
/// How many rounds of trouble a schedule has.
const ROUNDS: usize = 40;
/// What a run of many schedules must have met.
const HAPPENINGS: [&str; 16] = [
    "asked for",
    "rejected",
    "cancelled on the vault",
    "killed",
    "slept through its leases",
    "a key was used elsewhere",
    "reorg",
    "reorg that loses transactions",
    "dropped from the pool",
    "leases ran out",
    "half a day passed",
    "the database refused",
    "the database could not be read",
    "the database's answer was lost",
    "the endpoint refused",
    "the endpoint's answer was lost",
];
/// How many calm rounds everything must be settled in afterwards.
const MAX_CALM_ROUNDS: usize = 400;

struct Worker {
    process: Process,
    trouble: Arc<Trouble>,
}

struct Schedule {
    world: World,
    random: StdRng,
    workers: Vec<Worker>,
    made: u64,
    tally: Tally,
    plant: Plant,
}

impl Schedule {
    async fn new(kind: Kind, seed: u64, tally: Tally, plant: Plant) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let batch = [1, 1, 3, 10][random.random_range(0..4)];
        let is_limited = random.random_bool(0.3);
        let world = World::new(kind, |options| {
            options.batch = batch;
            if is_limited {
                options.rules.limits.max_daily_total = Some(U256::from(300));
            }
        });
        let mut world = world.await;
        if seed >= FIRST_COIN_SEED {
            world = world.of_coin();
        }
        plant.into_chain(&world);
        let mut schedule = Self { world, random, workers: Vec::new(), made: 0, tally, plant };
        for _ in 0..schedule.random.random_range(1..=8) {
            let worker = schedule.worker();
            schedule.workers.push(worker);
        }
        schedule
    }

    fn worker(&mut self) -> Worker {
        self.made += 1;
        let seed = StdRng::seed_from_u64(self.random.random());
        let rate = [0, 5, 30][self.random.random_range(0..3)];
        let trouble = Trouble::new(seed, rate, &self.world, self.tally.clone());
        let store = Arc::new(HookedStore::new(self.plant.into_store(&self.world), trouble.clone()));
        let signers = self.random.random_range(1..=MAX_SIGNERS);
        let name = format!("worker-{}", self.made);
        Worker { process: self.world.process_of(&name, store, trouble.clone(), signers), trouble }
    }

    fn hit(&self, what: &'static str) {
        *self.tally.lock().expect("whole").entry(what).or_default() += 1;
    }

    async fn round(&mut self, number: usize) {
        self.happen(number).await;
        let steps = self.workers.iter_mut().map(|worker| {
            let Worker { process, trouble } = worker;
            async move {
                tokio::select! {
                    biased;
                    () = trouble.killed.notified() => true,
                    () = step(process) => false,
                }
            }
        });
        let killed: Vec<bool> = join_all(steps).await;
        for (place, is_killed) in killed.into_iter().enumerate() {
            if is_killed {
                self.workers[place] = self.worker();
            }
        }
        if self.random.random_bool(0.7) {
            self.world.chain.mine();
        }
        self.world.clock.advance_ms(self.random.random_range(0..4_000));
    }

    /// Something that is nobody's step.
    async fn happen(&mut self, number: usize) {
        match self.random.random_range(0..23) {
            0..=5 => self.ask(number).await,
            6 => self.reject().await,
            7 => {
                let depth = self.random.random_range(1..FINALITY);
                let return_to_pool = self.random.random();
                let options =
                    ReorgOptions { return_to_pool, fill: self.random.random(), ..ReorgOptions::default() };
                self.world.chain.reorg(depth, &options).expect("a reorg");
                self.hit(if return_to_pool { "reorg" } else { "reorg that loses transactions" });
            }
            8 => {
                let forms: Vec<_> = self.world.sent.lock().expect("whole").clone();
                let hashes = forms.iter().map(alloy_primitives::keccak256);
                let pooled: Vec<_> = hashes.filter(|hash| self.world.chain.is_pooled(*hash)).collect();
                if !pooled.is_empty() {
                    let hash = pooled[self.random.random_range(0..pooled.len())];
                    assert!(self.world.chain.drop_transaction(hash));
                    self.hit("dropped from the pool");
                }
            }
            9 => {
                self.world.clock.advance_ms(61_000);
                self.hit("leases ran out");
            }
            10 => {
                self.world.clock.advance_ms(86_400_000 / 2);
                self.hit("half a day passed");
            }
            11 => {
                if self.world.is_paused() {
                    self.world.send_as(0, self.world.vault.address, &unpauseCall {});
                } else {
                    self.world.send_as(0, self.world.vault.address, &pauseCall {});
                }
                self.hit("paused or not");
            }
            12 => self.cancel().await,
            13 => {
                self.world.chain.mine_many(4);
                self.hit("blocks in a row");
            }
            14 => {
                // It takes the place of ours, if there is one. One account of three: the others pay on.
                let account = self.world.chain.accounts()[1].address();
                let mint = mintCall { to: self.world.token, amount: U256::ONE };
                let nonce = self.world.chain.nonce(account);
                if self.world.send_with(1, nonce, self.world.token, &mint).is_ok() {
                    self.hit("a key was used elsewhere");
                }
            }
            _ => {}
        }
    }

    async fn ask(&mut self, number: usize) {
        let desk = self.world.desk();
        for part in 0..self.random.random_range(1..4) {
            let request =
                self.world.request(&format!("invoice-{number}-{part}"), self.random.random_range(1..100));
            let asked = [request];
            let created = desk.create(&asked, "asker").await.expect("asked");
            // Two at once, and again: one payout.
            let id = created[0].payout.id;
            let (one, other) = tokio::join!(desk.approve(id, "boss"), desk.approve(id, "chief"));
            assert!(one.is_ok() || other.is_ok());
            assert_eq!(desk.create(&asked, "asker").await.expect("known")[0].payout.id, id);
            self.hit("asked for");
        }
    }

    async fn reject(&mut self) {
        let payouts = self.world.payouts().await;
        if payouts.is_empty() {
            return;
        }
        let payout = &payouts[self.random.random_range(0..payouts.len())];
        match self.world.desk().reject(payout.id, "boss", "no").await {
            Ok(_) => self.hit("rejected"),
            Err(DeskError::NotRejectable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }

    async fn cancel(&mut self) {
        let payouts = self.world.payouts().await;
        let open: Vec<&Payout> = payouts.iter().filter(|payout| !payout.state.is_end()).collect();
        if open.is_empty() {
            return;
        }
        let request = open[self.random.random_range(0..open.len())].request.clone();
        let cancel = cancelRequestCall {
            requestId: request.request_id(),
            token: request.token,
            to: request.to,
            amount: request.amount,
        };
        self.world.send_as(0, self.world.vault.address, &cancel);
        self.hit("cancelled on the vault");
    }

    async fn end(mut self) {
        self.world.chain.mine_many(FINALITY + 2);
        // A nonce that a reorg has freed is filled, and what waited behind it may pause once more.
        for _ in 0..ROUNDS {
            if self.world.is_paused() {
                self.world.act(0, self.world.vault.address, &unpauseCall {});
            }
        }
        assert!(!self.world.is_paused());
        self.world.clock.advance_ms(61_000);
        self.workers.clear();
        let mut process =
            self.world.process_of("last", self.world.store.clone(), Arc::new(Calm), MAX_SIGNERS);
        for number in 0..MAX_CALM_ROUNDS {
            self.world.round(&mut process).await;
            if number % 60 == 59 {
                // Some wait for tomorrow.
                self.world.clock.advance_ms(86_400_000 / 2);
            }
            if self.world.is_settled().await {
                break;
            }
        }
        assert!(self.world.is_settled().await, "not settled: {:#?}", self.world.payouts().await);
        self.world.agrees().await;
        for payout in self.world.payouts().await {
            self.is_accounted_for(&payout).await;
        }
    }

    /// What was approved was paid, unless the vault or a person said no.
    async fn is_accounted_for(&self, payout: &Payout) {
        match payout.state {
            PayoutState::Confirmed => {}
            PayoutState::Rejected => {
                let reason = payout.reason.as_deref().unwrap_or_default();
                let is_over_limit = reason.starts_with("maxDailyTotal exceeded: ");
                let reasons = ["no", "the request was cancelled on the vault"];
                assert!(is_over_limit || reasons.contains(&reason), "{payout:#?}");
            }
            PayoutState::Failed => {
                let intents = self.world.store.intents_of(payout.id).await.expect("read");
                assert!(intents.iter().all(|intent| !intent.state.is_live()), "{payout:#?}");
                assert!(intents.iter().any(|intent| {
                    matches!(intent.state, IntentState::Reverted | IntentState::Displaced)
                }));
            }
            state => panic!("{state}: {payout:#?}"),
        }
    }
}

async fn step(process: &mut Process) {
    for submitter in &mut process.submitters {
        let _ = submitter.step().await;
    }
    let _ = process.tracker.step().await;
}

/// One schedule from its beginning to its end.
pub(super) async fn play(kind: Kind, seed: u64, tally: Tally, plant: Plant) {
    let mut schedule = Schedule::new(kind, seed, tally, plant).await;
    for number in 0..ROUNDS {
        schedule.round(number).await;
    }
    schedule.end().await;
}

async fn run(kind: Kind, seeds: std::ops::Range<u64>, happenings: &[&str]) {
    let tally: Tally = Arc::default();
    for seed in seeds {
        // The last one is told when it fails.
        println!("schedule {seed}");
        play(kind, seed, tally.clone(), Plant::Nothing).await;
    }
    let tally = tally.lock().expect("whole");
    println!("{tally:#?}");
    for kind in happenings {
        assert!(tally.contains_key(kind), "{kind} never happened");
    }
}

fn seeds() -> u64 {
    if std::env::var_os("WINDLASS_SOAK").is_some() { SOAK_SEEDS } else { SEEDS }
}

#[tokio::test]
async fn random_schedules_pay_each_payout_at_most_once_first_half() {
    run(Kind::Sqlite, 0..seeds() / 2, &HAPPENINGS).await;
}

#[tokio::test]
async fn random_schedules_pay_each_payout_at_most_once_second_half() {
    run(Kind::Sqlite, seeds() / 2..seeds(), &HAPPENINGS).await;
}

#[tokio::test]
async fn random_schedules_on_postgres_pay_each_payout_at_most_once() {
    run(Kind::Postgres, 10_000..10_000 + POSTGRES_SEEDS, &["killed", "the database refused"]).await;
}

#[tokio::test]
async fn random_schedules_pay_each_payout_of_the_coin_at_most_once() {
    let seeds = FIRST_COIN_SEED..FIRST_COIN_SEED + COIN_SEEDS;
    run(Kind::Sqlite, seeds, &["killed", "the database refused"]).await;
}
