//! `[pay]` names another vault, or the chain began anew without one: the payouts of before are not
//! forgotten in silence.

use serde_json::Value;

use super::world::{PayWorld, create};
use crate::binary::Folder;
use crate::collect::http::{get, url_in};
use crate::collect::world::until;

pub(super) fn approved(folder: &Folder, key: &str) -> String {
    let id = create(folder, key, "5 USDC");
    assert_eq!(folder.run(&["payout", "approve", &id]).code, Some(0));
    id
}

/// What `doctor` says of a subject.
pub(super) fn finding(folder: &Folder, subject: &str) -> Option<Value> {
    let ran = folder.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", ran.shown()));
    let findings = report["findings"].as_array().expect("findings").clone();
    findings.into_iter().find(|finding| finding["subject"] == subject)
}

#[tokio::test(flavor = "multi_thread")]
async fn payouts_of_a_vault_that_is_not_configured_any_more_are_told() {
    let mut world = PayWorld::start().await;
    let folder = world.folder("");
    let (id, before, right) = (approved(&folder, "invoice-1"), world.vault, folder.read("windlass.toml"));
    assert!(!folder.run(&["payout", "show", &id]).stdout.contains("\nvault "), "it is the configured one");
    assert!(finding(&folder, "pay.payouts").is_none());
    world.with_another_vault();
    folder.write("windlass.toml", &world.config(""));

    let told = format!("{before} on chain 31337, and `[pay]` names {} on chain 31337", world.vault);
    let shown = folder.run(&["payout", "show", &id]).stdout;
    assert!(shown.contains(&told) && shown.contains("no process pays from it: run a process"), "{shown}");
    let listed = folder.run(&["payout", "list"]);
    let note = format!("of vault {before} on chain 31337, which `[pay]` does not name");
    let warning = format!("1 payout of vault {before} on chain 31337 waits, and no process pays from it");
    assert!(listed.stdout.contains(&note), "{}", listed.shown());
    assert!(listed.stderr.contains("W0614") && listed.stderr.contains(&warning), "{}", listed.shown());
    let found = finding(&folder, "pay.payouts").expect("a finding");
    assert_eq!((&found["level"], &found["code"]), (&"failure".into(), &"W0614".into()), "{found}");
    assert!(found["message"].as_str().is_some_and(|message| message.contains(&warning)), "{found}");
    let mut running = folder.start(&["run", "--role", "pay,api"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    until(|| {
        let (status, body) = get(&url, "/readyz");
        let is_told = status == 503 && body.contains("W0614") && body.contains(&warning);
        if is_told { Ok(()) } else { Err(body) }
    });

    // A process with the configuration of before pays from the vault of before.
    folder.write("old.toml", &right);
    let _old = folder.start(&["--config", "old.toml", "run", "--role", "pay"]);
    until(|| {
        let shown = folder.run(&["payout", "show", &id]).stdout;
        let is_attended = shown.contains("another process pays from it") || shown.contains("CONFIRMED");
        if is_attended { Ok(()) } else { Err(shown) }
    });
    assert!(finding(&folder, "pay.payouts").is_none());
}

/// A development chain was begun anew, and nobody has deployed a vault on it yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_that_began_anew_without_a_vault_is_called_another_chain() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let running = folder.start(&["run", "--role", "pay,api"]);
    let id = approved(&folder, "invoice-1");
    world.until_payout(&folder, &id, |payout| payout["finalizedAt"].is_string());
    running.signal("TERM");
    running.end();
    let world = world.emptied().await;
    folder.write("windlass.toml", &world.config(""));

    let told = "payouts were made on another chain of the same id";
    let chain = finding(&folder, "pay.chain").expect("a finding");
    assert_eq!((&chain["level"], &chain["code"]), (&"failure".into(), &"W0206".into()), "{chain}");
    assert!(chain["message"].as_str().is_some_and(|message| message.contains(told)), "{chain}");
    assert_eq!(finding(&folder, "pay.vault"), None, "the vault is missing because of the chain");
    for args in [&["run", "--role", "pay"][..], &["pay", "reconcile"], &["pay", "accept-chain", "--dry-run"]]
    {
        let ran = folder.run(args);
        let is_told = ran.stderr.contains(told) && ran.stderr.contains("W0206");
        assert!(ran.code == Some(1) && is_told && !ran.stderr.contains("W0607"), "{}", ran.shown());
    }
}
