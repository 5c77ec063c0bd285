//! `windlass doctor` on indexes.

use super::world::{EVENT, World};
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

/// Guards against a table that stays empty for ever because of a slip in a type.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signature_that_no_log_has_is_warned_about_by_everybody() {
    let world = World::start().await;
    world.pay(12);
    let slip = EVENT.replace("uint256 lifiFee", "uint128 lifiFee");
    let unseen = "none of the 12 logs of ";
    let topic = "0x28a87b6059180e46de5fb9ab35eb043e8fe00ab45afcc7789e3934ecbbcde3ea (12)";
    let folder = Folder::with_config(&world.config("4").replace(EVENT, &slip));
    let told = |text: &str| text.contains("W0408") && text.contains(unseen) && text.contains(topic);
    let doctor = folder.run(&["doctor"]);
    assert!(told(&doctor.stdout), "{}", doctor.shown());
    let mut running = folder.start(&["run", "--role", "collect"]);
    let line = running.wait_for("W0408");
    assert!(told(&line), "{line}");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let (url, contract) = (world.url(), world.contract.to_string());
    let typed = ["init", "--dry-run", "--rpc", &url, "--contract", &contract, "--start", "4", "--event"];
    let init = |event: &str| Folder::new().run(&[&typed[..], &[event]].concat());
    let warned = init(&slip);
    assert!(told(&warned.stderr), "{}", warned.shown());
    assert_eq!(warned.code, Some(0), "nothing is refused");
    assert!(!init(EVENT).stderr.contains("W0408"), "the right one is not warned about");
    let well = Folder::with_config(&world.config("4")).run(&["doctor"]);
    assert!(!well.stdout.contains("W0408"), "{}", well.shown());
}

/// Two endpoints of one id that serve different chains.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endpoints_that_have_different_blocks_are_told_apart() {
    let (world, other) = (World::start().await, World::of_today(31_337).await);
    world.pay(10);
    other.pay(11);
    let one = format!("\"{}\"", world.url());
    for (second, code, words) in [
        (world.url(), Some(1), "chain.local.rpc: one URL twice: at places 1 and 2"),
        (world.url().replace("127.0.0.1", "localhost"), Some(0), "2 endpoints have the same block"),
        (other.url(), Some(1), "the endpoints have different blocks"),
    ] {
        let config = world.config("4").replacen(&one, &format!("{one}, \"{second}\""), 1);
        let ran = Folder::with_config(&config).run(&["doctor"]);
        assert!(ran.stdout.contains(words), "{}", ran.shown());
        assert_eq!(ran.code, code, "{}", ran.shown());
    }
}
