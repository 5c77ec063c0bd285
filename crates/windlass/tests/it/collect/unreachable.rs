//! The first `windlass run` on an endpoint that does not answer.

use super::world::World;
use crate::binary::{Folder, NOBODY, hide_numbers};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_is_not_there_is_named_without_its_key_and_waited_for() {
    let world = World::start().await;
    for scheme in ["http", "ws"] {
        let nobody = format!("{scheme}://{NOBODY}/v2/hunter2hunter2");
        let folder = Folder::with_config(&world.config("0").replace(&world.url(), &nobody));
        let mut running = folder.start(&["run"]);
        let said = hide_numbers(&running.wait_for("do not answer"), "127.0.0.1:");
        let told = format!("{scheme}://127.0.0.1:[N]/*** cannot be reached: ");
        assert!(said.contains(&told) && said.contains("code=W0201"), "{said}");
        running.signal("TERM");
        let (status, rest) = running.end();
        assert_eq!(status.code(), Some(0), "{rest}");
        assert!(!said.contains("hunter2") && !rest.contains("hunter2"), "{said}{rest}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_first_question_fails_nothing_more_is_asked() {
    let world = World::start().await;
    world.faults.set("503=1".parse().expect("a plan"));
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run"]);
    let line = running.wait_for("do not answer");
    assert!(line.contains("answered with status 503"), "{line}");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    assert!(world.asked("eth_chainId") > 0);
    for method in ["eth_getCode", "eth_getLogs", "eth_getBlockByNumber", "eth_blockNumber"] {
        assert_eq!(world.asked(method), 0, "{method}");
    }
}
