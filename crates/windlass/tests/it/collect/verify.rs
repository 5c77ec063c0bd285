//! What was collected in ranges is verified while the binary runs, and shown to be.

use serde_json::Value;

use super::world::{World, until, wait_until_collected};
use crate::binary::Folder;

/// How the chain's blocks are proven, as `status --json` tells it.
fn proven(folder: &Folder) -> Value {
    let status: Value = serde_json::from_str(&folder.run(&["status", "--json"]).stdout).expect("json");
    status["chains"][0]["proven"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_backfilled_is_verified_and_told() {
    let world = World::start().await;
    world.pay(30);
    world.settle();
    let config = world.config("0").replace("verify = \"off\"", "verify = \"full\"\nverify_share = \"100%\"");
    let folder = Folder::with_config(&config);
    let running = folder.start(&["run", "--role", "collect"]);
    wait_until_collected(&folder, "fees", 30);
    let told = until(|| {
        let told = proven(&folder);
        let count = |name: &str| told[name].as_u64().unwrap_or_default();
        let is_whole =
            count("full_blocks") > 0 && count("head_blocks") + count("full_blocks") == count("total_blocks");
        if is_whole { Ok(told) } else { Err(told.to_string()) }
    });
    assert_eq!((&told["sampled_blocks"], &told["doubtful_blocks"]), (&Value::from(0), &Value::from(0)));
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let shown = folder.run(&["status"]).stdout;
    assert!(shown.contains("100.0 %"), "{shown}");
}
