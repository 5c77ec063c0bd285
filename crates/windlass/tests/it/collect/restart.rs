//! What is stored is not asked for again.

use super::world::{World, until, wait_until_collected};
use crate::binary::{Folder, Running};

/// So many blocks at a time: going over the past takes many questions.
const RANGE: u64 = 2;

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

/// Waits until every final block was looked at a second time: then nothing is left to ask.
fn wait_until_settled(folder: &Folder, world: &World) {
    until(|| {
        let ran = folder.run(&["status", "--json"]);
        let status: serde_json::Value = serde_json::from_str(&ran.stdout).map_err(|_| ran.shown())?;
        let cursors = status["cursors"].as_array().ok_or_else(|| ran.shown())?;
        let is_settled = cursors.iter().any(|cursor| {
            let at = cursor["cursor"]["primary"].as_u64();
            cursor["name"] == "collect/31337/recheck" && at == Some(world.chain.finalized())
        });
        if is_settled { Ok(()) } else { Err(ran.shown()) }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_asks_for_no_logs_that_are_stored() {
    let world = World::start().await;
    world.pay(60);
    let config =
        world.config("0").replace("[chain.local]\n", &format!("[chain.local]\nmax_range = {RANGE}\n"));
    let folder = Folder::with_config(&config);
    let running = start(&folder);
    wait_until_collected(&folder, "fees", 60);
    wait_until_settled(&folder, &world);
    stop(running);
    let asked = world.asked("eth_getLogs");
    assert!(asked >= 60 / RANGE, "the past was gone over in ranges: {asked}");

    let running = start(&folder);
    // Blocks that come now are asked for, each once and once more when it is final.
    world.pay(1);
    wait_until_collected(&folder, "fees", 61);
    wait_until_settled(&folder, &world);
    stop(running);
    let again = world.asked("eth_getLogs") - asked;
    assert!((1..=4).contains(&again), "{again} questions for one new block");
}
