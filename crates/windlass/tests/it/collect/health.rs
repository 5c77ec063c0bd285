//! What is wrong is told: an endpoint that is down, hangs or lags, a chain that nobody
//! collects, a process that waits for another.

use serde_json::Value;
use windlass_devnet::chain::ReorgOptions;

use super::http::{get, url_in};
use super::world::{FINALITY, World, until, wait_until, wait_until_collected};
use crate::binary::{Folder, Running};

/// Waits until the API answers so, and says this.
fn wait_for_readiness(url: &str, status: u16, words: &str) -> String {
    until(|| match get(url, "/readyz") {
        (found, body) if found == status && body.contains(words) => Ok(body),
        (found, body) => Err(format!("{found}: {body}")),
    })
}

/// Waits until an index says so of its chain's health.
fn wait_for_health(folder: &Folder, index: &str, state: &str) -> Value {
    wait_until(folder, index, |shown| shown["health"]["state"] == state)
}

/// Waits until this is among the numbers.
fn wait_for_number(url: &str, line: &str) {
    until(|| match get(url, "/metrics").1 {
        numbers if numbers.contains(line) => Ok(()),
        numbers => Err(numbers),
    });
}

/// Everything, with the API at a port of its own.
fn start(folder: &Folder) -> (Running, String) {
    let mut running = folder.start(&["run"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    (running, url)
}

fn stop(running: Running) -> String {
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0), "{rest}");
    rest
}

