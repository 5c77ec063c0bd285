//! `windlass export`

use super::world::{World, wait_until_collected};
use crate::binary::Folder;

/// Ten events in blocks 4 to 13.
async fn collected() -> Folder {
    let world = World::start().await;
    world.pay(10);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", 10);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    folder
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_come_in_every_format() {
    let folder = collected().await;
    let csv = folder.run(&["export", "fees", "--to", "5"]);
    insta::assert_snapshot!("export_csv", csv.shown());
    let ndjson = folder.run(&["export", "fees", "--format", "ndjson", "--from", "4", "--to", "5"]);
    insta::assert_snapshot!("export_ndjson", ndjson.shown());
    insta::assert_snapshot!(
        "export_file",
        folder.run(&["export", "fees", "--event", "FeesCollected", "--output", "fees.csv"]).shown()
    );
    assert_eq!(folder.read("fees.csv").lines().count(), 11);
    let parquet = folder.run(&["export", "fees", "--format", "parquet", "--output", "fees.parquet"]);
    assert_eq!(parquet.code, Some(0), "{}", parquet.shown());
    let bytes = std::fs::read(folder.path().join("fees.parquet")).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_chosen_by_block_and_by_time() {
    let folder = collected().await;
    let lines =
        |more: &[&str]| folder.run(&[&["export", "fees"][..], more].concat()).stdout.lines().count() - 1;
    assert_eq!(lines(&[]), 10);
    assert_eq!(lines(&["--from", "10"]), 4);
    assert_eq!(lines(&["--from", "10", "--to", "10"]), 1);
    // Blocks are twelve seconds apart: block 4 is 48 seconds after the first, at 22:13:20.
    assert_eq!(lines(&["--from", "2023-11-14T22:14:08Z", "--to", "2023-11-14T22:14:32Z"]), 2);
    assert_eq!(lines(&["--to", "2023-11-14"]), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_exported_is_told_and_no_file_is_harmed() {
    let folder = collected().await;
    insta::assert_snapshot!("export_missing", folder.run(&["export", "feees"]).shown());
    insta::assert_snapshot!(
        "export_event",
        folder.run(&["export", "fees", "--event", "FeeCollected"]).shown()
    );
    folder.write("mine.csv", "mine");
    insta::assert_snapshot!("export_exists", folder.run(&["export", "fees", "--output", "mine.csv"]).shown());
    assert_eq!(folder.read("mine.csv"), "mine");
    assert_eq!(folder.run(&["export", "fees", "--output", "mine.csv", "--force"]).code, Some(0));
    assert_eq!(folder.read("mine.csv").lines().count(), 11);
    assert_eq!(folder.run(&["export", "fees", "--from", "yesterday"]).code, Some(2));
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with('.'))
        .collect();
    assert!(left.is_empty(), "nothing unfinished is left: {left:?}");
}
