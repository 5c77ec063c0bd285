//! `windlass index`, `windlass status` and changing one's mind.

use super::world::{EVENT, World, settle_until_collected, wait_until, wait_until_collected};
use crate::binary::{Folder, Running, hide_instants, hide_numbers};

fn shown(text: &str) -> String {
    hide_numbers(&hide_numbers(&hide_numbers(text, "127.0.0.1:"), "sqlite 3."), "sqlite 3.[N].")
}

/// Replaces every instant, and whatever else of a health record differs from run to run.
fn timeless(text: &str) -> String {
    let line = |line: &str| match line.trim_start().split_once("\": ") {
        Some((key @ ("\"since_ms" | "\"heard_ms" | "\"owner" | "\"is_urgent"), _)) => {
            format!("      {key}\": [N]\n")
        }
        _ => hide_age(&hide_instants(line)) + "\n",
    };
    text.lines().map(line).collect()
}

/// Replaces how long ago something was: a figure of seconds before `s ago`.
fn hide_age(line: &str) -> String {
    match line.split_once("s ago") {
        Some((before, after)) => {
            let kept = before.trim_end_matches(|c: char| c.is_ascii_digit());
            format!("{kept}Ns ago{after}")
        }
        None => line.to_owned(),
    }
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

/// A folder in which 20 events of 23 blocks were collected, and nobody is at work.
async fn collected() -> (World, Folder) {
    let world = World::start().await;
    world.pay(20);
    let folder = Folder::with_config(&world.config("2"));
    let running = start(&folder);
    wait_until_collected(&folder, "fees", 20);
    stop(running);
    (world, folder)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn indexes_are_listed_and_shown() {
    let (_world, folder) = collected().await;
    insta::assert_snapshot!("index_list", timeless(&folder.run(&["index", "list"]).shown()));
    insta::assert_snapshot!("index_list_json", timeless(&folder.run(&["index", "list", "--json"]).shown()));
    insta::assert_snapshot!("index_show", timeless(&folder.run(&["index", "show", "fees"]).shown()));
    insta::assert_snapshot!("index_missing", folder.run(&["index", "show", "fee"]).shown());
    let status = timeless(&shown(&folder.run(&["status"]).shown()));
    let (ours, _) = status.split_once("\njobs").expect("jobs come behind");
    insta::assert_snapshot!("status_collected", ours);
    let json: serde_json::Value =
        serde_json::from_str(&folder.run(&["status", "--json"]).stdout).expect("json");
    assert_eq!(json["indexes"][0]["events"], 20);
    assert_eq!(json["chains"][0]["followed"], 23);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_nobody_has_begun_with_is_new() {
    let world = World::start().await;
    let folder = Folder::with_config(&world.config("0"));
    let ran = folder.run(&["index", "list"]);
    assert!(ran.stderr.contains("error[W0101]"), "there is no database: {}", ran.shown());
    let mut running = folder.start(&["run", "--role", "upkeep"]);
    running.wait_for("running");
    stop(running);
    let ran = folder.run(&["index", "list"]);
    assert!(ran.stdout.contains("new"), "{}", ran.shown());
    folder.write("windlass.toml", "");
    assert_eq!(folder.run(&["index", "list"]).stdout, "no indexes\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_index_stands_still_until_it_is_resumed() {
    let (world, folder) = collected().await;
    let running = start(&folder);
    insta::assert_snapshot!("index_pause", folder.run(&["index", "pause", "fees"]).shown());
    insta::assert_snapshot!("index_pause_again", folder.run(&["index", "pause", "fees"]).shown());
    wait_until(&folder, "fees", |shown| shown["state"] == "paused");
    stop(running);
    let running = start(&folder);
    world.pay(30);
    insta::assert_snapshot!("index_resume", folder.run(&["index", "resume", "fees"]).shown());
    insta::assert_snapshot!("index_resume_again", folder.run(&["index", "resume", "fees"]).shown());
    settle_until_collected(&world, &folder, "fees", 50);
    stop(running);
    let ran = folder.run(&["index", "pause", "nothing"]);
    assert!(ran.stderr.contains("error[W0404]"), "{}", ran.shown());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_is_added_to_the_file_and_only_that_is_collected() {
    let (world, folder) = collected().await;
    let contract = world.contract.to_string();
    let before = folder.read("windlass.toml");
    let event = "FeesWithdrawn(address indexed token, address indexed to, uint256 amount)";
    let typed = ["index", "add", "withdrawn", "--contract", &contract, "--event", event, "--event", EVENT];
    let dry = folder.run(&[&typed[..], &["--dry-run"]].concat());
    insta::assert_snapshot!("index_add_dry", dry.shown());
    assert_eq!(folder.read("windlass.toml"), before);
    insta::assert_snapshot!("index_add", folder.run(&typed).shown());
    let after = folder.read("windlass.toml");
    assert_eq!(after, format!("{before}\n{}", dry.stdout));
    insta::assert_snapshot!("index_add_again", folder.run(&typed).shown());
    let running = start(&folder);
    world.settle();
    let shown = wait_until_collected(&folder, "withdrawn", 20);
    assert_eq!(shown["start"], 3, "where the contract was deployed");
    stop(running);
    let missing =
        ["index", "add", "b", "--contract", "0x00000000000000000000000000000000000000aa", "--event", "E()"];
    let ran = folder.run(&missing);
    assert!(ran.stderr.contains("error[W0205]"), "{}", ran.shown());
    assert_eq!(folder.read("windlass.toml"), after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_index_is_gone_and_can_be_collected_again() {
    let (world, folder) = collected().await;
    insta::assert_snapshot!(
        "index_drop_configured",
        folder.run(&["index", "drop", "fees", "--data", "--yes"]).shown()
    );
    assert_eq!(folder.run(&["index", "drop", "fees", "--data"]).code, Some(2), "--yes is wanted");
    let config = folder.read("windlass.toml");
    folder.write("windlass.toml", &world.chain_section());
    assert!(folder.run(&["index", "list"]).stdout.contains("removed"));
    insta::assert_snapshot!("index_drop_kept", folder.run(&["index", "drop", "fees"]).shown());
    insta::assert_snapshot!("index_drop", folder.run(&["index", "drop", "fees", "--data", "--yes"]).shown());
    assert!(folder.run(&["index", "drop", "fees"]).stderr.contains("error[W0404]"));
    folder.write("windlass.toml", &config);
    let running = start(&folder);
    world.settle();
    wait_until_collected(&folder, "fees", 20);
    folder.write("windlass.toml", &world.chain_section());
    let ran = folder.run(&["index", "drop", "fees", "--data", "--yes"]);
    assert!(ran.stderr.starts_with("error: a process is collecting the chain: "), "{}", ran.shown());
    assert!(ran.code == Some(1) && ran.stderr.contains("hint: stop `windlass run` first"), "{}", ran.shown());
    stop(running);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_does_not_fit_is_refused_with_what_resolves_it() {
    let (world, folder) = collected().await;
    let config = folder.read("windlass.toml");
    for (name, changed) in [
        ("change_types", config.replace("uint256 lifiFee", "uint128 lifiFee")),
        ("change_names", config.replace("lifiFee", "ourFee")),
        ("change_start", config.replace("start = 2", "start = 10")),
    ] {
        folder.write("windlass.toml", &changed);
        let ran = folder.run(&["run", "--role", "collect"]);
        insta::assert_snapshot!(name, ran.shown());
    }
    every_way_of_the_hint_works(&world, &folder, &config);
}

/// What the hint of W0403 names: undoing the change, another name, and collecting it anew.
fn every_way_of_the_hint_works(world: &World, folder: &Folder, config: &str) {
    folder.write("windlass.toml", &config.replace("start = 2", "start = 1"));
    let running = start(folder);
    wait_until(folder, "fees", |shown| shown["start"] == 1 && shown["lag_blocks"] == 0);
    stop(running);
    let changed = config.replace("lifiFee", "ourFee");
    folder.write("windlass.toml", &changed.replace("[index.fees]", "[index.fees_2]"));
    let running = start(folder);
    world.settle();
    wait_until_collected(folder, "fees_2", 20);
    stop(running);
    folder.write("windlass.toml", &changed);
    let dropped = folder.run(&["index", "drop", "fees", "--data", "--yes"]);
    assert_eq!(dropped.code, Some(0), "the command that was named works: {}", dropped.shown());
    let running = start(folder);
    world.settle();
    wait_until_collected(folder, "fees", 20);
    stop(running);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_earlier_start_collects_what_is_missing() {
    let (_world, folder) = collected().await;
    let config = folder.read("windlass.toml").replace("start = 2", "start = 0");
    folder.write("windlass.toml", &config);
    let running = start(&folder);
    let shown = wait_until(&folder, "fees", |shown| shown["start"] == 0 && shown["lag_blocks"] == 0);
    assert_eq!(shown["events"], 20);
    stop(running);
}
