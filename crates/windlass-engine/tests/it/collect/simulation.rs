//! Random scripts. In the end all trouble stops, and the tables must equal the chain.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::RetryAdvice;
use windlass_core::store::Store;
use windlass_engine::collect::backfill::Backfilled;
use windlass_engine::collect::error::CollectError;
use windlass_engine::collect::head::Followed;
use windlass_engine::collect::names::paused_key;
use windlass_testkit::harness::Harness;
use windlass_testkit::planted::{Fault, PlantedHarness};

use super::chain::FINALITY_BLOCKS;
use super::damage;
use super::endpoint::{Counts, Trouble};
use super::world::{Choice, LEASE_TTL, Process, World};

/// How many things happen in one script.
const STEPS: u32 = 200;
/// So many steps without an end mean that there is none.
const MAX_STEPS_TO_END: u32 = 5_000;

/// Runs one script on a store in memory; says what differs in the end.
async fn simulate(seed: u64, fault: Fault, counts: &mut Counts) -> Option<String> {
    let world = World::new(seed);
    let database = PlantedHarness::new(world.database().await, fault);
    play(&world, &database, seed, counts).await
}

/// Plays a script on a store that has the tables; says what differs in the end.
pub(super) async fn play(
    world: &World,
    database: &dyn Harness,
    seed: u64,
    counts: &mut Counts,
) -> Option<String> {
    let mut random = StdRng::seed_from_u64(seed);
    world.chain.mine(random.random_range(0..150), 4);
    let mut births = 0;
    let mut process = birth(world, database, &mut births, &mut random).await;
    for _ in 0..STEPS {
        match random.random_range(0..100) {
            0..=17 => world.chain.mine(random.random_range(1..5), 3),
            18..=19 => world.clock.advance_ms(LEASE_TTL.as_millis() as i64),
            20 => {
                note(counts, "fell behind");
                world.chain.mine(random.random_range(40..70), 2);
            }
            21..=26 if world.chain.reorg(random.random_range(1..FINALITY_BLOCKS)) > 0 => {
                note(counts, "chain reorganised");
            }
            27..=30 => world.endpoint.set(trouble(&mut random)),
            31..=33 => world.endpoint.set(Trouble::default()),
            34..=36 => {
                // The process dies without a word; another takes over when leases have run out.
                note(counts, "process died");
                process = birth(world, database, &mut births, &mut random).await;
                world.clock.advance_ms(random.random_range(0..4 * LEASE_TTL.as_millis() as i64));
            }
            37 => {
                note(counts, "index paused or resumed");
                pause(&*database.open().await, random.random_bool(0.5)).await;
            }
            38..=39 => {
                note(counts, "clock went back");
                world.clock.advance_ms(-random.random_range(1..5_000));
            }
            40..=73 => step_head(&mut process, counts).await,
            _ => step_range(&mut process, &mut random, counts).await,
        }
    }
    for (kind, count) in world.endpoint.counts() {
        *counts.entry(kind).or_default() += count;
    }
    let store = database.open().await;
    if let Some(difference) = finish(world, &mut births, store.clone(), counts).await {
        return Some(difference);
    }
    let left = store.count_jobs().await.map(|queues| queues.iter().map(|queue| queue.open).sum::<u64>());
    if left.as_ref().is_ok_and(|open| *open > 0) {
        return Some(format!("{left:?} jobs were left behind"));
    }
    damage::repaired(world, &store, &mut random)
        .await
        .map(|difference| format!("after a repair: {difference}"))
}

fn note(counts: &mut Counts, what: &'static str) {
    *counts.entry(what).or_default() += 1;
}

async fn birth(world: &World, database: &dyn Harness, births: &mut u32, random: &mut StdRng) -> Process {
    *births += 1;
    let wanted = [0; 4].map(|_| random.random_bool(0.7));
    world.process(&format!("process-{births}"), database.open().await, Choice(wanted))
}

fn trouble(random: &mut StdRng) -> Trouble {
    let mut share = |most| random.random_range(0..most);
    Trouble {
        unreachable: share(15),
        limited: share(10),
        malformed: share(10),
        lagging: share(50),
        late: share(30),
        max_range: Some(u64::from(share(30)) + 1),
    }
}

async fn pause(store: &dyn Store, pauses: bool) {
    let value = pauses.then(|| "true".to_owned());
    let key = paused_key("notes").expect("a key");
    // A lost answer is as good as none: it is only tried.
    let _ = store.commit(Commit::of(vec![Write::PutState { key, value }])).await;
}

async fn step_head(process: &mut Process, counts: &mut Counts) {
    let kind = match process.follower.step().await {
        Ok(Followed::NotOurs) => "another held the lease",
        Ok(Followed::Idle) => "idle",
        Ok(Followed::Planned) => "planned",
        Ok(Followed::Advanced { .. }) => "advanced",
        Ok(Followed::Jumped { .. }) => "jumped",
        Ok(Followed::Reorganised { .. }) => "went back",
        Ok(Followed::Rechecked { mended: 0, .. }) => "rechecked",
        Ok(Followed::Rechecked { .. }) => "mended",
        Err(error) => interruption(&error),
    };
    note(counts, kind);
}

