//! Cast's questions, each with the chain's own answer.

use alloy_primitives::{Address, B256, U256};
use serde_json::{Value, json};
use windlass_devnet::chain::LogFilter;

use super::{Caster, hash_of};
use crate::chain::support::{emitter, init_code, topic};

/// A chain with a contract that logs, and a log.
fn with_a_log(caster: &Caster) -> (Address, B256) {
    let contract = caster.create(&init_code(&emitter(2)));
    let data = alloy_primitives::hex::encode_prefixed([topic(1).0, topic(2).0].concat());
    let receipt = caster.send(0, &[&contract.to_string(), &data]);
    (contract, hash_of(&receipt))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_chain_is_described_as_it_is() {
    for caster in Caster::both().await {
        let (contract, _) = with_a_log(&caster);
        let chain = &caster.served.chain;
        let (me, nobody) = (caster.address(0), Address::repeat_byte(0xee));
        assert_eq!(caster.run(&["chain-id"]), "31337");
        assert_eq!(caster.run(&["block-number"]), "2");
        assert_eq!(caster.run(&["balance", &me.to_string()]), chain.balance(me).to_string());
        assert_eq!(caster.run(&["balance", &nobody.to_string()]), "0");
        assert_eq!(caster.run(&["nonce", &me.to_string()]), "2");
        assert_eq!(caster.run(&["code", &contract.to_string()]), chain.code(contract).to_string());
        let slot = U256::from_be_slice(me.as_slice());
        let stored = caster.run(&["storage", &contract.to_string(), &B256::from(slot).to_string()]);
        assert_eq!(stored, B256::from(chain.storage(contract, slot)).to_string());
        assert_eq!(chain.storage(contract, slot), U256::ONE, "one call was counted");
        let base_fee = chain.head().header.base_fee_per_gas.unwrap();
        assert_eq!(caster.run(&["base-fee"]), base_fee.to_string());
        assert_eq!(caster.run(&["gas-price"]), (base_fee + 1_000_000_000).to_string());
        assert_eq!(caster.run(&["client"]), concat!("windlass-devnet/v", env!("CARGO_PKG_VERSION")));
        let paid = ["estimate", &nobody.to_string(), "--value", "1"];
        assert_eq!(caster.run(&paid), "21000");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_shown_by_tag_number_and_hash() {
    for caster in Caster::both().await {
        with_a_log(&caster);
        let head = caster.served.chain.head();
        let shown = caster.json(&["block", "latest"]);
        assert_eq!(shown["hash"], json!(head.hash()));
        assert_eq!(shown["parentHash"], json!(head.header.parent_hash));
        assert_eq!(shown["receiptsRoot"], json!(head.header.receipts_root));
        assert_eq!(shown["logsBloom"], json!(head.header.logs_bloom));
        assert_eq!(shown["transactions"], json!([head.transactions[0].hash()]));
        assert_eq!(caster.json(&["block", "2"]), shown);
        assert_eq!(caster.json(&["block", &head.hash().to_string()]), shown);
        assert_eq!(caster.json(&["block", "finalized"])["number"], "0x0");
        let text = caster.run(&["block", "latest"]);
        assert!(text.contains(&head.hash().to_string()), "{text}");
        let full = caster.json(&["block", "latest", "--full"]);
        assert_eq!(full["transactions"][0]["from"], json!(caster.address(0)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn receipts_and_transactions_are_shown() {
    for caster in Caster::both().await {
        let (contract, hash) = with_a_log(&caster);
        let chain = &caster.served.chain;
        let truth = chain.receipt(hash).unwrap();
        let receipt = caster.json(&["receipt", &hash.to_string()]);
        for (field, value) in serde_json::to_value(&truth).unwrap().as_object().unwrap() {
            assert_eq!(&receipt[field], value, "{field}");
        }
        assert_eq!(caster.run(&["receipt", &hash.to_string(), "blockNumber"]), "2");
        let shown = caster.json(&["tx", &hash.to_string()]);
        assert_eq!(
            (&shown["hash"], &shown["blockNumber"], &shown["nonce"]),
            (&json!(hash), &json!("0x2"), &json!("0x1"))
        );
        assert_eq!(shown["to"], json!(contract));
        let raw = caster.run(&["tx", &hash.to_string(), "--raw"]);
        let sent = &chain.block(2).unwrap().transactions[0];
        assert_eq!(raw, windlass_devnet::chain::raw_bytes(sent.signed().inner()).to_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_found_by_address_and_topic() {
    for caster in Caster::both().await {
        let (contract, _) = with_a_log(&caster);
        let (other, _) = with_a_log(&caster);
        let all = ["logs", "--from-block", "0", "--to-block", "latest"];
        let logs = |more: &[&str]| caster.json(&[&all[..], more].concat());
        let truth = |filter: LogFilter| -> Value {
            serde_json::to_value(caster.served.chain.canonical_logs(&filter)).unwrap()
        };
        assert_eq!(logs(&[]), truth(LogFilter::all()));
        assert_eq!(logs(&["--address", &contract.to_string()]), truth(LogFilter::all().address(contract)));
        assert_eq!(logs(&["--address", &other.to_string()]).as_array().map(Vec::len), Some(1));
        assert_eq!(logs(&[&topic(1).to_string()]).as_array().map(Vec::len), Some(2));
        assert_eq!(logs(&[&topic(2).to_string()]), json!([]));
        let first = caster.json(&["logs", "--from-block", "1", "--to-block", "2"]);
        assert_eq!(first, truth(LogFilter::range(1, 2)));
    }
}
