//! An audit of an endpoint that fails now and then.

use super::world::{World, wait_until_collected};
use crate::binary::Folder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_outlasts_faults_that_pass() {
    let world = World::start().await;
    world.pay(30);
    world.settle();
    let folder = Folder::with_config(&world.config("0"));
    let running = folder.start(&["run", "--role", "collect"]);
    wait_until_collected(&folder, "fees", 30);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    world.faults.set("503=0.1@eth_getBlockReceipts,503=0.05@eth_getBlockByNumber".parse().expect("a plan"));
    let audited = folder.run(&["audit", "--chain", "local"]);
    assert_eq!(audited.code, Some(0), "{}", audited.shown());
    assert!(audited.stdout.ends_with("nothing is missing, extra or altered\n"), "{}", audited.shown());
}

/// Where no block is final there is no range to name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_audit_before_anything_is_final_says_so() {
    let world = World::start().await;
    world.pay(1);
    let folder = Folder::with_config(&world.config("1"));
    let running = folder.start(&["run", "--role", "collect"]);
    wait_until_collected(&folder, "fees", 1);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let audited = folder.run(&["audit", "--chain", "local"]);
    assert!(audited.code == Some(1) && audited.stderr.contains("is final yet"), "{}", audited.shown());
    assert!(!audited.stderr.contains("can be audited"), "{}", audited.shown());
}
