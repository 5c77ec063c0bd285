//! The verbs of collecting on PostgreSQL: run, look, export, pause, change, drop.

use tokio_postgres::NoTls;

use super::world::{World, settle_until_collected, wait_until, wait_until_collected};
use crate::binary::Folder;

fn server() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL")
        .expect("WINDLASS_TEST_POSTGRES_URL is not set; hint: run under scripts/with-services")
}

async fn execute(sql: &str) {
    let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.expect("the server is up");
    tokio::spawn(connection);
    client.batch_execute(sql).await.expect("it is done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_works_on_a_server_too() {
    let world = World::start().await;
    world.pay(20);
    let name = format!("windlass_verbs_{}", std::process::id());
    execute(&format!("CREATE DATABASE {name}")).await;
    let server = server();
    let (base, _) = server.rsplit_once('/').expect("a URL");
    let config = world.config("\"deployment\"");
    let folder = Folder::with_config(&format!("[database]\nurl = \"{base}/{name}\"\n\n{config}"));

    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    let shown = wait_until_collected(&folder, "fees", 20);
    assert_eq!(shown["start"], 3);
    let paused = folder.run(&["index", "pause", "fees"]);
    assert_eq!(paused.code, Some(0), "{}", paused.shown());
    wait_until(&folder, "fees", |shown| shown["state"] == "paused");
    assert_eq!(folder.run(&["index", "resume", "fees"]).code, Some(0));
    settle_until_collected(&world, &folder, "fees", 20);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));

    let csv = folder.run(&["export", "fees"]).stdout;
    assert_eq!(csv.lines().count(), 21);
    assert!(csv.lines().nth(1).is_some_and(|line| line.ends_with(",4,16")), "{csv}");
    let status = folder.run(&["status"]);
    assert!(
        status.stdout.contains("fees_fees_collected") || status.stdout.contains("realtime"),
        "{}",
        status.shown()
    );
    let text = folder.read("windlass.toml");
    folder.write("windlass.toml", &text.replace("uint256 lifiFee", "uint128 lifiFee"));
    let refused = folder.run(&["run", "--role", "collect"]);
    assert!(refused.stderr.contains("error[W0403]"), "{}", refused.shown());
    let dropped = folder.run(&["index", "drop", "fees", "--data", "--yes"]);
    assert_eq!(dropped.stdout, "removed fees_fees_collected with 20 rows\n", "{}", dropped.shown());
    execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await;
}
