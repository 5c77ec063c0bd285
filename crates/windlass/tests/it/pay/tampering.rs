//! Somebody who can write to the database, against the binary: the two ways that were found to
//! have something paid, what is said of them, and a database that was put back.

use alloy_primitives::U256;
use rusqlite::Connection;
use serde_json::json;
use windlass_core::payout::ledger::ApiKey;

use super::world::{PayWorld, TO, create};
use crate::binary::{Folder, Ran};
use crate::collect::http::{get, post, url_in};
use crate::collect::world::until;

fn tamper(folder: &Folder, sql: &str) {
    let database = Connection::open(folder.path().join("windlass.db")).expect("the database");
    database.busy_timeout(std::time::Duration::from_secs(5)).expect("set");
    let triggers: Vec<String> = database
        .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        .and_then(|mut rows| rows.query_map([], |row| row.get(0))?.collect())
        .expect("listed");
    for trigger in triggers {
        database.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("dropped");
    }
    database.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").expect("set");
    database.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
}

fn verify(folder: &Folder) -> Ran {
    folder.run(&["audit-log", "verify"])
}

/// An operator's and an approver's key are inserted, and a payout is asked for and approved with
/// them.
#[tokio::test(flavor = "multi_thread")]
async fn api_keys_that_were_inserted_open_nothing() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    create(&folder, "honest", "1 USDC");
    let mut running = folder.start(&["run", "--role", "pay,api"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    for (name, role) in [("mallory-asks", "operator"), ("mallory-approves", "approver")] {
        let hash = alloy_primitives::hex::encode(ApiKey::hash_of(name));
        tamper(
            &folder,
            &format!(
                "INSERT INTO api_key (name, version, role, hash, created_at_ms) VALUES ('{name}', 1, '{role}', x'{hash}', 1)"
            ),
        );
        let ask = json!({"to": TO, "amount": "1500000", "token": "USDC", "idempotencyKey": "stolen"});
        let (status, body) = post(&url, "/api/v1/payouts", Some(name), &ask.to_string());
        assert_eq!(status, 401, "{body}");
        let ran = folder.run_with(
            &[("WINDLASS_API_KEY", name)],
            &["payout", "create", "--to", TO, "--amount", "1 USDC", "--key", "stolen"],
        );
        assert!(ran.code == Some(1) && ran.stderr.contains("W0605"), "{}", ran.shown());
    }
    until(|| {
        let (status, body) = get(&url, "/readyz");
        let is_told = status == 503 && body.contains("W0612") && body.contains("API key `mallory-asks`");
        if is_told { Ok(()) } else { Err(body) }
    });
    let (_, metrics) = get(&url, "/metrics");
    assert!(
        metrics.contains("windlass_pay_refused_rows_total{table=\"api_key\",kind=\"altered\"}"),
        "{metrics}"
    );
    assert_eq!(world.paid(), (0, U256::ZERO));
    let told = verify(&folder);
    assert!(told.code == Some(1) && told.stderr.contains("W0612"), "{}", told.shown());
    assert_eq!(told.stdout.matches("was altered or inserted").count(), 2, "{}", told.shown());
    // Each row comes with the command that puts it right, as it is pasted into a shell.
    let commands: Vec<&str> =
        told.stdout.lines().filter_map(|line| line.strip_prefix("    windlass ")).collect();
    assert_eq!(commands.len(), 2, "{}", told.shown());
    for command in commands {
        let words: Vec<&str> = command.split(' ').collect();
        let done = folder.run(&words);
        assert_eq!(done.code, Some(0), "{}", done.shown());
    }
    assert_eq!(verify(&folder).code, Some(0));
}

/// The log beside payouts is emptied; every row has no entry.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_log_beside_payouts_is_named() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    for number in 0..3 {
        create(&folder, &format!("invoice-{number}"), "1 USDC");
    }
    tamper(&folder, "DELETE FROM audit");
    let told = verify(&folder);
    assert!(told.code == Some(1) && told.stderr.contains("3 rows are not what"), "{}", told.shown());
}

