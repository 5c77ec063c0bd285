//! The first `windlass run` on an endpoint that does not answer.

use super::world::World;
use crate::binary::{Folder, NOBODY, hide_numbers};

fn wrote_nothing(folder: &Folder) {
    let entries = folder.path().read_dir().expect("the folder");
    let names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["windlass.toml"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_is_not_there_ends_the_start() {
    let world = World::start().await;
    for scheme in ["http", "ws"] {
        let nobody = format!("{scheme}://{NOBODY}/v2/hunter2hunter2");
        let folder = Folder::with_config(&world.config("0").replace(&world.url(), &nobody));
        let ran = folder.run(&["run"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.shown());
        let said = hide_numbers(&ran.stderr, "127.0.0.1:");
        let told = format!("error[W0201]: {scheme}://127.0.0.1:[N]/*** cannot be reached: ");
        assert!(said.contains(&told) && said.contains("\nhint: "), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
        wrote_nothing(&folder);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_first_question_fails_nothing_more_is_asked() {
    let world = World::start().await;
    world.faults.set("503=1".parse().expect("a plan"));
    let folder = Folder::with_config(&world.config("0"));
    let ran = folder.run(&["run"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    assert!(ran.stderr.contains("answered with status 503"), "{}", ran.shown());
    assert!(world.asked("eth_chainId") > 0);
    for method in ["eth_getCode", "eth_getLogs", "eth_getBlockByNumber", "eth_blockNumber"] {
        assert_eq!(world.asked(method), 0, "{method}");
    }
    wrote_nothing(&folder);
}
