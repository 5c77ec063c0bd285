//! A file for a Safe.

use alloy_primitives::{Address, Bytes, U256, keccak256};
use serde_json::Value;
use windlass_core::payout::vault::admin::AdminCall;

use super::world::{STRANGER, World, account};

/// What the importer hashes, written down a second time: sorted keys, then values, all but
/// the checksum.
fn hashed(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&str> =
                fields.keys().map(String::as_str).filter(|key| *key != "checksum").collect();
            keys.sort_unstable();
            let values: String = keys.iter().map(|key| hashed(&fields[*key]) + ",").collect();
            format!("{{{}{values}}}", serde_json::to_string(&keys).expect("JSON"))
        }
        Value::Array(entries) => format!("[{}]", entries.iter().map(hashed).collect::<Vec<_>>().join(",")),
        plain => plain.to_string(),
    }
}

fn written(world: &World, args: &[&str]) -> Value {
    let before = world.chain.head().number();
    world.done(&[args, &["--calldata", "safe.json"]].concat());
    assert_eq!(world.chain.head().number(), before, "nothing is sent");
    let text = world.folder.read("safe.json");
    std::fs::remove_file(world.folder.path().join("safe.json")).expect("removed");
    serde_json::from_str(&text).expect("JSON")
}

fn call(world: &World, batch: &Value) -> AdminCall {
    let transactions = batch["transactions"].as_array().expect("a list");
    assert_eq!(transactions.len(), 1);
    let one = &transactions[0];
    assert_eq!(one["to"], world.vault.to_string().as_str());
    assert_eq!(one["value"], "0");
    let data: Bytes = one["data"].as_str().expect("text").parse().expect("bytes");
    let call = AdminCall::read(&data).expect("a call");
    assert_eq!(one["contractMethod"]["name"], call.function());
    assert_eq!(one["contractMethod"]["payable"], false);
    let inputs = one["contractMethod"]["inputs"].as_array().expect("a list");
    let types: Vec<&str> = inputs.iter().map(|input| input["type"].as_str().expect("a type")).collect();
    assert_eq!(format!("{}({})", call.function(), types.join(",")), call.signature());
    let values = one["contractInputsValues"].as_object().expect("an object");
    let told = call.arguments();
    assert_eq!((values.len(), inputs.len()), (told.len(), told.len()));
    for ((name, argument), input) in told.into_iter().zip(inputs) {
        assert_eq!(input["name"], name);
        assert_eq!(values[name], argument.to_string().as_str(), "text, whatever it is");
    }
    call
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_safe_gets_a_file_that_it_can_import() {
    let world = World::start().await;
    let safe = account(STRANGER).to_string();
    let batch = written(
        &world,
        &["set-limit", "--token", "DUSD", "--per-payout", "12.5", "--per-day", "none", "--from", &safe],
    );
    let limit = AdminCall::SetToken {
        token: world.token,
        enabled: true,
        payout_limit: U256::from(12_500_000),
        day_limit: U256::ZERO,
    };
    assert_eq!(call(&world, &batch), limit);
    assert_eq!((batch["version"].as_str(), batch["chainId"].as_str()), (Some("1.0"), Some("31337")));
    assert!(batch["createdAt"].as_u64().is_some_and(|at| at > 1_700_000_000_000), "milliseconds");
    let meta = batch["meta"].as_object().expect("an object");
    assert_eq!(meta["createdFromSafeAddress"], safe.as_str());
    for text in ["name", "description", "txBuilderVersion", "createdFromOwnerAddress"] {
        assert!(meta[text].is_string(), "{text}");
    }
    assert_eq!(meta["checksum"], keccak256(hashed(&batch)).to_string().as_str());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_dangerous_verb_can_be_written_without_yes_and_without_a_key() {
    let world = World::start().await;
    std::fs::write(
        world.folder.path().join("windlass.toml"),
        super::world::config(&world.url(), world.vault, world.token)
            .replace("[signer.admin]\ndevelopment_key = \"env:ADMIN\"\n", ""),
    )
    .expect("written");
    let (who, token) = (account(STRANGER).to_string(), world.token.to_string());
    for (typed, function) in [
        (&["revoke", "operator", &who][..], "revokeRole"),
        (&["revoke-risk-signer"], "revokeRiskSigner"),
        (&["begin-admin", &who], "scheduleAdminTransfer"),
        (&["accept-admin"], "acceptAdminTransfer"),
        (&["sweep", "--token", &token, "--to", &who, "--amount", "1"], "sweep"),
        (&["emergency-withdraw", "--token", &token], "scheduleEmergencyWithdrawal"),
        (&["execute", "risk-signer"], "applyRiskSigner"),
        (&["execute", "emergency-withdrawal", "--token", &token], "executeEmergencyWithdrawal"),
        (&["pause"], "pause"),
        (&["deny", &who], "deny"),
    ] {
        assert_eq!(call(&world, &written(&world, typed)).function(), function);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_file_is_replaced_and_no_safe_deploys() {
    let world = World::start().await;
    world.folder.write("safe.json", "mine");
    let told = world.refused(&["pause", "--calldata", "safe.json"]);
    assert!(told.contains("cannot write `safe.json`"), "{told}");
    assert_eq!(world.folder.read("safe.json"), "mine");
    let who = Address::repeat_byte(1).to_string();
    let told = world.refused(&["deploy", "--operator", &who, "--treasury", &who, "--calldata", "new.json"]);
    insta::assert_snapshot!("vault_deploy_calldata", told);
    assert!(!world.folder.path().join("new.json").exists());
}
