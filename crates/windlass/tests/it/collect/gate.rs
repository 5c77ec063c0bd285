//! `windlass run` on chains of which some do not answer when it starts.

use super::http::{get, url_in};
use super::world::{EVENT, World, until, wait_until, wait_until_collected};
use crate::binary::{Folder, Running};

/// Two chains with an index each; the second is called `far`.
fn config(near: &World, far: &World) -> String {
    let second = far.chain_section().replace("[chain.local]", "[chain.far]");
    let contract = far.contract;
    format!(
        "{}\n{second}\n[index.far_fees]\nchain = \"far\"\ncontract = \"{contract}\"\nstart = 0\nevents = [\"{EVENT}\"]\n",
        near.config("0")
    )
}

async fn worlds() -> (World, World) {
    let (near, far) = (World::of_today(31_337).await, World::of_today(31_338).await);
    near.pay(10);
    far.pay(5);
    (near, far)
}

fn lose(world: &World) {
    world.faults.set("reset=1".parse().expect("a plan"));
}

fn find(world: &World) {
    world.faults.set("".parse().expect("a plan"));
}

fn start(folder: &Folder) -> (Running, String) {
    let mut running = folder.start(&["run"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    (running, url)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_does_not_answer_keeps_no_other_from_being_collected() {
    let (near, far) = worlds().await;
    lose(&far);
    let folder = Folder::with_config(&config(&near, &far));
    let (mut running, url) = start(&folder);
    let line = running.wait_for("do not answer");
    assert!(line.contains("chain=far") && line.contains("code=W0201"), "{line}");
    wait_until_collected(&folder, "fees", 10);
    let shown = wait_until(&folder, "far_fees", |shown| shown["health"]["state"] == "rpc_down");
    assert_eq!(shown["state"], "new");
    until(|| match get(&url, "/readyz") {
        (503, body)
            if body.contains("W0201") && body.contains("chain far") && !body.contains("chain local") =>
        {
            Ok(())
        }
        (_, body) => Err(body),
    });
    find(&far);
    running.wait_for("the chain's endpoints answer");
    wait_until_collected(&folder, "far_fees", 5);
    until(|| match get(&url, "/readyz") {
        (200, _) => Ok(()),
        (_, body) => Err(body),
    });
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
}

/// It answers at last, and with the wrong thing: the other goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_that_fails_later_stops_that_chain_alone() {
    let (near, far) = worlds().await;
    lose(&far);
    let folder = Folder::with_config(&config(&near, &far).replace("id = 31338", "id = 31339"));
    let (mut running, url) = start(&folder);
    running.wait_for("do not answer");
    find(&far);
    let line = running.wait_for("cannot be collected until this is mended");
    assert!(line.contains("chain=far") && line.contains("W0202"), "{line}");
    wait_until_collected(&folder, "fees", 10);
    wait_until(&folder, "far_fees", |shown| {
        shown["health"]["state"] == "stopped" && shown["health"]["code"] == "W0202"
    });
    let body = until(|| match get(&url, "/readyz") {
        (503, body) if body.contains("W0202") => Ok(body),
        (_, body) => Err(body),
    });
    assert!(body.contains("serves chain 31338, not 31339"), "{body}");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chain_that_was_collected_before_is_waited_for() {
    let world = World::of_today(31_337).await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let (running, _) = start(&folder);
    wait_until_collected(&folder, "fees", 10);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    lose(&world);
    world.pay(1);
    let (mut running, _) = start(&folder);
    running.wait_for("do not answer");
    wait_until(&folder, "fees", |shown| shown["health"]["state"] == "rpc_down");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    wait_until(&folder, "fees", |shown| shown["health"]["state"] == "unattended");
    let (mut running, _) = start(&folder);
    running.wait_for("do not answer");
    find(&world);
    wait_until_collected(&folder, "fees", 11);
    lose(&world);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0), "it ends although nobody answers");
}

/// What the operator must mend is told at once, whoever else is silent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_start_ends_where_something_is_wrong() {
    let (near, far) = worlds().await;
    lose(&far);
    let missing = "0x00000000000000000000000000000000000000aa";
    let wrong = config(&near, &far).replacen(&near.contract.to_string(), missing, 1);
    let folder = Folder::with_config(&wrong);
    let ran = folder.run(&["run"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("error[W0205]"), "{}", ran.shown());
    assert!(!folder.path().join("windlass.db").exists(), "nothing was written");
}