fn count(text: &str, words: &str) -> usize {
    text.lines().filter(|line| line.contains(words)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_goes_down_is_told_everywhere_and_so_is_that_it_is_back() {
    let world = World::of_today(31_337).await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let (running, url) = start(&folder);
    wait_until_collected(&folder, "fees", 10);
    wait_for_health(&folder, "fees", "collecting");
    wait_for_readiness(&url, 200, "true");
    world.faults.set("503=1".parse().expect("a plan"));
    let body = wait_for_readiness(&url, 503, "the rpc is down since ");
    assert!(body.contains("W0201") && body.contains("chain local") && body.contains("status 503"), "{body}");
    let status = folder.run(&["status"]).stdout;
    for words in ["rpc down", "warning[W0201]: local: the rpc is down since ", "hint: `windlass doctor`"] {
        assert!(status.contains(words), "{status}");
    }
    let list = folder.run(&["index", "list"]).stdout;
    assert!(list.contains("  rpc down  ") && list.contains("warning[W0201]"), "{list}");
    let indexes = get(&url, "/api/v1/indexes").1;
    assert!(indexes.contains("\"health\":{\"state\":\"rpc_down\""), "{indexes}");
    wait_for_number(&url, "windlass_collect_ready{chain=\"local\"} 0");
    world.faults.set("".parse().expect("a plan"));
    world.pay(1);
    wait_until_collected(&folder, "fees", 11);
    wait_for_health(&folder, "fees", "collecting");
    wait_for_readiness(&url, 200, "true");
    let log = stop(running);
    let (lost, found) = ("the chain cannot be collected now", "the chain can be collected again");
    let told: Vec<&str> =
        log.lines().flat_map(|line| [lost, found].into_iter().filter(|words| line.contains(words))).collect();
    // Once as a rule; a machine that stands still for a while makes it twice, and says both twice.
    assert!(!told.is_empty() && told.chunks(2).all(|pair| pair == [lost, found]), "{log}");
    assert_eq!(count(&log, "is retried after"), 0, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_hangs_is_told_before_any_question_has_run_out() {
    let world = World::of_today(31_337).await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let (_running, url) = start(&folder);
    wait_until_collected(&folder, "fees", 10);
    world.faults.set("timeout=1:60s".parse().expect("a plan"));
    let body = wait_for_readiness(&url, 503, "W0201");
    let is_said =
        ["have been asked and do not answer", "did not answer within"].map(|words| body.contains(words));
    assert!(is_said.contains(&true), "{body}");
    wait_for_health(&folder, "fees", "rpc_down");
}

/// Its blocks are of another year: nothing is wrong with collecting, and much with what is collected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_is_behind_is_told_and_no_reason_not_to_be_ready() {
    let world = World::start().await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let (mut running, url) = start(&folder);
    running.wait_for("the newest block of the chain's endpoints is old");
    wait_until_collected(&folder, "fees", 10);
    let shown = wait_for_health(&folder, "fees", "behind");
    let message = shown["health"]["message"].as_str().expect("a message");
    assert!(message.starts_with("the newest block 13 of its endpoints is "), "{message}");
    assert!(folder.run(&["status"]).stdout.contains("warning[W0207]: local: the newest block "));
    wait_for_readiness(&url, 200, "true");
    wait_for_number(&url, "windlass_collect_head_timestamp_seconds{chain=\"local\"} 17");
}

/// One process serves, and only another can collect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_nobody_collects_is_told_by_those_who_only_serve_it() {
    let world = World::of_today(31_337).await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let mut api = folder.start(&["run", "--role", "api"]);
    let url = url_in(&api.wait_for("serving what was collected"));
    wait_for_readiness(&url, 503, "nobody collects this chain: no process has begun with it");
    let mut collector = folder.start(&["run", "--role", "collect"]);
    collector.wait_for("running");
    wait_for_readiness(&url, 200, "true");
    wait_until_collected(&folder, "fees", 10);
    stop(collector);
    let body = wait_for_readiness(&url, 503, "W0405");
    assert!(body.contains("nobody collects this chain: no process holds it since "), "{body}");
    assert_eq!(wait_for_health(&folder, "fees", "unattended")["state"], "realtime", "as far as it is");
}

/// A process that was killed, and the one that takes over.
pub(super) fn the_second_waits_and_takes_over(world: &World, folder: &Folder) {
    let mut first = folder.start(&["run", "--role", "collect"]);
    first.wait_for("running");
    let shown = wait_for_health(folder, "fees", "collecting");
    let holder = shown["health"]["owner"].as_str().expect("an owner").to_owned();
    let mut second = folder.start(&["run", "--role", "collect"]);
    let line = second.wait_for("another process holds the chain");
    assert!(line.contains(&format!("holder={holder}")) && line.contains("left_s="), "{line}");
    first.signal("KILL");
    second.wait_for("this process collects the chain now");
    world.pay(1);
    wait_until_collected(folder, "fees", 11);
    let is_heir =
        |shown: &Value| shown["health"]["state"] == "collecting" && shown["health"]["owner"] != holder;
    wait_until(folder, "fees", is_heir);
    stop(second);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_waits_for_another_says_so_and_takes_over() {
    let world = World::of_today(31_337).await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0").replace("lease_ttl = \"5s\"", "lease_ttl = \"2s\""));
    the_second_waits_and_takes_over(&world, &folder);
}

/// Nothing goes on, and the log does not say that it does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_halt_is_said_once() {
    let world = World::start().await;
    world.pay(20);
    let folder = Folder::with_config(&world.config("0"));
    let (mut running, url) = start(&folder);
    wait_until_collected(&folder, "fees", 20);
    let deeper = ReorgOptions { allow_finalized: true, return_to_pool: false, ..ReorgOptions::default() };
    world.chain.reorg(FINALITY + 3, &deeper).expect("a reorg");
    let line = running.wait_for("W0206");
    assert!(line.contains("ERROR") && line.contains("collecting it has stopped"), "{line}");
    assert!(line.contains("up to block 15 the chain has what is stored"), "{line}");
    assert!(line.contains("windlass index rewind --chain local --to 15 --yes"), "{line}");
    wait_for_readiness(&url, 503, "W0206");
    wait_for_health(&folder, "fees", "stopped");
    let log = stop(running);
    assert_eq!(count(&log, "collecting it has stopped"), 0, "it was said: {log}");
    assert_eq!(count(&log, "is retried after"), 0, "{log}");
}

/// The chain began anew and grows while collecting stands still: the block that is found to be gone moves
/// with its head, which is no news.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_began_anew_is_said_once_while_it_grows() {
    let world = World::start().await;
    world.pay(40);
    let folder = Folder::with_config(&world.config("3"));
    let (mut running, _) = start(&folder);
    wait_until_collected(&folder, "fees", 40);
    let anew = ReorgOptions {
        new_blocks: Some(10),
        allow_finalized: true,
        return_to_pool: false,
        ..ReorgOptions::default()
    };
    world.chain.reorg(world.chain.head().number(), &anew).expect("a reorg");
    let line = running.wait_for("W0206");
    assert!(line.contains("the chain has none of the blocks that are stored"), "{line}");
    assert!(line.contains("windlass index rewind --chain local --to "), "{line}");
    let gone = || {
        until(|| {
            let ran = folder.run(&["status", "--json"]);
            let status: Value = serde_json::from_str(&ran.stdout).map_err(|_| ran.shown())?;
            status["chains"][0]["halt"]["block"]["number"].as_u64().ok_or_else(|| ran.shown())
        })
    };
    for _ in 0..2 {
        let before = gone();
        world.chain.mine_many(3);
        until(|| if gone() > before { Ok(()) } else { Err(format!("block {before}")) });
    }
    let log = stop(running);
    assert_eq!(count(&log, "collecting it has stopped"), 0, "it was said: {log}");
}
