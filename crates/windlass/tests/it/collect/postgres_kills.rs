//! Four processes collect one chain into one PostgreSQL while it grows and is
//! reorganised, and are killed at random. In the end the table equals the chain.

use std::time::{Duration, Instant};

use alloy_primitives::B256;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_postgres::NoTls;
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::{Health, Tables};
use windlass_core::table::Identifier;
use windlass_devnet::chain::{LogFilter, ReorgOptions};
use windlass_devnet::synthetic::FEES_COLLECTED_TOPIC;
use windlass_store_postgres::{PostgresOptions, PostgresStore};

use super::world::World;
use crate::binary::{Folder, Running};

const PROCESSES: usize = 4;
const KILLS: u32 = 24;
/// Blocks there are before anybody collects: enough for many ranges.
const PAST_BLOCKS: u64 = 600;
/// However slow the machine, it gets there by then.
const MAX_WAIT: Duration = Duration::from_secs(60);

fn server() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL")
        .expect("WINDLASS_TEST_POSTGRES_URL is not set; hint: run under scripts/with-services")
}

async fn execute(sql: &str) {
    let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.expect("the server is up");
    tokio::spawn(connection);
    client.batch_execute(sql).await.expect("it is done");
}

/// A database of its own on the server.
async fn database() -> String {
    let name = format!("windlass_kills_{}", std::process::id());
    execute(&format!("CREATE DATABASE {name}")).await;
    let (base, _) = server().rsplit_once('/').map(|(a, b)| (a.to_owned(), b.to_owned())).expect("a URL");
    format!("{base}/{name}")
}

/// Where and what every row is: the block's hash and the log's place in it.
async fn stored(store: &PostgresStore) -> Vec<(B256, u64)> {
    let mut rows = Vec::new();
    let mut after = None;
    loop {
        let query = RowQuery {
            table: Identifier::new("fees_fees_collected").expect("a name"),
            conditions: vec![],
            order: RowOrder::OldestFirst,
            after,
            limit: MAX_ROW_PAGE,
        };
        let page = store.rows(&query).await.expect("rows");
        let Some(last) = page.last() else { return rows };
        after = Some(last.head.key());
        rows.extend(page.iter().map(|row| (row.head.block.hash, u64::from(row.head.log_index))));
    }
}

fn truth(world: &World) -> Vec<(B256, u64)> {
    let logs =
        world.chain.canonical_logs(&LogFilter::all().address(world.contract).topic([FEES_COLLECTED_TOPIC]));
    logs.iter().map(|log| (log.block_hash.expect("mined"), log.log_index.expect("mined"))).collect()
}

/// What is missing or too much, and how the store sees itself.
async fn difference(world: &World, store: &PostgresStore, folder: &Folder) -> String {
    let (stored, truth) = (stored(store).await, truth(world));
    let number = |hash: B256| {
        (0..=world.chain.head().number())
            .find(|n| world.chain.block(*n).is_some_and(|block| block.hash() == hash))
    };
    let missing: Vec<_> =
        truth.iter().filter(|row| !stored.contains(row)).map(|row| (number(row.0), row.1)).collect();
    let extra: Vec<_> = stored.iter().filter(|row| !truth.contains(row)).collect();
    format!("missing {missing:?}, extra {extra:?}\n{}", folder.run(&["status"]).shown())
}

fn start(folder: &Folder) -> Running {
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    running
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_processes_killed_at_random_lose_and_duplicate_nothing() {
    let world = World::start().await;
    world.pay(PAST_BLOCKS);
    let url = database().await;
    let mut config = world.config("0");
    config = config.replace("lease_ttl = \"5s\"", "lease_ttl = \"1s\"\nmax_range = 7");
    let folder = Folder::with_config(&format!("[database]\nurl = \"{url}\"\n\n{config}"));
    let mut random = StdRng::seed_from_u64(7);
    let mut processes: Vec<Running> = (0..PROCESSES).map(|_| start(&folder)).collect();
    for _ in 0..KILLS {
        world.pay(random.random_range(1..8));
        if random.random_bool(0.4) {
            let depth = random.random_range(1..5);
            world.chain.reorg(depth, &ReorgOptions::default()).expect("a reorg");
        }
        let victim = random.random_range(0..PROCESSES);
        processes[victim].signal("KILL");
        processes[victim] = start(&folder);
    }
    let store = PostgresStore::open(PostgresOptions::new(&url)).await.expect("a store");
    let begun = Instant::now();
    while stored(&store).await != truth(&world) {
        assert!(begun.elapsed() < MAX_WAIT, "{}", difference(&world, &store, &folder).await);
        tokio::task::yield_now().await;
    }
    for process in processes {
        process.signal("TERM");
        let (status, rest) = process.end();
        assert_eq!(status.code(), Some(0), "{rest}");
    }
    assert_eq!(stored(&store).await, truth(&world), "nothing came behind");
    let dead: u64 = windlass_core::store::Jobs::count_jobs(&store)
        .await
        .expect("counts")
        .iter()
        .map(|queue| queue.open + queue.dead)
        .sum();
    assert_eq!(dead, 0, "no range is open or was given up");
    store.close().await;
    let name = url.rsplit('/').next().expect("a name");
    execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
}
