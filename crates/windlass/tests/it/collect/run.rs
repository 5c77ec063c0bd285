//! `windlass run` on a chain with a contract.

use super::world::{World, wait_until_collected};
use crate::binary::Folder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_collected_and_a_restart_goes_on_from_there() {
    let world = World::start().await;
    world.pay(40);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
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