/// The whole database is put back to before a key was revoked.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_put_back_pays_nothing_until_somebody_says_so() {
    let world = PayWorld::start().await;
    let folder = world.folder("audit_head = \"keys/head.json\"");
    create(&folder, "invoice-1", "1 USDC");
    let backup = std::fs::read(folder.path().join("windlass.db")).expect("a backup");
    create(&folder, "invoice-2", "1 USDC");
    assert!(folder.read("keys/head.json").contains("\"seq\":2"), "it is kept on every change");
    assert_eq!(verify(&folder).code, Some(0));
    std::fs::write(folder.path().join("windlass.db"), backup).expect("restored");
    let ask = ["payout", "create", "--to", TO, "--amount", "1 USDC", "--key", "k"];
    let refused = folder.run(&ask);
    assert!(refused.code == Some(1) && refused.stderr.contains("W0609"), "{}", refused.shown());
    let told = verify(&folder);
    assert!(told.code == Some(1) && told.stderr.contains("windlass audit-log accept"), "{}", told.shown());
    let unsure = folder.run(&["audit-log", "accept"]);
    assert!(unsure.code == Some(1) && unsure.stderr.contains("--yes"), "{}", unsure.shown());
    let accepted = folder.run(&["audit-log", "accept", "--yes"]);
    let told = "the log goes on from entry 1; 1 entries are gone for good\nnext: make revocations";
    assert!(accepted.code == Some(0) && accepted.stdout.starts_with(told), "{}", accepted.shown());
    assert_eq!(folder.run(&ask).code, Some(0));
    assert_eq!(verify(&folder).code, Some(0));
    assert!(folder.run(&["audit-log", "list"]).stdout.contains("audit.accepted"));
}

/// A row that no backup has is put right from the log, once an operator has seen what would be done.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_row_is_put_right_from_the_log() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let id = create(&folder, "invoice-1", "1 USDC");
    let repair = |more: &[&str]| folder.run(&[&["audit-log", "repair"], more].concat());
    assert_eq!(repair(&[]).stdout, "every row is what the audit log says\n");
    tamper(&folder, &format!("UPDATE payout SET recipient = x'{}'", "66".repeat(20)));
    let refused = folder.run(&["payout", "show", &id]);
    assert!(refused.code == Some(1) && refused.stderr.contains("W0612"), "{}", refused.shown());
    let row = format!("payout:{id}");
    let command = format!("windlass audit-log repair {row} --yes");
    let told = verify(&folder);
    assert!(told.stdout.contains(&format!("\n    {command}\n")), "{}", told.shown());
    assert!(repair(&[]).stdout.contains(&format!("\n  {command}\n")));
    let listed = repair(&[]);
    assert!(listed.code == Some(0) && listed.stdout.starts_with(&format!("{row}\n")), "{}", listed.shown());
    let asked = repair(&[&row]);
    assert!(
        asked.code == Some(1) && asked.stderr.contains("makes it anew") && asked.stderr.contains("--yes"),
        "{}",
        asked.shown()
    );
    assert_eq!(verify(&folder).code, Some(1), "nothing was done yet");
    let done = repair(&[&row, "--yes"]);
    assert!(done.code == Some(0) && done.stdout.contains("is made anew"), "{}", done.shown());
    assert_eq!(verify(&folder).code, Some(0));
    let shown = folder.run(&["payout", "show", &id]).stdout;
    assert!(shown.to_lowercase().contains(TO), "{shown}");
    assert!(folder.run(&["audit-log", "list"]).stdout.contains("row.repaired"));
    let sound = repair(&[&row, "--yes"]);
    assert!(sound.code == Some(1) && sound.stderr.contains("nothing to put right"), "{}", sound.shown());
    assert_eq!(repair(&["payout:7"]).code, Some(2));
}

/// One row that cannot be read costs a list that row alone, and it is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_goes_on_behind_a_row_that_cannot_be_read() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let ids: Vec<String> =
        (0..3).map(|number| create(&folder, &format!("invoice-{number}"), "1 USDC")).collect();
    tamper(&folder, &format!("UPDATE payout SET retry_of = 'zz', state = 'LOST' WHERE id = '{}'", ids[1]));
    let named = format!("payout {} holds a value that does not belong there", ids[1]);
    let listed = folder.run(&["payout", "list", "--json"]);
    assert!(listed.code == Some(0) && listed.stderr.contains(&named), "{}", listed.shown());
    for (id, is_shown) in ids.iter().zip([true, false, true]) {
        assert_eq!(listed.stdout.contains(id), is_shown, "{}", listed.shown());
    }
    assert!(folder.run(&["payout", "list"]).stderr.contains(&named));
    tamper(
        &folder,
        "INSERT INTO api_key (name, version, role, hash, created_at_ms) VALUES ('eve', 1, 'x', x'00', 1)",
    );
    let keys = folder.run(&["key", "list"]);
    let eve = "API key `eve` holds a value that does not belong there";
    assert!(keys.code == Some(0) && keys.stderr.contains(eve), "{}", keys.shown());
    assert!(!keys.stdout.contains("eve"), "{}", keys.shown());
    tamper(&folder, "DELETE FROM api_key WHERE name = 'eve'");
    let told = verify(&folder);
    assert!(told.code == Some(1) && told.stdout.contains(&named), "{}", told.shown());
    let row = format!("payout:{}", ids[1]);
    assert_eq!(folder.run(&["audit-log", "repair", &row, "--yes"]).code, Some(0));
    assert_eq!(verify(&folder).code, Some(0));
    assert!(folder.run(&["payout", "list", "--json"]).stdout.contains(&ids[1]));
}
