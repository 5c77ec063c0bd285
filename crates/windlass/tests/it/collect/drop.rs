//! `windlass index drop` without the word that lets it.

use super::world::{World, wait_until_collected};
use crate::binary::Folder;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_removed_unless_it_is_asked_for_by_name() {
    let world = World::start().await;
    world.pay(5);
    let folder = Folder::with_config(&world.config("0"));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", 5);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    folder.write("windlass.toml", &world.chain_section());
    for typed in [&["index", "drop", "fees"][..], &["index", "drop", "fees", "--yes"]] {
        let ran = folder.run(typed);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{}", ran.shown());
        assert_eq!(
            ran.stderr,
            "error: nothing was removed without --data: there is still fees_fees_collected with 5 rows\n\
             hint: to remove it: windlass index drop fees --data --yes\n"
        );
    }
    assert!(folder.run(&["index", "list"]).stdout.contains(" 5 "), "it is all there");
    let ran = folder.run(&["index", "drop", "fees", "--data", "--yes"]);
    assert_eq!(ran.stdout, "removed fees_fees_collected with 5 rows\n", "{}", ran.shown());
    assert_eq!(folder.run(&["index", "list"]).stdout, "no indexes\n");
}
