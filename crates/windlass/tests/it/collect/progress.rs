//! How far an index is, while and after what is wanted changes: its numbers never
//! contradict each other, nor what is stored.

use serde_json::Value;

use super::world::{EVENT, World, until, wait_until, wait_until_collected};
use crate::binary::{Folder, Running};

const WITHDRAWN: &str = "FeesWithdrawn(address indexed token, address indexed to, uint256 amount)";

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

fn show(folder: &Folder) -> Value {
    let ran = folder.run(&["index", "show", "fees", "--json"]);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.shown()))
}

fn number(shown: &Value, key: &str) -> u64 {
    shown[key].as_u64().unwrap_or_else(|| panic!("no {key} in {shown}"))
}

/// What holds at every moment.
fn assert_sound(shown: &Value, head: u64) {
    let [start, lag, done, total] =
        ["start", "lag_blocks", "blocks_done", "blocks_total"].map(|key| number(shown, key));
    assert_eq!(total, head + 1 - start, "{shown}");
    assert_eq!(done + lag, total, "{shown}");
    let through = shown["collected_through"].as_u64();
    assert_eq!(lag == 0, through == Some(head), "{shown}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_out_of_an_index_is_not_missing_in_it() {
    let world = World::start().await;
    world.pay(20);
    let both = world.config("2").replace(&format!("\"{EVENT}\""), &format!("\"{EVENT}\", \"{WITHDRAWN}\""));
    let folder = Folder::with_config(&both);
    let running = start(&folder);
    wait_until_collected(&folder, "fees", 20);
    stop(running);
    folder.write("windlass.toml", &world.config("2"));
    assert_sound(&show(&folder), 23);
    let running = start(&folder);
    world.pay(20);
    let is_whole = |shown: &Value| shown["head"] == 43 && shown["lag_blocks"] == 0;
    let shown = wait_until(&folder, "fees", is_whole);
    assert_sound(&shown, 43);
    assert_eq!((&shown["state"], &shown["events"]), (&"realtime".into(), &40.into()));
    stop(running);
    assert_eq!(folder.run(&["index", "pause", "fees"]).code, Some(0));
    assert_eq!(show(&folder)["collected_through"], 43, "a pause takes nothing away");
}

/// Enough of them to be looked at while they come.
const BLOCKS: u64 = 60;

/// Ranges of one block, so that there is much to see.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_joins_an_index_is_never_taken_for_collected() {
    let world = World::start().await;
    let config = world.config("2").replace("lease_ttl", "max_range = 1\nlease_ttl");
    let withdrawn = config.replace(EVENT, WITHDRAWN);
    let folder = Folder::with_config(&withdrawn);
    world.pay(BLOCKS);
    let running = start(&folder);
    wait_until(&folder, "fees", |shown| shown["lag_blocks"] == 0);
    stop(running);
    let both = withdrawn.replace(&format!("\"{WITHDRAWN}\""), &format!("\"{WITHDRAWN}\", \"{EVENT}\""));
    folder.write("windlass.toml", &both);
    assert_eq!(show(&folder)["lag_blocks"], BLOCKS + 2, "nobody has begun with it");
    world.settle();
    let running = start(&folder);
    until(|| {
        let shown = show(&folder);
        let head = number(&shown, "head");
        assert_sound(&shown, head);
        let (lag, events) = (number(&shown, "lag_blocks"), number(&shown, "events"));
        assert!(lag > 0 || events == BLOCKS, "all of it, and not all its rows: {shown}");
        if lag == 0 && head == BLOCKS + 8 { Ok(()) } else { Err(shown.to_string()) }
    });
    stop(running);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_is_resumed_is_not_new() {
    let world = World::start().await;
    world.pay(20);
    let folder = Folder::with_config(&world.config("2"));
    let running = start(&folder);
    wait_until_collected(&folder, "fees", 20);
    assert_eq!(folder.run(&["index", "pause", "fees"]).code, Some(0));
    // What is not final is given back: its rows stay until it is looked at again.
    wait_until(&folder, "fees", |shown| shown["state"] == "paused" && shown["lag_blocks"] != 0);
    stop(running);
    assert_eq!(folder.run(&["index", "resume", "fees"]).code, Some(0));
    let shown = show(&folder);
    assert_sound(&shown, 23);
    assert_eq!((&shown["state"], &shown["events"]), (&"realtime".into(), &20.into()));
}

/// Before the chain was seen, nothing is known of how long it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_line_of_progress_is_true() {
    let world = World::start().await;
    world.pay(40);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run", "--role", "collect"]);
    let line = running.wait_for(" blocks, ");
    let of = line.split(" of=").nth(1).and_then(|rest| rest.split(' ').next());
    assert_eq!(of, Some("44"), "{line}");
}
