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
