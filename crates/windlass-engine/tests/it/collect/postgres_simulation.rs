//! A sample of the scripts on PostgreSQL. Its answers take real time, so time is real.

use windlass_testkit::harness::OneHandle;

use super::endpoint::Counts;
use super::simulation::play;
use super::world::World;
use crate::database::{Database, Kind};

/// How many scripts, in two parts.
const SEEDS: u64 = 30;

async fn all_equal(seeds: std::ops::Range<u64>) {
    let mut counts = Counts::new();
    for seed in seeds {
        let world = World::new(seed);
        let (_database, store) = Database::open(Kind::Postgres, world.clock.clone()).await;
        world.create_tables(&*store).await;
        let handle = OneHandle { store: store.clone(), clock: world.clock.clone() };
        assert_eq!(play(&world, &handle, seed, &mut counts).await, None, "seed {seed}");
        store.close().await;
    }
    for kind in ["chain reorganised", "process died", "range stored", "advanced", "jumped", "lagging"] {
        assert!(counts.contains_key(kind), "{kind} never happened: {counts:#?}");
    }
}

#[tokio::test]
async fn after_any_script_the_tables_equal_the_chain_1() {
    all_equal(0..SEEDS / 2).await;
}

#[tokio::test]
async fn after_any_script_the_tables_equal_the_chain_2() {
    all_equal(SEEDS / 2..SEEDS).await;
}
