//! The same verbs on Foundry's anvil: another implementation of a chain, in its own words.

use alloy_primitives::{Address, Bytes};
use alloy_sol_types::SolValue;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_chain::evm::EvmRpc;
use windlass_testkit::foundry::Anvil;

use super::world::{ADMIN, OPERATOR, STRANGER, TOKEN, TREASURY, account, config, keys};
use crate::binary::Folder;

#[derive(Deserialize)]
struct Artifact {
    bytecode: Bytes,
}

async fn ask(anvil: &Anvil, method: &str, params: Value) -> Value {
    // Installed already where another test of this process was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let params = serde_json::value::to_raw_value(&params).expect("JSON");
    let answer = EvmRpc::new(&anvil.url).expect("a client").raw(method, &params).await.expect("an answer");
    serde_json::from_str(answer.get()).expect("JSON")
}

async fn token(anvil: &Anvil) -> Address {
    let artifact: Artifact = serde_json::from_str(TOKEN).expect("an artifact");
    let name =
        ("Demo Dollar".to_owned(), "DUSD".to_owned(), alloy_primitives::U256::from(6)).abi_encode_params();
    let init_code: Bytes = [artifact.bytecode.as_ref(), &name].concat().into();
    ask(anvil, "eth_sendTransaction", json!([{ "from": account(STRANGER), "data": init_code }])).await;
    account(STRANGER).create(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vault_is_deployed_ruled_and_shown() {
    let anvil = Anvil::start(&[]);
    let token = token(&anvil).await;
    let vault = account(ADMIN).create(0);
    let folder = keys(Folder::with_config(&config(&anvil.url, vault, token)));
    let run = |args: &[&str]| folder.run(&[&["vault"], args].concat());
    let done = |args: &[&str]| {
        let ran = run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.shown());
        ran.stdout
    };
    let (operator, treasury) = (account(OPERATOR).to_string(), account(TREASURY).to_string());
    let told = done(&["deploy", "--operator", &operator, "--treasury", &treasury, "--delay", "1h"]);
    assert!(told.contains(&vault.to_string()), "{told}");
    done(&["set-limit", "--token", "DUSD", "--per-payout", "1000", "--per-day", "25000"]);
    done(&["pause"]);
    let ran = run(&["pause"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("EnforcedPause"), "{}", ran.shown());
    done(&["set-risk-signer", &account(STRANGER).to_string()]);
    let ran = run(&["execute", "risk-signer", "--yes"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("it is too early"), "{}", ran.shown());
    ask(&anvil, "evm_increaseTime", json!([3_600])).await;
    ask(&anvil, "evm_mine", json!([])).await;
    done(&["execute", "risk-signer", "--yes"]);
    let shown: Value = serde_json::from_str(&done(&["show", "--json"])).expect("JSON");
    assert_eq!((shown["paused"].as_bool(), shown["code_is_carried"].as_bool()), (Some(true), Some(true)));
    assert_eq!(shown["risk_signer"], account(STRANGER).to_string().as_str());
    assert_eq!(shown["roles"]["operators"][0], operator.as_str());
    let rules = &shown["tokens"][0];
    assert_eq!(
        (rules["per_payout"].as_str(), rules["per_day"].as_str()),
        (Some("1000000000"), Some("25000000000"))
    );
}
