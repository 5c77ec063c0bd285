//! A payout's life, from being asked for to being final.

use std::sync::Arc;

use alloy_primitives::U256;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::broadcast;
use windlass_devnet::chain::Chain;
use windlass_devnet::node::{Announcement, Node, RpcError};
use windlass_devnet::rpc::{Server, ServerOptions};

use super::world::{PayWorld, TO, create, json};
use crate::collect::http::{get, url_in};
use crate::collect::world::until;

#[tokio::test(flavor = "multi_thread")]
async fn a_payout_is_asked_for_approved_paid_and_final() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let id = create(&folder, "invoice-1", "12.5 USDC");
    let approved = folder.run(&["payout", "approve", &id]);
    assert_eq!(approved.code, Some(0), "{}", approved.shown());
    assert!(
        approved.stdout.contains("12.5 USDC") && approved.stdout.contains("APPROVED"),
        "{}",
        approved.stdout
    );
    let mut running = folder.start(&["run", "--role", "pay,api"]);
    let line = running.wait_for("serving what was collected");
    let url = url_in(&line);
    let shown = world.until_payout(&folder, &id, |payout| payout["finalizedAt"].is_string());
    assert_eq!(shown["state"], "CONFIRMED");
    assert_eq!(world.paid(), (1, U256::from(12_500_000)));
    let again = folder.run(&["payout", "approve", &id, "--dry-run"]);
    let told = "nothing would change: you have approved it already, and it is CONFIRMED";
    assert!(again.code == Some(0) && again.stdout.contains(told), "{}", again.shown());
    let numbers = until(|| {
        let body = get(&url, "/metrics").1;
        if body.contains("windlass_pay_payouts{state=\"CONFIRMED\"} 1") { Ok(body) } else { Err(body) }
    });
    for action in ["payout.submitted", "payout.confirmed", "attempt.signed", "attempt.sent"] {
        let line = format!("windlass_pay_actions_total{{action=\"{action}\"}}");
        assert!(numbers.contains(&line), "{action}: {numbers}");
    }
    assert!(numbers.contains("outcome=\"accepted\""), "{numbers}");
    assert!(numbers.contains("windlass_pay_chain_answers_total"), "{numbers}");
    assert!(numbers.contains("windlass_pay_claims_total"), "{numbers}");
    running.signal("TERM");
    let (status, rest) = running.end();
    assert_eq!(status.code(), Some(0), "{rest}");
    let reconciled = json(&folder.run(&["pay", "reconcile", "--json"]));
    assert_eq!((&reconciled["events"], &reconciled["repaired"]), (&1.into(), &0.into()), "{reconciled}");
}

/// A payout that is CONFIRMED and not final yet has a transaction that is in a block.
#[tokio::test(flavor = "multi_thread")]
async fn the_transaction_of_a_confirmed_payout_is_shown_in_its_block() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let id = create(&folder, "invoice-1", "1 USDC");
    assert_eq!(folder.run(&["payout", "approve", &id]).code, Some(0));
    let _running = folder.start(&["run", "--role", "pay"]);
    let line = |words: &str| {
        let shown = folder.run(&["payout", "show", &id]).stdout;
        let is_transaction = |line: &&str| line.starts_with("transaction") && line.contains(words);
        shown.lines().find(is_transaction).map(str::to_owned).ok_or(shown)
    };
    until(|| line("waits to be mined"));
    world.chain.mine();
    let block = world.chain.head().number();
    until(|| line(&format!("in block {block}, which is not final yet")));
    let shown = world.until_payout(&folder, &id, |payout| payout["finalizedAt"].is_string());
    assert_eq!(shown["inclusion"]["blockNumber"], block);
    until(|| line("mined for good"));
}

