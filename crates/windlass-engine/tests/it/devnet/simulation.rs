//! Random scripts: blocks, reorgs, an endpoint with faults, a store that dies
//! around commits, workers that come, go and sleep. In the end all trouble stops,
//! and the store must equal the chain.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use windlass_core::error::RetryAdvice;
use windlass_devnet::chain::ReorgOptions;
use windlass_devnet::faults::Plan;
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::head::Followed;
use windlass_testkit::harness::Harness;
use windlass_testkit::planted::{Fault, PlantedHarness};

use super::world::{LEASE_TTL, Worker, World, reach_head};

/// How many scripts are run, and how long they are.
const SEEDS: u64 = 20;
const SOAK_SEEDS: u64 = 1_000;
const STEPS: u32 = 150;
/// What the endpoint does in bad times.
const BAD_TIMES: [&str; 2] = [
    "429=0.05:0s,503=0.05,reset=0.05,truncate=0.05,lag=2of5:3",
    "429=0.05:0s,503=0.05,reset=0.05,truncate=0.05,lag=2of5:9:empty",
];

type Counts = BTreeMap<&'static str, u64>;

fn plan(text: &str) -> Plan {
    text.parse().expect("a plan")
}

/// Runs one script; says what differs in the end.
async fn simulate(seed: u64, fault: Fault, counts: &mut Counts) -> Option<String> {
    let world = World::new(seed).await;
    let database = PlantedHarness::new(world.database().await, fault);
    let mut random = StdRng::seed_from_u64(seed);
    let mut workers = 0;
    let mut worker = world.worker("worker-0", database.open().await);
    for _ in 0..STEPS {
        match random.random_range(0..100) {
            0..=29 => world.mine(random.random_range(0..4)),
            30..=36 => reorg(&world, &mut random, counts),
            37..=39 => world.faults.set(plan(BAD_TIMES[random.random_range(0..2)])),
            40..=43 => world.faults.set(Plan::default()),
            44..=46 => {
                // The worker dies without a word; another takes over when the lease has run out.
                *counts.entry("worker died").or_default() += 1;
                workers += 1;
                worker = world.worker(&format!("worker-{workers}"), database.open().await);
                world.clock.advance_ms(random.random_range(0..2 * LEASE_TTL.as_millis() as i64));
            }
            47..=48 => {
                *counts.entry("clock went back").or_default() += 1;
                world.clock.advance_ms(-random.random_range(1..5_000));
            }
            49..=59 => step_range(&mut worker, counts).await,
            _ => step(&mut worker, counts).await,
        }
    }
    for (kind, count) in world.faults.counts().iter().filter(|(_, count)| *count > 0) {
        *counts.entry(kind.name()).or_default() += count;
    }
    world.faults.set(Plan::default());
    world.clock.advance_ms(2 * LEASE_TTL.as_millis() as i64);
    let mut last = world.worker("last", database.open().await);
    if !reach_head(&mut last).await {
        return Some("the last worker did not reach the head".to_owned());
    }
    world.difference(&*database.open().await).await
}

fn reorg(world: &World, random: &mut StdRng, counts: &mut Counts) {
    let room = world.chain.head().number().saturating_sub(1).min(8);
    if room > 0 {
        let return_to_pool = random.random_bool(0.5);
        let options = ReorgOptions { return_to_pool, ..ReorgOptions::default() };
        world.chain.reorg(random.random_range(1..=room), &options).expect("a reorg");
        *counts.entry("chain reorganised").or_default() += 1;
    }
}

async fn step(worker: &mut Worker, counts: &mut Counts) {
    let kind = match worker.follower.step().await {
        Ok(Followed::NotOurs) => "another held the lease",
        Ok(Followed::Idle) => "idle",
        Ok(Followed::Planned) => "planned",
        Ok(Followed::Jumped { .. }) => "jumped",
        Ok(Followed::Rechecked { .. }) => "rechecked",
        Ok(Followed::Advanced { .. }) => "advanced",
        Ok(Followed::Reorganised { .. }) => "went back",
        Err(error) if matches!(error.retry(), RetryAdvice::After(_)) => "step interrupted",
        Err(_) => "step refused",
    };
    *counts.entry(kind).or_default() += 1;
}

async fn step_range(worker: &mut Worker, counts: &mut Counts) {
    let kind = match worker.backfiller.step().await {
        Ok(Backfilled::Collected { .. }) => "range stored",
        Ok(_) => "no range",
        Err(_) => "range interrupted",
    };
    *counts.entry(kind).or_default() += 1;
}

/// Everything that must have happened at least once over all scripts.
const MUST_HAPPEN: &[&str] = &[
    "429",
    "5xx",
    "reset",
    "truncate",
    "lag",
    "chain reorganised",
    "went back",
    "range stored",
    "rechecked",
    "advanced",
    "another held the lease",
    "step interrupted",
    "worker died",
    "clock went back",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_any_script_the_store_equals_the_chain() {
    let seeds = if std::env::var_os("WINDLASS_SOAK").is_some() { SOAK_SEEDS } else { SEEDS };
    let mut counts = Counts::new();
    for seed in 0..seeds {
        let difference = simulate(seed, Fault::AnswersLost, &mut counts).await;
        assert_eq!(difference, None, "seed {seed}");
    }
    println!("over {seeds} seeds: {counts:#?}");
    let never: Vec<_> = MUST_HAPPEN.iter().filter(|kind| !counts.contains_key(**kind)).collect();
    assert!(never.is_empty(), "these never happened: {never:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_torn_in_two_is_found_out() {
    let mut counts = Counts::new();
    for seed in 0..SEEDS {
        if simulate(seed, Fault::CommitTorn, &mut counts).await.is_some() {
            return;
        }
    }
    panic!("{SEEDS} scripts passed although commits were torn: {counts:#?}");
}
