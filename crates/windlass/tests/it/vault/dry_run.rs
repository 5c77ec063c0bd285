//! What would be sent, and what would become of it.

use super::world::{GUARDIAN, STRANGER, World, account, signer};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_is_shown_and_nothing_sent() {
    let world = World::start().await;
    let before = world.chain.head().number();
    let ran = world.done(&[
        "set-limit",
        "--token",
        "DUSD",
        "--per-payout",
        "1000",
        "--per-day",
        "none",
        "--dry-run",
    ]);
    insta::assert_snapshot!("vault_dry_run", ran.shown());
    let ran = world.done(&["grant", "guardian", &account(STRANGER).to_string(), "--dry-run", "--json"]);
    insta::assert_snapshot!("vault_dry_run_json", ran.stdout);
    assert_eq!(world.chain.head().number(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_is_told_by_name_and_by_the_exit_code() {
    let world = World::with(&signer("stranger")).await;
    let ran = world.run(&["pause", "--signer", "stranger", "--dry-run"]);
    insta::assert_snapshot!("vault_dry_run_refused", ran.shown());
    let ran = world.run(&["unpause", "--from", &account(GUARDIAN).to_string(), "--dry-run", "--json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((told["outcome"].as_str(), told["sent"].as_bool()), (Some("refused"), Some(false)));
    assert_eq!(told["refusal"]["name"], "AccessControlUnauthorizedAccount");
}

/// A multisig has no key here; what it would meet can be tried all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_account_is_tried_without_its_key() {
    let world = World::start().await;
    let from = account(GUARDIAN).to_string();
    let ran = world.done(&["pause", "--from", &from, "--dry-run"]);
    assert!(ran.stdout.contains(&format!("from      {from}\n")), "{}", ran.shown());
    assert!(ran.stderr.is_empty(), "no key was opened: {}", ran.shown());
    let ran = world.run(&["pause", "--from", &from]);
    assert!(ran.code == Some(2) && ran.stderr.contains("--from goes with"), "{}", ran.shown());
}