/// Whoever looks at the log of `run` sees each payout move, also what a command elsewhere did.
#[tokio::test(flavor = "multi_thread")]
async fn payouts_are_logged_as_they_move() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let before = create(&folder, "before", "1 USDC");
    let mut running = folder.start(&["run", "--role", "pay"]);
    running.wait_for("paying");
    let id = create(&folder, "invoice-1", "12.5 USDC");
    let seen = running.wait_for("payout PENDING_RISK");
    let to = world_address(TO);
    assert!(
        seen.contains(&format!("payout={id} amount=\"12.5 USDC\" to={to}")) && seen.contains("INFO"),
        "{seen}"
    );
    assert_eq!(folder.run(&["payout", "reject", &before, "--reason", "twice"]).code, Some(0));
    let seen = running.wait_for("payout REJECTED");
    assert!(seen.contains(&before) && seen.contains("twice"), "{seen}");
    assert_eq!(folder.run(&["payout", "approve", &id]).code, Some(0));
    for state in ["APPROVED", "SUBMITTED"] {
        assert!(running.wait_for(&format!("payout {state}")).contains(&id), "{state}");
    }
    world.until_payout(&folder, &id, |payout| payout["state"] == "CONFIRMED");
    assert!(running.wait_for("payout CONFIRMED").contains(&id));
}

/// An address as it is shown.
fn world_address(text: &str) -> String {
    text.parse::<alloy_primitives::Address>().expect("an address").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_is_the_same_payout_and_another_amount_is_refused() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let id = create(&folder, "invoice-1", "1 USDC");
    assert_eq!(create(&folder, "invoice-1", "1 USDC"), id);
    let other = folder.run(&["payout", "create", "--to", TO, "--amount", "2 USDC", "--key", "invoice-1"]);
    assert_eq!(other.code, Some(1));
    assert!(other.stderr.contains("W0604") && other.stderr.contains(&id), "{}", other.stderr);
    let listed = json(&folder.run(&["payout", "list", "--json"]));
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(1));
    let asked = ["payout", "create", "--to", TO, "--amount", "1 USDC", "--key", "invoice-2", "--memo"];
    assert_eq!(folder.run(&[&asked[..], &["rent"]].concat()).code, Some(0));
    let again = folder.run(&[&asked[..], &["fees"]].concat());
    let is_stored = again.stdout.contains("memo \"rent\"") && !again.stdout.contains("fees");
    assert!(again.stdout.starts_with("known already: ") && is_stored, "{}", again.shown());
}

/// A configuration that only pays lacks no index.
#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_only_pays_is_not_warned_of_missing_indexes() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let mut running = folder.start(&["run"]);
    running.wait_for("running");
    running.wait_for("serving what was collected");
    running.signal("TERM");
    let (status, rest) = running.end();
    assert!(status.code() == Some(0) && !rest.contains("no index is configured"), "{rest}");
}

