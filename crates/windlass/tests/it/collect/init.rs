//! `windlass init` with a contract, and from the fee collector's variables.

use super::terminal::Shown;
use super::world::{EVENT, World, wait_until_collected};
use crate::binary::{Folder, hide_numbers};

fn shown(text: &str) -> String {
    hide_numbers(text, "127.0.0.1:")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_is_written_down_after_it_was_looked_at() {
    let world = World::start().await;
    world.pay(10);
    let (url, contract) = (world.url(), world.contract.to_string());
    let folder = Folder::new();
    let typed = ["init", "--rpc", &url, "--contract", &contract, "--event", EVENT, "--index-name", "fees"];
    let ran = folder.run(&typed);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let written = folder.read("windlass.toml");
    insta::assert_snapshot!("init_contract", shown(&written));
    let again = folder.run(&typed);
    assert_eq!(again.code, Some(1), "it is not overwritten");
    assert!(again.stderr.contains("error[W0004]"), "{}", again.stderr);
    let folder = folder.variable("WINDLASS_API__LISTEN", "127.0.0.1:0");
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", 10);
}

/// On a terminal the block of the deployment is looked for as soon as the contract is known.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_contract_that_was_typed_is_looked_at_before_the_next_question() {
    let world = World::start().await;
    world.pay(10);
    let folder = Folder::new();
    let mut asked = Shown::start_with_input(&folder, &["init", "--rpc", &world.url()]);
    asked.until(&["the endpoint serves chain 31337, `local`", "address of a contract to collect"]);
    asked.answer(&world.contract.to_string());
    asked.until(&["the contract is there; collecting begins at block", "event, as the contract declares it"]);
    asked.answer(EVENT);
    asked.until(&["wrote windlass.toml"]);
    assert_eq!(asked.end(), Some(0));
    let typed = [
        "init",
        "--dry-run",
        "--rpc",
        &world.url(),
        "--contract",
        &world.contract.to_string(),
        "--event",
        EVENT,
    ];
    assert_eq!(folder.read("windlass.toml"), folder.run(&typed).stdout, "what flags write");
}

