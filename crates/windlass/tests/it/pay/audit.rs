//! The audit log: whole as it was written, and whoever tampers with it is found out.

use rusqlite::Connection;

use super::world::{PayWorld, TO, create, json};
use crate::binary::{Folder, Ran};

fn tampered(folder: &Folder, sql: &str) {
    let database = Connection::open(folder.path().join("windlass.db")).expect("the database");
    // Whoever can write to the file can take its guards away, too.
    database.execute_batch("DROP TRIGGER audit_is_fixed; DROP TRIGGER audit_stays;").expect("no guards");
    database.execute_batch(sql).expect("tampered");
}

fn verify(folder: &Folder, more: &[&str]) -> Ran {
    folder.run(&[&["audit-log", "verify"], more].concat())
}

async fn written() -> (PayWorld, Folder) {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    for number in 0..4 {
        create(&folder, &format!("invoice-{number}"), "1 USDC");
    }
    (world, folder)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_as_it_was_written_is_whole() {
    let (_world, folder) = written().await;
    let head = folder.run(&["audit-log", "head"]).stdout;
    let whole = verify(&folder, &["--head", head.trim()]);
    assert!(
        whole.code == Some(0) && whole.stdout.starts_with("4 entries, each as it was written"),
        "{}",
        whole.shown()
    );
    create(&folder, "later", "1 USDC");
    assert_eq!(json(&verify(&folder, &["--head", head.trim(), "--json"]))["entries"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_was_altered_removed_or_inserted_is_named() {
    let insert = "UPDATE audit SET seq = seq + 1000 WHERE seq >= 3; UPDATE audit SET seq = seq - 999 WHERE seq > 1000; INSERT INTO audit SELECT 3, at_ms, actor, action, subject, detail, mac, rows FROM audit WHERE seq = 2";
    for (sql, told) in [
        ("UPDATE audit SET detail = '{}' WHERE seq = 2", "entry 2 was altered"),
        ("UPDATE audit SET actor = 'mallory' WHERE seq = 3", "entry 3 was altered"),
        ("DELETE FROM audit WHERE seq = 1", "entry 1 is missing"),
        ("DELETE FROM audit WHERE seq = 3", "entry 3 is missing"),
        (insert, "entry 3 was altered, or inserted"),
        (
            "INSERT INTO audit SELECT 0, at_ms, actor, action, subject, detail, mac, rows FROM audit WHERE seq = 2",
            "entry 0 was altered, or inserted",
        ),
    ] {
        let (_world, folder) = written().await;
        tampered(&folder, sql);
        let broken = verify(&folder, &[]);
        assert!(broken.code == Some(1) && broken.stderr.contains("W0609"), "{}", broken.shown());
        assert!(broken.stderr.contains(told), "{sql}: {}", broken.shown());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_cut_off_shows_against_a_head_that_was_kept() {
    let (_world, folder) = written().await;
    let head = folder.run(&["audit-log", "head"]).stdout;
    tampered(&folder, "DELETE FROM audit WHERE seq >= 3");
    // A chain that is whole by itself, and rows that it does not name.
    let unnamed = verify(&folder, &[]);
    assert!(unnamed.code == Some(1) && unnamed.stderr.contains("W0612"), "{}", unnamed.shown());
    assert_eq!(unnamed.stdout.matches("the audit log does not name it").count(), 2, "{}", unnamed.shown());
    let cut = verify(&folder, &["--head", head.trim()]);
    assert!(cut.code == Some(1) && cut.stderr.contains("published head at entry 4"), "{}", cut.shown());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_added_to_the_log_with_another_key() {
    let (_world, folder) = written().await;
    let entries = folder.run(&["audit-log", "head"]).stdout;
    let other = "22".repeat(32);
    for args in [
        &["key", "create", "--role", "admin", "--name", "mallory"][..],
        &["payout", "create", "--to", TO, "--amount", "1 USDC"],
        &["run", "--role", "pay"],
    ] {
        let ran = folder.run_with(&[("AUDIT_KEY", &other)], args);
        assert!(ran.code == Some(1) && ran.stderr.contains("W0609"), "{}", ran.shown());
    }
    assert_eq!(folder.run(&["audit-log", "head"]).stdout, entries);
}
