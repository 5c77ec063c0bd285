//! A transaction that takes its time, and the same command again.

use windlass_devnet::chain::Mining;

use crate::collect::world::until;

use super::world::{ADMIN, GUARDIAN, STRANGER, World, account, pauseCall};

fn hash_in(text: &str) -> String {
    let start = text.find("sending 0x").expect("its hash is said first") + "sending ".len();
    text[start..start + 66].to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hash_is_said_and_what_to_do_when_it_is_not_mined_in_time() {
    let world = World::start().await;
    world.chain.set_mining(Mining::Manual);
    let ran = world.run(&["pause", "--timeout", "100ms"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    insta::assert_snapshot!("vault_overdue", ran.shown());
    let hash = hash_in(&ran.stderr);
    assert!(
        ran.stderr.contains(&format!("error[W0611]: transaction {hash} is in no block")),
        "{}",
        ran.shown()
    );

    // The same again would wait behind the first one, and be refused.
    insta::assert_snapshot!("vault_waiting", world.refused(&["pause", "--timeout", "100ms"]));
    // In its place only one of the two can be mined.
    let nonce = world.chain.nonce(account(ADMIN)).to_string();
    let ran = world.run(&["pause", "--timeout", "100ms", "--nonce", &nonce]);
    assert_eq!(hash_in(&ran.stderr), hash, "the very same transaction: {}", ran.shown());
    world.chain.mine();
    assert_eq!(world.shown()["paused"], true);
    let told = world.refused(&["pause", "--nonce", &nonce]);
    assert!(told.contains(&format!("nonce {nonce} of {} is used", account(ADMIN))), "{told}");
    let told = world.refused(&["unpause", "--nonce", "99"]);
    assert!(told.contains("nonce 99") && told.contains("would wait for"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn json_says_where_it_is() {
    let world = World::start().await;
    let ran = world.done(&["pause", "--json"]);
    insta::assert_snapshot!("vault_pause_json", ran.stdout);
    let done: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(done["transaction"], hash_in(&ran.stderr).as_str());
    assert_eq!(done["block"], world.chain.head().number());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_costs_more_than_allowed_is_not_sent() {
    let world = World::start().await;
    let text = world
        .folder
        .read("windlass.toml")
        .replace("development = true", "development = true\nmax_fee_gwei = 1");
    world.folder.write("windlass.toml", &text);
    let told = world.refused(&["pause"]);
    assert!(told.contains("error[W0611]: nothing was sent: gas costs"), "{told}");
    assert!(told.contains("max_fee_gwei"), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_account_cannot_pay_for_is_not_sent() {
    let world = World::with("\n[signer.poor]\ndevelopment_key = \"file:poor.key\"\n").await;
    world.folder.write("poor.key", &format!("0x{}", "77".repeat(32)));
    let who = account(STRANGER).to_string();
    let told = world.refused(&["deploy", "--operator", &who, "--treasury", &who, "--signer", "poor"]);
    assert!(told.contains("has 0 of the chain's own coin, and this may cost 0.0"), "{told}");
}

/// Tried, it would be taken; but somebody else is quicker.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_reverted_is_told_with_its_reason() {
    let world = World::start().await;
    world.chain.set_mining(Mining::Manual);
    let mut running = world.folder.start(&["vault", "pause"]);
    let hash = hash_in(&running.wait_for("sending 0x"));
    // It is said before it is sent.
    let hash_bytes = hash.parse().expect("a hash");
    until(|| if world.chain.is_pooled(hash_bytes) { Ok(()) } else { Err("it is not sent".to_owned()) });
    world.send(GUARDIAN, world.vault, &pauseCall {});
    let block = world.chain.mine().number();
    let (status, told) = running.end();
    assert_eq!(status.code(), Some(1), "{told}");
    let expected = format!(
        "error[W0611]: transaction {hash} was reverted in block {block}: EnforcedPause: the vault is paused already"
    );
    assert!(told.starts_with(&expected), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_endpoint_takes_is_told_in_its_words() {
    let world = World::start().await;
    world.chain.set_mining(Mining::Manual);
    let nonce = world.chain.nonce(account(ADMIN)).to_string();
    world.send(ADMIN, world.vault, &pauseCall {});
    let told = world.refused(&["deny", &account(STRANGER).to_string(), "--nonce", &nonce]);
    assert!(told.contains("error[W0611]: no endpoint took transaction 0x"), "{told}");
    assert!(told.contains("another transaction with its nonce offers more"), "{told}");
}
