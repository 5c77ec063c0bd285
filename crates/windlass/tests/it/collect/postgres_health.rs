//! What is wrong is told on PostgreSQL too: a process that waits, a user without rights.

use tokio_postgres::NoTls;

use super::health::the_second_waits_and_takes_over;
use super::kill;
use super::world::{World, wait_until_collected};
use crate::binary::{Folder, hide_numbers};

fn server() -> String {
    std::env::var("WINDLASS_TEST_POSTGRES_URL")
        .expect("WINDLASS_TEST_POSTGRES_URL is not set; hint: run under scripts/with-services")
}

async fn execute(url: &str, sql: &str) {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("the server is up");
    tokio::spawn(connection);
    client.batch_execute(sql).await.expect("it is done");
}

/// A database of its own, and its URL.
async fn database(name: &str) -> (String, String) {
    let name = format!("windlass_{name}_{}", std::process::id());
    execute(&server(), &format!("CREATE DATABASE {name}")).await;
    let server = server();
    let (base, _) = server.rsplit_once('/').expect("a URL");
    (format!("{base}/{name}"), name)
}

fn with_database(url: &str, config: &str) -> String {
    format!("[database]\nurl = \"{url}\"\n\n{config}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_waits_for_another_says_so_and_takes_over() {
    let world = World::of_today(31_337).await;
    world.pay(10);
    let (url, name) = database("waits").await;
    let config = world.config("0").replace("lease_ttl = \"5s\"", "lease_ttl = \"2s\"");
    let folder = Folder::with_config(&with_database(&url, &config));
    the_second_waits_and_takes_over(&world, &folder);
    execute(&server(), &format!("DROP DATABASE {name} WITH (FORCE)")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_after_a_kill_does_not_wait_for_leases() {
    let world = World::of_today(31_337).await;
    world.pay(60);
    let (url, name) = database("killed").await;
    let folder = Folder::with_config(&with_database(&url, &kill::config(&world)));
    kill::a_killed_process_is_followed_at_once(&world, &folder);
    execute(&server(), &format!("DROP DATABASE {name} WITH (FORCE)")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_waits_for_one_that_is_killed_takes_over() {
    let world = World::of_today(31_337).await;
    world.pay(60);
    let (url, name) = database("standby").await;
    let folder = Folder::with_config(&with_database(&url, &kill::config(&world)));
    kill::a_standby_takes_over_at_once(&world, &folder);
    execute(&server(), &format!("DROP DATABASE {name} WITH (FORCE)")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_only_read_is_told_so_before_anything_runs() {
    let world = World::start().await;
    world.pay(3);
    let (url, name) = database("reader").await;
    let folder = Folder::with_config(&with_database(&url, &world.config("0")));
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    wait_until_collected(&folder, "fees", 3);
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));
    let reader = format!("{name}_reader");
    let rights = format!(
        "CREATE ROLE {reader} LOGIN PASSWORD 'reads'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {reader}"
    );
    execute(&url, &rights).await;
    let (scheme, rest) = url.split_once("://").expect("a URL");
    let (_, place) = rest.rsplit_once('@').unwrap_or(("", rest));
    let theirs = format!("{scheme}://{reader}:reads@{place}");
    folder.write("windlass.toml", &with_database(&theirs, &world.config("0")));
    let ran = folder.run(&["run"]);
    insta::assert_snapshot!("run_read_only_user", hide_numbers(&ran.shown(), "127.0.0.1:"));
    execute(&server(), &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    execute(&server(), &format!("DROP ROLE {reader}")).await;
}
