//! `windlass index drop` against somebody who still looks at the table.

use tokio_postgres::{Client, NoTls};

use super::world::{World, until, wait_until_collected};
use crate::binary::Folder;

fn server() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL")
        .expect("WINDLASS_TEST_POSTGRES_URL is not set; hint: run under scripts/with-services")
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is up");
    tokio::spawn(connection);
    client
}

/// The chain's lease is held until the last table is gone: nobody begins to collect into it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_go_under_the_chains_lease() {
    let world = World::start().await;
    world.pay(5);
    let name = format!("windlass_drop_{}", std::process::id());
    let admin = connect(&server()).await;
    admin.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("a database");
    let server = server();
    let (base, _) = server.rsplit_once('/').expect("a URL");
    let url = format!("{base}/{name}");
    let database = format!("[database]\nurl = \"{url}\"\n\n");
    let folder = Folder::with_config(&format!("{database}{}", world.config("0")));
    let mut running = folder.start(&["run", "--role", "collect"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", 5);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));

    folder.write("windlass.toml", &format!("{database}{}", world.chain_section()));
    let reader = connect(&url).await;
    reader.batch_execute("BEGIN; SELECT count(*) FROM fees_fees_collected").await.expect("a reader");
    let dropping = folder.start(&["index", "drop", "fees", "--data", "--yes"]);
    // The plan forgets the table first; only then does it wait for the reader.
    let waiting =
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'fees_fees_collected'::regclass";
    let looker = connect(&url).await;
    while looker.query_one(waiting, &[]).await.expect("a count").get::<_, i64>(0) == 0 {
        tokio::task::yield_now().await;
    }
    let status = folder.run(&["status", "--json"]).stdout;
    assert!(status.contains("\"collect/31337\"") && status.contains("/drop\""), "{status}");
    reader.batch_execute("COMMIT").await.expect("it leaves");
    let (ended, said) = dropping.end_with_stdout();
    assert_eq!((ended.code(), said.as_str()), (Some(0), "removed fees_fees_collected with 5 rows\n"));
    until(|| {
        let status = folder.run(&["status", "--json"]).stdout;
        if status.contains("/drop\"") { Err(status) } else { Ok(()) }
    });
    drop((reader, looker));
    admin.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.expect("gone");
}