async fn step_range(process: &mut Process, random: &mut StdRng, counts: &mut Counts) {
    let which = random.random_range(0..process.backfillers.len());
    let kind = match process.backfillers[which].step().await {
        Ok(Backfilled::Idle) => "no range",
        Ok(Backfilled::Halted) => "halted",
        Ok(Backfilled::Collected { .. }) => "range stored",
        Ok(Backfilled::Split { .. }) => "range split",
        Ok(Backfilled::Failed { .. }) => "range failed",
        Ok(Backfilled::Lost { .. }) => "range lost",
        Err(error) => interruption(&error),
    };
    note(counts, kind);
}

fn interruption(error: &CollectError) -> &'static str {
    match error.retry() {
        RetryAdvice::After(_) => "step interrupted",
        RetryAdvice::Never => "step refused",
    }
}

/// All trouble stops; what is not final yet becomes so; what was given up is tried again.
async fn finish(
    world: &World,
    births: &mut u32,
    store: std::sync::Arc<dyn Store>,
    counts: &mut Counts,
) -> Option<String> {
    world.endpoint.set(Trouble::default());
    pause(&*store, false).await;
    pause(&*store, false).await;
    world.chain.mine(FINALITY_BLOCKS + 1, 1);
    *births += 1;
    let mut last = world.process(&format!("last-{births}"), store.clone(), Choice::ALL);
    let mut rounds = 3;
    for _ in 0..MAX_STEPS_TO_END {
        world.clock.advance_ms(LEASE_TTL.as_millis() as i64);
        let head = last.follower.step().await;
        if matches!(head, Ok(Followed::Rechecked { mended: 1.., .. })) {
            note(counts, "mended");
        }
        let range = last.backfillers[0].step().await;
        match (head, range) {
            (Ok(Followed::Idle), Ok(Backfilled::Idle)) if rounds == 0 => {
                return world.difference(&*store).await;
            }
            (Ok(Followed::Idle), Ok(Backfilled::Idle)) => {
                // What was planned above the last final block can be claimed when that has moved on.
                rounds -= 1;
                world.chain.mine(FINALITY_BLOCKS + 1, 0);
            }
            (Err(error), _) if error.retry() == RetryAdvice::Never => return Some(error.to_string()),
            (_, Err(error)) if error.retry() == RetryAdvice::Never => return Some(error.to_string()),
            _ => {}
        }
    }
    Some("the last process did not come to an end".to_owned())
}

/// Everything that must have happened at least once over all scripts.
const MUST_HAPPEN: &[&str] = &[
    "unreachable",
    "rate limited",
    "malformed",
    "lagging",
    "log came late",
    "range too large",
    "range suggested",
    "unknown block was empty",
    "fell behind",
    "chain reorganised",
    "process died",
    "index paused or resumed",
    "clock went back",
    "another held the lease",
    "planned",
    "advanced",
    "jumped",
    "went back",
    "rechecked",
    "mended",
    "range stored",
    "range split",
    "range failed",
    "step interrupted",
];

async fn all_equal(seeds: std::ops::Range<u64>) {
    let mut counts = Counts::new();
    for seed in seeds.clone() {
        let difference = simulate(seed, Fault::AnswersLost, &mut counts).await;
        assert_eq!(difference, None, "seed {seed}");
    }
    println!("over {seeds:?}: {counts:#?}");
    let never: Vec<_> = MUST_HAPPEN.iter().filter(|kind| !counts.contains_key(**kind)).collect();
    assert!(never.is_empty(), "these never happened: {never:?}");
}

/// In parts, so that they run side by side.
macro_rules! parts {
    ($($name:ident: $seeds:expr;)*) => {$(
        #[tokio::test(start_paused = true)]
        async fn $name() {
            let factor = if std::env::var_os("WINDLASS_SOAK").is_some() { 10 } else { 1 };
            let seeds: std::ops::Range<u64> = $seeds;
            all_equal(seeds.start * factor..seeds.end * factor).await;
        }
    )*};
}

parts! {
    after_any_script_the_tables_equal_the_chain_1: 0..250;
    after_any_script_the_tables_equal_the_chain_2: 250..500;
    after_any_script_the_tables_equal_the_chain_3: 500..750;
    after_any_script_the_tables_equal_the_chain_4: 750..1_000;
}

#[tokio::test(start_paused = true)]
async fn a_commit_torn_in_two_is_found_out() {
    let mut counts = Counts::new();
    for seed in 0..100 {
        if simulate(seed, Fault::CommitTorn, &mut counts).await.is_some() {
            return;
        }
    }
    panic!("100 scripts passed although commits were torn: {counts:#?}");
}
