//! `windlass run` on a chain with a contract.

use windlass_devnet::chain::ReorgOptions;

use super::http::{get, url_in};
use super::world::{FINALITY, World, until, wait_until, wait_until_collected};
use crate::binary::{Folder, Running, hide_numbers};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_collected_and_a_restart_goes_on_from_there() {
    let world = World::start().await;
    world.pay(40);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    let line = running.wait_for("collecting");
    assert!(line.contains("chain=local") && line.contains("indexes=\"fees\""), "{line}");
    wait_until_collected(&folder, "fees", 40);
    world.pay(3);
    wait_until_collected(&folder, "fees", 43);
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0), "{rest}");
    world.pay(20);
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", 63);
    running.signal("INT");
    assert_eq!(running.end().0.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_is_searched_for_once() {
    let world = World::start().await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("\"deployment\""));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("the contract's deployment was found");
    let shown = wait_until_collected(&folder, "fees", 10);
    assert_eq!(shown["start"], 3);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0));
    assert!(!rest.contains("deployment was found"), "{rest}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_processes_share_the_work() {
    let world = World::start().await;
    world.pay(60);
    let mut config = world.config("0");
    config = config.replace("lease_ttl", "max_range = 3\nlease_ttl");
    let folder = Folder::with_config(&config);
    let mut crew: Vec<_> = (0..3).map(|_| folder.start(&["run", "--role", "collect"])).collect();
    crew.iter_mut().for_each(|running| drop(running.wait_for("running")));
    wait_until_collected(&folder, "fees", 60);
    for running in crew {
        running.signal("TERM");
        let (status, rest) = running.end();
        assert_eq!(status.code(), Some(0), "{rest}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_wrong_is_told_before_anything_is_written() {
    let world = World::start().await;
    let missing = "0x00000000000000000000000000000000000000aa";
    let contract = world.contract.to_string();
    for (name, config) in [
        ("run_no_contract", world.config("0").replace(&contract, missing)),
        ("run_wrong_chain", world.config("0").replace("id = 31337", "id = 137")),
        ("run_secret", world.config("0").replace(&world.url(), "env:NO_SUCH_RPC")),
        ("run_no_start", world.config("0").replace("start = 0\n", "")),
        ("run_event", world.config("0").replace("address indexed token", "adress indexed token")),
        ("run_abi", world.config("0").replace("events = ", "abi = \"No.json\"\nevents = ")),
    ] {
        let folder = Folder::with_config(&config);
        let ran = folder.run(&["run"]);
        assert_eq!(ran.code, Some(1), "{}", ran.shown());
        insta::assert_snapshot!(name, hide_numbers(&ran.shown(), "127.0.0.1:"));
        assert!(!folder.path().join("windlass.db").exists(), "{name} has left a database");
    }
}

/// Polling alone would take an hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn news_of_heads_come_over_a_socket() {
    let world = World::start().await;
    world.pay(10);
    let both = format!("\"{}\", \"{}\"", world.url(), world.ws_url());
    let config =
        world.config("0").replace(&format!("\"{}\"", world.url()), &both).replace("\"20ms\"", "\"1h\"");
    let folder = Folder::with_config(&config);
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    let shown = until(|| {
        // A block at a time: the first may be made before the socket listens.
        world.pay(1);
        let ran = folder.run(&["index", "show", "fees", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&ran.stdout).map_err(|_| ran.shown())?;
        if shown["state"] == "realtime" { Ok(shown) } else { Err(ran.shown()) }
    });
    let events = shown["events"].as_u64().expect("a number");
    world.pay(1);
    wait_until(&folder, "fees", |shown| shown["events"].as_u64() > Some(events));
}

/// Where there is no terminal, how far it is goes to the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn progress_is_logged_where_there_is_no_terminal() {
    let world = World::start().await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run", "--role", "collect"]);
    let line = running.wait_for(" blocks, ");
    assert!(line.contains("index=\"fees\"") && line.contains(" events"), "{line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_api_tells_how_far_it_is() {
    let world = World::start().await;
    world.pay(12);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    wait_until_collected(&folder, "fees", 12);
    assert_eq!(get(&url, "/"), (200, "Api Running".to_owned()));
    let indexes = || {
        let (status, body) = get(&url, "/api/v1/indexes");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<serde_json::Value>(&body).expect("json")
    };
    // What the API tells was looked up a moment ago.
    let all_in = |text: &str, words: &[&str]| words.iter().all(|word| text.contains(word));
    until(|| {
        let told = indexes().to_string();
        if all_in(&told, &["\"fees\"", "\"realtime\"", "\"lag_blocks\":0"]) { Ok(()) } else { Err(told) }
    });
    until(|| match get(&url, "/readyz") {
        (200, _) => Ok(()),
        (_, body) => Err(body),
    });
    let wanted = [
        "windlass_collect_events{index=\"fees\"} 12",
        "windlass_collect_lag_blocks{index=\"fees\"} 0",
        "windlass_collect_halted{chain=\"local\"} 0",
        "windlass_collect_rpc_healthy{chain=\"local\",place=\"http://127.0.0.1:",
        "windlass_collect_ranges_total{chain=\"local\",outcome=\"collected\"} ",
        "windlass_collect_rpc_seconds_bucket{chain=\"local\",method=\"logs\"",
    ];
    until(|| match get(&url, "/metrics") {
        (200, numbers) if all_in(&numbers, &wanted) => Ok(()),
        (status, numbers) => Err(format!("{status}, and not all of {wanted:#?} in\n{numbers}")),
    });
}

/// Behind what the chain calls final nothing may change; when it does, everything stands still.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reorg_past_finality_stops_the_chain_and_says_so() {
    let world = World::start().await;
    world.pay(20);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    wait_until_collected(&folder, "fees", 20);
    wait_until_backfilled(&folder);
    let deeper = ReorgOptions { allow_finalized: true, return_to_pool: false, ..ReorgOptions::default() };
    world.chain.reorg(FINALITY + 3, &deeper).expect("a reorg");
    let shown = wait_until(&folder, "fees", |shown| shown["state"] == "stopped");
    assert_eq!(shown["events"], 20, "nothing was deleted");
    // What it says may be a moment old: until a process had begun, nobody collected the chain.
    let body = until(|| match get(&url, "/readyz") {
        (503, body) if body.contains("W0206") => Ok(body),
        (_, body) => Err(body),
    });
    assert!(body.contains("chain local"), "{body}");
    let status = folder.run(&["status"]);
    assert!(status.stdout.contains("warning[W0206]: local: "), "{}", status.stdout);
    let way_back = "windlass index rewind --chain local --to 15 --yes";
    assert!(body.contains(way_back) && status.stdout.contains(way_back), "{body}\n{}", status.stdout);
    rewind(&world, &folder, running);
}

/// Waits until the past is collected and the follower has seen that it is: rows of ranges that are
/// stored shortly before the chain is replaced may be of either chain.
fn wait_until_backfilled(folder: &Folder) {
    let database = rusqlite::Connection::open(folder.path().join("windlass.db")).expect("the database");
    until(|| {
        let plan = "SELECT value FROM state WHERE key = 'collect/31337/plan'";
        let plan: String =
            database.query_row(plan, [], |row| row.get(0)).map_err(|error| error.to_string())?;
        if plan.contains("\"campaigns\":[]") { Ok(()) } else { Err(plan) }
    });
}

/// What an operator does then.
fn rewind(world: &World, folder: &Folder, running: Running) {
    let typed = |to: &'static str| ["index", "rewind", "--chain", "local", "--to", to, "--yes"];
    insta::assert_snapshot!("rewind_running", folder.run(&typed("15")).shown());
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let differs = folder.run(&typed("20"));
    assert!(differs.stderr.contains("choose a lower block"), "{}", differs.shown());
    insta::assert_snapshot!("rewind", folder.run(&typed("15")).shown());
    insta::assert_snapshot!("rewind_nothing", folder.run(&typed("15")).shown());
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    wait_until(folder, "fees", |shown| shown["lag_blocks"] == 0 && shown["state"] == "realtime");
    world.pay(2);
    wait_until_collected(folder, "fees", 14);
}
