//! The chain's own coin, from the configuration to a payment that is confirmed.

use alloy_primitives::{Address, U256, address};
use serde_json::{Value, json};
use windlass_devnet::chain::Mining;

use super::world::{PayWorld, TO, create, json, transfer};
use crate::binary::Folder;
use crate::collect::http::{get, post, url_in};

/// The vault as it was before it could pay the coin.
const PREVIOUS_VAULT: &str = include_str!("../../../../../contracts/test/previous/SettlementVault.json");
const RECIPIENT: Address = address!("00000000000000000000000000000000000000a1");

fn coins(hundredths: u64) -> U256 {
    U256::from(hundredths) * U256::from(10).pow(U256::from(16))
}

/// What `doctor` finds of the coin: how bad it is, and its words.
fn finding(folder: &Folder) -> (String, String) {
    let report: Value = serde_json::from_str(&folder.run(&["doctor", "--json"]).stdout).expect("json");
    let findings = report["findings"].as_array().expect("a list").clone();
    let found =
        findings.into_iter().find(|finding| finding["subject"] == "pay.token.POL").expect("a finding");
    let words = ["message", "hint"].map(|key| found[key].as_str().unwrap_or_default().to_owned()).join("; ");
    (found["level"].as_str().unwrap_or_default().to_owned(), words)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_coin_is_enabled_funded_paid_and_reconciled() {
    let world = PayWorld::start().await;
    let folder = world.folder_with_coin("");
    let (level, words) = finding(&folder);
    assert_eq!(level, "failure");
    assert!(
        words.contains("the vault does not pay POL") && words.contains("set-limit --token POL"),
        "{words}"
    );
    world.chain.set_mining(Mining::Auto);
    let set = ["vault", "set-limit", "--token", "POL", "--per-payout", "5", "--per-day", "12.5 POL"];
    let set = folder.run(&[&set[..], &["--signer", "admin"]].concat());
    assert_eq!(set.code, Some(0), "{}", set.shown());
    let (level, words) = finding(&folder);
    assert_eq!(level, "warning");
    assert!(words.contains("the vault holds 0 POL"), "{words}");

    // What waits for the coin says how much is missing.
    let id = create(&folder, "invoice-1", "1.25 POL");
    assert_eq!(folder.run(&["payout", "approve", &id]).code, Some(0));
    let mut running = folder.start(&["run", "--role", "pay"]);
    let held = world.until_payout(&folder, &id, |payout| payout["hold"]["reason"].is_string());
    let reason = held["hold"]["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("the vault holds 0 POL") && reason.contains("send it 1.25 POL more"), "{reason}");
    transfer(&world.chain, world.vault, coins(300));
    let shown = world.until_payout(&folder, &id, |payout| payout["state"] == "CONFIRMED");
    assert_eq!((&shown["decimalAmount"], shown["approvalsNeeded"].as_u64()), (&"1.25".into(), Some(1)));
    assert_eq!(world.chain.balance(RECIPIENT), coins(125));
    assert_eq!(world.paid(), (1, coins(125)));
    let moved = running.wait_for("payout CONFIRMED");
    assert!(moved.contains("amount=\"1.25 POL\""), "{moved}");
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(0));

    let (_, words) = finding(&folder);
    assert!(words.contains("the vault holds 1.75 POL"), "{words}");
    for token in ["POL", "pol", "0x0000000000000000000000000000000000000000"] {
        let listed = json(&folder.run(&["payout", "list", "--token", token, "--json"]));
        assert_eq!(listed["data"].as_array().map(Vec::len), Some(1), "{token}");
    }
    let others = json(&folder.run(&["payout", "list", "--token", "USDC", "--json"]));
    assert_eq!(others["data"], json!([]));
    let reconciled = json(&folder.run(&["pay", "reconcile", "--json"]));
    let counts = ["unknown", "contradictions"].map(|key| reconciled[key].as_u64());
    assert_eq!(counts, [Some(0), Some(0)], "{reconciled}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_coin_is_asked_for_in_files_and_over_http_by_symbol_or_zero_address() {
    let world = PayWorld::start().await;
    let folder = world.folder_with_coin("[pay.risk]\nmax_per_request = [\"5 POL\", \"100 USDC\"]");
    folder.write(
        "payouts.csv",
        &format!("key,to,amount,token\na,{TO},0.5 POL,\nb,{TO},1,pol\nc,{TO},2,USDC\n"),
    );
    let created = json(&folder.run(&["payout", "create", "--csv", "payouts.csv", "--json"]));
    let zero = json!(Address::ZERO);
    assert_eq!(created["data"][0]["payout"]["token"], zero);
    assert_eq!(created["data"][0]["payout"]["amount"], coins(50).to_string());
    assert_eq!(created["data"][1]["payout"]["amount"], coins(100).to_string());
    assert_ne!(created["data"][2]["payout"]["token"], zero);
    let much =
        folder.run(&["payout", "create", "--to", TO, "--amount", "5.01 POL", "--key", "d", "--dry-run"]);
    assert!(
        much.stdout.contains("would ask for 5.01 POL")
            && much.stdout.contains("max_per_request exceeded: a payout"),
        "{}",
        much.shown()
    );

    let made = folder.run(&["key", "create", "--role", "operator", "--name", "otto", "--json"]);
    let key = json(&made)["key"].as_str().expect("a key").to_owned();
    let mut running = folder.start(&["run", "--role", "api"]);
    let url = url_in(&running.wait_for("serving what was collected"));
    for (name, token) in [("by-symbol", "POL".to_owned()), ("by-address", Address::ZERO.to_string())] {
        let ask = json!({"to": TO, "amount": "7", "token": token, "idempotencyKey": name});
        let (status, body) = post(&url, "/api/v1/payouts", Some(&key), &ask.to_string());
        assert!([200, 201].contains(&status), "{status} {body}");
        assert!(body.contains("\"asset\":\"POL\"") && body.contains(&Address::ZERO.to_string()), "{body}");
    }
    let ask = format!(
        "mutation {{ createPayoutRequest(to: \"{TO}\", amount: \"7\", asset: \"POL\", idempotencyKey: \"g\") {{ asset token amount }} }}"
    );
    let (status, body) = post(&url, "/graphql", Some(&key), &json!({"query": ask}).to_string());
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("\"asset\":\"POL\""), "{body}");
    let (status, body) = get(&url, "/openapi.json");
    assert!(status == 200 && body.contains("zero address"), "the representation is documented");
}

/// The configuration names the coin, and the vault is of before: every place says so, and tokens are paid.
#[tokio::test(flavor = "multi_thread")]
async fn a_vault_of_before_the_coin_is_named_and_pays_tokens() {
    let world = PayWorld::start_with(PREVIOUS_VAULT).await;
    let folder = world.folder_with_coin("");
    let (level, words) = finding(&folder);
    assert_eq!(level, "failure");
    assert!(
        words.contains("was deployed before vaults could") && words.contains("windlass vault deploy"),
        "{words}"
    );
    let set = ["vault", "set-limit", "--token", "POL", "--per-payout", "5", "--signer", "admin"];
    let refused = folder.run(&set);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("was deployed before vaults could"),
        "{}",
        refused.shown()
    );
    let coin = create(&folder, "in-coins", "1 POL");
    let token = create(&folder, "in-dollars", "2 USDC");
    for id in [&coin, &token] {
        assert_eq!(folder.run(&["payout", "approve", id]).code, Some(0));
    }
    let _running = folder.start(&["run", "--role", "pay"]);
    world.until_payout(&folder, &token, |payout| payout["state"] == "CONFIRMED");
    let held = world.until_payout(&folder, &coin, |payout| payout["hold"]["reason"].is_string());
    let reason = held["hold"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("cannot pay the chain's own coin"), "{reason}");
    assert_eq!(world.paid(), (1, U256::from(2_000_000)));
}
