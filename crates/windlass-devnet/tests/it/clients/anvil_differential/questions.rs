//! What both chains are asked once the script has been played.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{Revert, SolCall, SolError};
use serde_json::{Value, json};

use super::action::collector_events;
use super::script::Script;
use crate::chain::support::{emit, emitter, init_code, topic};
use crate::clients::contracts::DemoToken::{balanceOfCall, symbolCall, transferCall};
use crate::clients::contracts::FeeCollector::{
    collectNativeFeesCall, getLifiTokenBalanceCall, getTokenBalanceCall, ownerCall, withdrawLifiFeesCall,
};

type Question = (&'static str, Value);

/// Filters by address, by topics in each place, by alternatives, by tags and ranges. None ends in
/// places for any topic: to anvil they mean nothing, to geth and the devnet that a log has so many.
pub(super) fn logs(script: &Script, head: u64) -> Vec<Question> {
    let (stage, [collected, withdrawn, _]) = (&script.stage, collector_events());
    let (some, other) = (topic(1), topic(2));
    let holder = script.people[1].into_word();
    let middle = format!("{:#x}", head / 2);
    let mut filters = vec![
        json!({"fromBlock": "0x0", "toBlock": "latest"}),
        json!({"fromBlock": "earliest", "toBlock": middle}),
        json!({"fromBlock": middle, "toBlock": format!("{head:#x}")}),
        json!({}),
        json!({"fromBlock": "0x0", "address": stage.collector}),
        json!({"fromBlock": "0x0", "address": [stage.token, stage.emitters[2]]}),
        json!({"fromBlock": "0x0", "address": []}),
        json!({"fromBlock": "0x0", "topics": []}),
        json!({"fromBlock": "0x0", "topics": [some]}),
        json!({"fromBlock": "0x0", "topics": [[some, other]]}),
        json!({"fromBlock": "0x0", "topics": [null, some]}),
        json!({"fromBlock": "0x0", "topics": [null, null, [some, other]]}),
        json!({"fromBlock": "0x0", "topics": [some, null, other]}),
        json!({"fromBlock": "0x0", "topics": [[collected, withdrawn], null, holder]}),
        json!({"fromBlock": "0x0", "address": stage.emitters[4], "topics": [[], [some], null, [other, some]]}),
        json!({"fromBlock": "0x0", "topics": [B256::repeat_byte(0xff)]}),
    ];
    filters.extend(stage.emitters.map(|address| json!({"fromBlock": "0x0", "address": address})));
    filters.into_iter().map(|filter| ("eth_getLogs", json!([filter]))).collect()
}

/// Balances, nonces, code and storage of everybody who took part, after a block.
pub(super) fn state(script: &Script, number: u64) -> Vec<Question> {
    let at = format!("{number:#x}");
    let mut asked = Vec::new();
    for address in script.people.iter().copied().chain(script.stage.all()).chain([Address::ZERO]) {
        for method in ["eth_getBalance", "eth_getTransactionCount", "eth_getCode"] {
            asked.push((method, json!([address, at])));
        }
    }
    let mut slot =
        |contract: Address, slot: B256| asked.push(("eth_getStorageAt", json!([contract, slot, at])));
    for person in &script.people {
        slot(script.people[script.people.len() - 1], person.into_word());
        for emitter in script.stage.emitters {
            slot(emitter, person.into_word());
        }
        // The token's first variable is the mapping of balances, the collector's third that of integrators'.
        slot(script.stage.token, mapping_slot(*person, B256::ZERO));
        let of_integrator = mapping_slot(*person, B256::with_last_byte(2));
        slot(script.stage.collector, mapping_slot(script.stage.token, of_integrator));
    }
    for number in 0..4 {
        slot(script.stage.collector, B256::with_last_byte(number));
    }
    asked
}

fn mapping_slot(key: Address, mapping: B256) -> B256 {
    keccak256([key.into_word().0, mapping.0].concat())
}

/// Calls that return, that revert with and without a reason, and that run out of gas.
pub(super) fn calls(script: &Script) -> Vec<Question> {
    let stage = &script.stage;
    let call = |to: Address, data: Vec<u8>| json!([{"to": to, "data": Bytes::from(data)}, "latest"]);
    let mut asked = vec![
        call(stage.collector, ownerCall {}.abi_encode()),
        call(stage.token, symbolCall {}.abi_encode()),
        call(stage.token, vec![1, 2, 3, 4]),
        call(stage.reverter, vec![]),
        call(stage.reverter, Revert::from("not today").abi_encode()),
        call(stage.collector, withdrawLifiFeesCall { token: stage.token }.abi_encode()),
        call(script.people[0], vec![]),
        json!([{"to": stage.reverter, "data": "0xdeadbeef"}, "0x1"]),
        json!([{"data": init_code(&emitter(3))}, "latest"]),
    ];
    for token in [stage.token, Address::ZERO] {
        asked.push(call(stage.collector, getLifiTokenBalanceCall { token }.abi_encode()));
        for person in &script.people {
            let earned = getTokenBalanceCall { integrator: *person, token };
            asked.push(call(stage.collector, earned.abi_encode()));
        }
    }
    for number in 2..script.blocks.len() {
        let balance = Bytes::from(balanceOfCall { account: script.people[0] }.abi_encode());
        asked.push(json!([{"to": stage.token, "data": balance}, format!("{number:#x}")]));
    }
    asked.into_iter().map(|params| ("eth_call", params)).collect()
}

/// Transfers, calls, creations, and what cannot be done with any gas.
pub(super) fn estimates(script: &Script) -> Vec<Question> {
    let (stage, from) = (&script.stage, script.people[1]);
    let (integrator_fee, protocol_fee) = (U256::from(7), U256::from(3));
    let collect =
        collectNativeFeesCall { integratorFee: integrator_fee, lifiFee: protocol_fee, integrator: from };
    let collect = Bytes::from(collect.abi_encode());
    let transfer = transferCall { to: script.people[2], value: U256::from(1) };
    let mut asked = vec![
        json!({"from": from, "to": script.people[2], "value": "0x1"}),
        json!({"from": from, "to": Address::repeat_byte(0xab), "value": "0x1"}),
        json!({"from": from, "to": stage.token, "data": Bytes::from(transfer.abi_encode())}),
        json!({"from": from, "to": stage.collector, "value": "0xa", "data": collect}),
        json!({"from": from, "to": stage.collector, "value": "0xb", "data": collect}),
        json!({"from": from, "to": stage.collector, "value": "0x9", "data": collect}),
        json!({"from": from, "to": stage.reverter, "data": "0xdeadbeef"}),
        json!({"from": from, "data": init_code(&emitter(1))}),
    ];
    for (topics, emitter) in stage.emitters.iter().enumerate() {
        let words = vec![topic(3); topics];
        asked.push(json!({"from": from, "to": emitter, "data": emit(&words, b"some data")}));
    }
    asked.into_iter().map(|request| ("eth_estimateGas", json!([request]))).collect()
}
