//! A sample of the scripts on PostgreSQL. Its answers take real time, so time is real.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::NoTls;
use windlass_store_postgres::{PostgresOptions, PostgresStore};

use super::endpoint::Counts;
use super::simulation::play;
use super::world::{Database, World};

/// How many scripts, in two parts.
const SEEDS: u64 = 30;

fn url() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL")
        .expect("WINDLASS_TEST_POSTGRES_URL is not set; hint: run under scripts/with-services")
}

async fn execute(sql: &str) {
    let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.expect("the server is up");
    tokio::spawn(connection);
    client.batch_execute(sql).await.expect("it is done");
}

async fn all_equal(seeds: std::ops::Range<u64>) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut counts = Counts::new();
    for seed in seeds {
        let world = World::new(seed);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let schema = format!("collect_{}_{number}", std::process::id());
        let options = PostgresOptions {
            schema: Some(schema.clone()),
            max_connections: 4,
            clock: Some(world.clock.clone()),
            ..PostgresOptions::new(url())
        };
        let store = Arc::new(PostgresStore::open(options).await.expect("a store"));
        world.create_tables(&*store).await;
        let database = Database { store: store.clone(), clock: world.clock.clone() };
        assert_eq!(play(&world, &database, seed, &mut counts).await, None, "seed {seed}");
        windlass_core::store::Health::close(&*store).await;
        execute(&format!("DROP SCHEMA {schema} CASCADE")).await;
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
