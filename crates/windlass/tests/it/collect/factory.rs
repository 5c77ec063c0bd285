//! An index of contracts that a factory announces, from the configuration to rows.

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, TxKind, hex, keccak256};

use super::world::{EVENT, World, deploy, wait_until, wait_until_collected};
use crate::binary::{Folder, Running};

/// A contract that logs what it is called with: the first word as topic, the rest as data.
const SPEAKER: [u8; 29] = hex!("601280600b6000396000f3 602036038060206000376000359060 00a100");
const MADE: &str = "Made(address collector)";

/// Calls the factory from an account of its own, in a block of its own.
fn announce(world: &World, factory: Address, child: Address) {
    let account = world.chain.accounts().swap_remove(2);
    let input = [keccak256("Made(address)"), child.into_word()].concat();
    let transaction = TxEip1559 {
        chain_id: world.chain.chain_id(),
        nonce: world.chain.next_nonce(account.address()),
        gas_limit: 100_000,
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to: TxKind::Call(factory),
        input: Bytes::from(input),
        ..TxEip1559::default()
    };
    world.chain.send(account.sign(transaction).expect("signed")).expect("taken");
    world.chain.mine();
}

/// Makes a collector and has it announced.
fn make(world: &World, factory: Address) -> Address {
    let child = deploy(&world.chain);
    announce(world, factory, child);
    child
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_factory_makes_is_collected_from_its_first_log_on() {
    let mut world = World::start().await;
    let speaker = world.chain.accounts().swap_remove(3);
    let factory = world.chain.deploy(&speaker, Bytes::from_static(&SPEAKER)).expect("deployed");
    world.chain.mine();
    // Somebody else's collector is paid as well: nobody announced it.
    world.pay(2);
    for _ in 0..2 {
        world.contract = make(&world, factory);
        world.pay(3);
    }
    world.settle();
    let config = format!(
        "{}\n[index.pools]\nchain = \"local\"\nstart = \"deployment\"\nevents = [\"{EVENT}\"]\n\
         contract = {{ created_by = \"{factory}\", event = \"{MADE}\", field = \"collector\" }}\n",
        world.chain_section()
    );
    let folder = Folder::with_config(&config);
    assert_eq!(folder.run(&["config", "check"]).code, Some(0));
    let running = start(&folder);
    // What they have logged is wanted once they are known, and the newest blocks once they are final.
    wait_until(&folder, "pools", |shown| shown["events"] == 2 + 6);
    world.settle();
    wait_until_collected(&folder, "pools", 2 + 6);
    // One that joins while it runs, and one while it does not.
    world.contract = make(&world, factory);
    world.pay(2);
    wait_until_collected(&folder, "pools", 3 + 8);
    stop(running);
    world.contract = make(&world, factory);
    world.pay(1);
    world.settle();
    let running = start(&folder);
    let shown = wait_until_collected(&folder, "pools", 4 + 9);
    stop(running);

    let tables = shown["tables"].as_array().expect("tables");
    let rows: Vec<(&str, u64)> = tables
        .iter()
        .map(|table| (table["name"].as_str().expect("a name"), table["rows"].as_u64().expect("a number")))
        .collect();
    assert_eq!(rows, [("pools_fees_collected", 9), ("pools_made", 4)]);
    let fees = folder.run(&["export", "pools", "--event", "FeesCollected"]).stdout;
    let of_last = world.contract.to_string();
    assert_eq!(fees.lines().filter(|line| line.contains(&of_last)).count(), 1, "{fees}");
    let audited = folder.run(&["audit", "--chain", "local"]);
    assert!(audited.stdout.contains("nothing is missing, extra or altered"), "{}", audited.shown());
}
