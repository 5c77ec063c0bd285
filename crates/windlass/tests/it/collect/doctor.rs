//! `windlass doctor` on indexes.

use super::world::World;
use crate::binary::{Folder, hide_numbers};

/// What is said of indexes and of what is final.
fn ours(text: &str) -> String {
    let is_ours =
        |line: &&str| line.contains("index.") || line.contains("finalized") || line.contains("hint");
    let lines: String = text.lines().filter(is_ours).map(|line| format!("{line}\n")).collect();
    hide_numbers(&lines, "127.0.0.1:")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contracts_and_first_logs_are_looked_for() {
    let world = World::start().await;
    world.pay(10);
    let missing = "0x00000000000000000000000000000000000000aa";
    let contract = world.contract.to_string();
    for (name, config) in [
        ("doctor_index", world.config("4")),
        ("doctor_index_deployment", world.config("\"deployment\"")),
        ("doctor_index_future", world.config("400")),
        ("doctor_index_missing", world.config("4").replace(&contract, missing)),
    ] {
        let ran = Folder::with_config(&config).run(&["doctor"]);
        insta::assert_snapshot!(name, ours(&ran.stdout));
        assert_eq!(ran.code, Some(i32::from(name == "doctor_index_missing")), "{}", ran.shown());
    }
}

/// What an endpoint in trouble answers says nothing about ranges, state or what it has pruned.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_is_in_trouble_now_and_then_is_blamed_for_nothing_else() {
    let world = World::start().await;
    world.pay(10);
    for (name, faults) in
        [("doctor_503_logs", "503=1@eth_getLogs"), ("doctor_503_state", "503=1@eth_getBalance")]
    {
        world.faults.set(faults.parse().expect("a plan"));
        let ran = Folder::with_config(&world.config("4")).run(&["doctor"]);
        let told: String = ran.stdout.lines().skip(5).map(|line| format!("{line}\n")).collect();
        let told = hide_numbers(&hide_numbers(&told, "127.0.0.1:"), " is block 13, ");
        insta::assert_snapshot!(name, hide_numbers(&told, "answers within "));
        assert_eq!(ran.code, Some(1), "{}", ran.shown());
    }
}
