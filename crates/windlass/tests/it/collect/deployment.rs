//! `start = "deployment"` on a chain that changes its mind about where that is.

use windlass_devnet::chain::ReorgOptions;

use super::world::{FINALITY, World, deploy, wait_until, wait_until_collected};
use crate::binary::{Folder, Running};

fn start(folder: &Folder) -> Running {
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    running
}

fn stop(running: Running) {
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0), "{rest}");
}

/// The newest blocks go, with what was in them.
fn drop_blocks(world: &World, from: u64, allow_finalized: bool) {
    let depth = world.chain.head().number() + 1 - from;
    let options = ReorgOptions {
        new_blocks: Some(0),
        return_to_pool: false,
        allow_finalized,
        ..ReorgOptions::default()
    };
    world.chain.reorg(depth, &options).expect("a reorg");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_that_was_taken_back_is_searched_for_again() {
    let mut world = World::start().await;
    world.chain.mine_many(16);
    world.contract = deploy(&world.chain);
    let (contract, late) = (world.contract, world.chain.head().number());
    world.pay(15);
    let folder = Folder::with_config(&world.config("\"deployment\""));
    let running = start(&folder);
    assert_eq!(wait_until_collected(&folder, "fees", 15)["start"], late);
    drop_blocks(&world, 10, true);
    assert_eq!(deploy(&world.chain), contract, "the same contract, ten blocks earlier");
    world.pay(40);
    wait_until(&folder, "fees", |shown| shown["state"] == "stopped");
    stop(running);
    let rewound = folder.run(&["index", "rewind", "--chain", "local", "--to", "9", "--yes"]);
    assert_eq!(rewound.code, Some(0), "{}", rewound.shown());
    let running = start(&folder);
    assert_eq!(wait_until_collected(&folder, "fees", 40)["start"], 10);
    stop(running);
}

/// What is not final may yet move: nothing below is left out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_that_is_not_final_may_move_down() {
    let mut world = World::start().await;
    world.chain.mine_many(20);
    world.contract = deploy(&world.chain);
    let (contract, late) = (world.contract, world.chain.head().number());
    let folder = Folder::with_config(&world.config("\"deployment\""));
    let running = start(&folder);
    wait_until(&folder, "fees", |shown| shown["lag_blocks"] == 0);
    drop_blocks(&world, late + 1 - FINALITY, false);
    assert_eq!(deploy(&world.chain), contract, "the same contract, a few blocks earlier");
    world.pay(20);
    wait_until_collected(&folder, "fees", 20);
    stop(running);
    let typed = ["index", "add", "more", "--contract", &contract.to_string(), "--event", "E()", "--dry-run"];
    let added = folder.run(&typed);
    assert!(added.stdout.contains(&format!("start = {}\n", late + 1 - FINALITY)), "{}", added.shown());
}
