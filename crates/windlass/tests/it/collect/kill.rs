//! A process that was killed: the next one goes on at once, long before leases run out.

use serde_json::Value;

use super::world::{World, until, wait_until, wait_until_collected};
use crate::binary::{Folder, Running};

/// So many blocks at a time: the past is many ranges, several of which are held at once.
const RANGE: u64 = 2;

/// A chain whose leases last longer than any test.
pub(super) fn config(world: &World) -> String {
    let config = world.config("0").replace("lease_ttl = \"5s\"", "lease_ttl = \"1h\"");
    config.replace("[chain.local]\n", &format!("[chain.local]\nmax_range = {RANGE}\n"))
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

/// Kills a process and waits until it is gone.
fn kill(running: Running) {
    running.signal("KILL");
    assert_eq!(running.end().0.code(), None);
}

fn set(world: &World, plan: &str) {
    world.faults.set(plan.parse().expect("a plan"));
}

/// The head, and ranges that were under way.
pub(super) fn a_killed_process_is_followed_at_once(world: &World, folder: &Folder) {
    set(world, "timeout=1:60s@eth_getLogs");
    let running = start(folder);
    let held =
        |shown: &Value| shown["health"]["owner"].is_string() && shown["health"]["held_until_ms"].is_i64();
    let shown = wait_until(folder, "fees", held);
    let died = shown["health"]["owner"].as_str().expect("an owner").to_owned();
    until(|| if world.asked("eth_getLogs") > 0 { Ok(()) } else { Err("no range is held".into()) });
    kill(running);
    let shown = wait_until(folder, "fees", |shown| shown["health"]["state"] == "unattended");
    let message = shown["health"]["message"].as_str().expect("words");
    assert!(message.contains(&died) && message.contains("has died"), "{message}");
    set(world, "");
    let running = start(folder);
    wait_until_collected(folder, "fees", 60);
    world.pay(1);
    wait_until_collected(folder, "fees", 61);
    kill(running);
    world.pay(1);
    let running = start(folder);
    wait_until_collected(folder, "fees", 62);
    stop(running);
}

/// One that runs already and waits for the chain.
pub(super) fn a_standby_takes_over_at_once(world: &World, folder: &Folder) {
    let first = start(folder);
    wait_until_collected(folder, "fees", 60);
    let mut second = folder.start(&["run", "--role", "collect"]);
    second.wait_for("another process holds the chain");
    // Nothing is taken from one that lives.
    world.pay(1);
    wait_until_collected(folder, "fees", 61);
    kill(first);
    second.wait_for("this process collects the chain now");
    world.pay(1);
    wait_until_collected(folder, "fees", 62);
    stop(second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_after_a_kill_does_not_wait_for_leases() {
    let world = World::of_today(31_337).await;
    world.pay(60);
    let folder = Folder::with_config(&config(&world));
    a_killed_process_is_followed_at_once(&world, &folder);
    assert!(!folder.path().join("windlass.db-alive").exists(), "a clean end leaves no locks behind");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_waits_for_one_that_is_killed_takes_over() {
    let world = World::of_today(31_337).await;
    world.pay(60);
    let folder = Folder::with_config(&config(&world));
    a_standby_takes_over_at_once(&world, &folder);
}