/// On a terminal a slip in a signature is not written down without a yes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_that_no_log_has_is_asked_for_again() {
    let world = World::start().await;
    world.pay(12);
    let (folder, url, contract) = (Folder::new(), world.url(), world.contract.to_string());
    let slip = EVENT.replace("uint256 lifiFee", "uint128 lifiFee");
    let typed = ["init", "--rpc", &url, "--contract", &contract, "--start", "4", "--event", &slip];
    let mut asked = Shown::start_with_input(&folder, &typed);
    asked.until(&["W0408", "write it all the same (yes/no)", "[no]: "]);
    asked.answer("no");
    asked.until(&["event, as the contract declares it"]);
    asked.answer(EVENT);
    asked.until(&["wrote windlass.toml"]);
    assert_eq!(asked.end(), Some(0));
    assert!(folder.read("windlass.toml").contains("uint256 lifiFee"));
    let mut agreed = Shown::start_with_input(&folder, &[&typed[..], &["--force"]].concat());
    agreed.until(&["write it all the same (yes/no)", "[no]: "]);
    agreed.answer("yes");
    agreed.until(&["wrote windlass.toml"]);
    assert_eq!(agreed.end(), Some(0));
    assert!(folder.read("windlass.toml").contains("uint128 lifiFee"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_chain_has_the_name_that_was_given_and_the_start_too() {
    let world = World::start().await;
    let (url, contract) = (world.url(), world.contract.to_string());
    let folder = Folder::new();
    let base = [
        "init",
        "--dry-run",
        "--rpc",
        &url,
        "--chain-name",
        "mine",
        "--contract",
        &contract,
        "--event",
        EVENT,
    ];
    for (start, line) in [("7", "\nstart = 7\n"), ("deployment", "\nstart = \"deployment\"\n")] {
        let ran = folder.run(&[&base[..], &["--start", start]].concat());
        for part in ["[chain.mine]", "chain = \"mine\"", "[index.contract]", line] {
            assert!(ran.stdout.contains(part), "no {part} in {}", ran.shown());
        }
    }
    world.pay(7);
    let warned = |start| folder.run(&[&base[..], &["--start", start]].concat()).stderr;
    assert!(!warned("7").contains("warning"), "{}", warned("7"));
    let above = warned("99999999");
    assert!(above.contains("warning: block 99999999 does not exist yet"), "{above}");
    assert!(!folder.path().join("windlass.toml").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abi_is_found_from_wherever_the_file_is() {
    let world = World::start().await;
    let (url, contract) = (world.url(), world.contract.to_string());
    let folder = Folder::new();
    std::fs::create_dir(folder.path().join("etc")).expect("a folder");
    let artifact = include_str!("../../../../../contracts/artifacts/FeeCollector.json");
    folder.write("Fees.json", artifact);
    let typed =
        ["init", "--config", "etc/w.toml", "--rpc", &url, "--contract", &contract, "--abi", "Fees.json"];
    let ran = folder.run(&[&typed[..], &["--event", "FeesCollected", "--event", "FeesWithdrawn"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let written = folder.read("etc/w.toml");
    assert!(written.contains("/Fees.json\"\nevents = [\n  \"FeesCollected\",\n"), "{written}");
    assert_eq!(folder.run(&["--config", "etc/w.toml", "config", "check"]).code, Some(0));
    let slip = folder.run(&[&typed[..], &["--force", "--event", "FeesColected"]].concat());
    assert!(slip.stderr.contains("did you mean `FeesCollected`?"), "{}", slip.shown());
    assert_eq!(folder.run(&["init", "--rpc", &url, "--event", EVENT]).code, Some(2), "a contract is wanted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_collected_is_not_written_down() {
    let world = World::start().await;
    let (url, contract) = (world.url(), world.contract.to_string());
    let missing = "0x00000000000000000000000000000000000000aa";
    let folder = Folder::new();
    for (name, contract, more) in [
        ("init_no_contract", missing, &["--event", EVENT][..]),
        ("init_event", &contract, &["--event", "FeesCollected(adress token)"]),
        ("init_no_event", &contract, &[]),
        ("init_abi", &contract, &["--abi", "No.json"]),
    ] {
        let ran = folder.run(&[&["init", "--rpc", &url, "--contract", contract][..], more].concat());
        insta::assert_snapshot!(name, shown(&ran.shown()));
        assert!(!folder.path().join("windlass.toml").exists(), "{name}");
    }
    let slip = folder.run(&["init", "--rpc", &url, "--contract", "0x12", "--event", EVENT]);
    assert_eq!(slip.code, Some(2), "{}", slip.shown());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fee_collectors_variables_are_taken_over() {
    let world = World::with_id(137).await;
    world.pay(5);
    let folder = Folder::new()
        .variable("ACTIVE_CHAIN", "137")
        .variable("RPC_URL", world.url())
        .variable("CONTRACT_ADDRESS", world.contract.to_string())
        .variable("START_POINT", "2")
        .variable("BATCH_SIZE", "10")
        .variable("HISTORICAL_POLL_INTERVAL_MS", "20")
        .variable("REALTIME_POLL_INTERVAL_MS", "never")
        .variable("API_PORT", "9998")
        .variable("LOG_LEVEL", "info")
        .variable("MONGO_URI", "mongodb://me:hunter2@localhost:27017/fees")
        .variable("APP_ENV", "development")
        .variable("DEV_MULTIPLE_WORKERS", "3");
    let ran = folder.run(&["init", "--from-env"]);
    assert!(!ran.shown().contains("hunter2"), "{}", ran.shown());
    insta::assert_snapshot!("init_from_env", shown(&ran.shown()));
    insta::assert_snapshot!("init_from_env_file", folder.read("windlass.toml"));
    let folder = folder.variable("WINDLASS_API__LISTEN", "127.0.0.1:0");
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fee_collectors_mistakes_are_told_apart() {
    insta::assert_snapshot!("init_from_env_missing", Folder::new().run(&["init", "--from-env"]).shown());
    let world = World::start().await;
    let folder = Folder::new()
        .variable("ACTIVE_CHAIN", "137")
        .variable("RPC_URL", world.url())
        .variable("CONTRACT_ADDRESS", world.contract.to_string())
        .variable("START_POINT", "2");
    let ran = folder.run(&["init", "--from-env"]);
    assert!(ran.stderr.contains("error[W0202]") && ran.code == Some(1), "{}", ran.shown());
    assert!(!folder.path().join("windlass.toml").exists());
}