/// The log was begun with a key that nobody can make again.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_audit_key_is_to_be_restored() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    folder.write("windlass.toml", &world.config("").replace("env:AUDIT_KEY", "file:keys/audit.key"));
    let ran = folder.run(&["payout", "create", "--to", TO, "--amount", "1 USDC"]);
    let is_told = ran.stderr.contains("keys/audit.key") && ran.stderr.contains("hint: restore the key");
    assert!(ran.code == Some(1) && is_told, "{}", ran.shown());
    let doctor = folder.run(&["doctor"]);
    let is_told =
        doctor.stdout.contains("failure  pay.audit_key") && doctor.stdout.contains("restore the key");
    assert!(doctor.code == Some(1) && is_told, "{}", doctor.shown());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_asks_for_nothing() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let ran = folder.run(&["payout", "create", "--to", TO, "--amount", "1 USDC", "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(ran.stdout.starts_with("would ask for 1 USDC to "), "{}", ran.stdout);
    assert_eq!(folder.run(&["payout", "list"]).stdout, "no payouts\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_cancelled_is_asked_for_again_as_a_payout_of_its_own() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let id = create(&folder, "invoice-1", "1 USDC");
    let would = folder.run(&["payout", "approve", &id, "--dry-run"]);
    assert!(would.stdout.contains("1 of 1 approvals, would be APPROVED"), "{}", would.shown());
    let odd = folder.run(&["payout", "cancel", &id, "--reason", "a\u{1b}[2J"]);
    assert_eq!(odd.code, Some(2), "{}", odd.shown());
    let early = folder.run(&["payout", "retry", &id]);
    assert!(early.code == Some(1) && early.stderr.contains("W0603"), "{}", early.shown());
    let dry = folder.run(&["payout", "cancel", &id, "--reason", "a slip", "--dry-run"]);
    assert!(
        dry.code == Some(0) && dry.stdout.contains("is PENDING_RISK and would be REJECTED"),
        "{}",
        dry.shown()
    );
    let cancelled = json(&folder.run(&["payout", "cancel", &id, "--reason", "a slip", "--json"]));
    assert_eq!(
        (&cancelled["state"], &cancelled["reason"]),
        (&"REJECTED".into(), &"cancelled: a slip".into())
    );
    let dry = folder.run(&["payout", "retry", &id, "--dry-run"]);
    assert!(dry.stdout.starts_with("would ask again for 1 USDC to "), "{}", dry.shown());
    let retried = json(&folder.run(&["payout", "retry", &id, "--json"]));
    assert_eq!(
        (&retried["payout"]["retryOf"], &retried["payout"]["state"]),
        (&id.as_str().into(), &"PENDING_RISK".into())
    );
    let own = folder.run(&["payout", "retry", &id, "--key", "invoice-1"]);
    assert!(own.code == Some(1), "its own key is no retry of it: {}", own.shown());
    let twice = folder.run(&["payout", "retry", &id, "--key", "invoice-1-again"]);
    assert!(twice.code == Some(1) && twice.stderr.contains("tried again already"), "{}", twice.shown());
}

/// Killed at random, again and again; what was approved is paid once in the end.
#[tokio::test(flavor = "multi_thread")]
async fn processes_that_are_killed_pay_each_payout_once() {
    let world = PayWorld::start().await;
    let folder = world.folder("batch = 3");
    let ids: Vec<String> =
        (0..12).map(|number| create(&folder, &format!("invoice-{number}"), "1 USDC")).collect();
    let mut approve = vec!["payout", "approve"];
    approve.extend(ids.iter().map(String::as_str));
    assert_eq!(folder.run(&approve).code, Some(0));
    for pause_ms in [60, 110, 170, 240, 330] {
        let mut running = folder.start(&["run", "--role", "pay"]);
        running.wait_for("paying");
        std::thread::park_timeout(std::time::Duration::from_millis(pause_ms));
        running.signal("KILL");
        world.chain.mine();
    }
    let _running = folder.start(&["run", "--role", "pay"]);
    for id in &ids {
        world.until_payout(&folder, id, |payout| payout["finalizedAt"].is_string());
    }
    assert_eq!(world.paid(), (12, U256::from(12_000_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_vault_is_told_before_anything_runs() {
    let world = PayWorld::start().await;
    let folder = world.folder("");
    let config = world.config("").replace(&world.vault.to_string(), &world.token.to_string());
    folder.write("windlass.toml", &config);
    let ran = folder.run(&["run", "--role", "pay"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("W0607"), "{}", ran.shown());
    let config = world.config("").replace("decimals = 6", "decimals = 18");
    folder.write("windlass.toml", &config);
    let ran = folder.run(&["run", "--role", "pay"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("has 6 decimals, not 18"), "{}", ran.shown());
    let nothing = crate::binary::Folder::new().run(&["run", "--role", "pay"]);
    assert!(nothing.code == Some(1) && nothing.stderr.contains("W0601"), "{}", nothing.shown());
}

/// An endpoint that has every call of a contract reverted.
struct Reverting(Chain);

impl Node for Reverting {
    fn call(&self, method: &str, params: Option<&RawValue>) -> Result<bytes::Bytes, RpcError> {
        if method == "eth_call" {
            let (message, data) = ("execution reverted".to_owned(), Some(json!("0x01020304")));
            return Err(RpcError { code: 3, message, data });
        }
        self.0.call(method, params)
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.0.announcements()
    }
}

/// One endpoint of two that knows no vault, and is listed first, does not keep paying from starting.
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_knows_no_vault_keeps_nothing_from_starting_beside_another() {
    let world = PayWorld::start().await;
    let reverting = Server::start(Arc::new(Reverting(world.chain.clone())), ServerOptions::default())
        .await
        .expect("a server");
    let folder = world.folder("");
    let config = world.config("").replace("rpc = [", &format!("rpc = [\"{}\", ", reverting.http_url()));
    folder.write("windlass.toml", &config);
    let mut running = folder.start(&["run", "--role", "pay"]);
    running.wait_for("paying");
}
