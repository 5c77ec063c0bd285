//! `eth_call` and `eth_estimateGas`.

use alloy_primitives::{Address, B256, U64, U256};
use alloy_sol_types::{Revert, SolError};
use serde_json::{Value, json};
use windlass_devnet::chain::{ChainOptions, Mining};

use super::support::{Rig, emit, emitter, init_code, reverter, topic};

/// Returns its own block number: NUMBER, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN.
const NUMBER_TELLER: [u8; 8] = [0x43, 0x5f, 0x52, 0x60, 32, 0x5f, 0xf3, 0x00];

fn estimate(rig: &Rig, request: Value) -> u64 {
    serde_json::from_value::<U64>(rig.ask("eth_estimateGas", json!([request]))).unwrap().to()
}

#[test]
fn a_call_returns_data_and_changes_nothing() {
    let rig = Rig::new();
    let contract = rig.install(&NUMBER_TELLER);
    rig.chain.mine();
    let call = |tag: &str| rig.ask("eth_call", json!([{"to": contract}, tag]));
    assert_eq!(call("latest"), json!(B256::from(U256::from(2))));
    assert_eq!(call("0x1"), json!(B256::from(U256::from(1))));
    assert_eq!(call("pending"), json!(B256::from(U256::from(3))));
    assert_eq!(rig.chain.head().number(), 2);
}

#[test]
fn a_revert_has_code_three_its_reason_and_its_data() {
    let rig = Rig::new();
    let contract = rig.install(&reverter());
    let data = alloy_primitives::Bytes::from(Revert::from("too late").abi_encode());
    let request = json!([{"to": contract, "data": data}]);
    for method in ["eth_call", "eth_estimateGas"] {
        let error = rig.rpc(method, request.clone()).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (3, "execution reverted: too late"), "{method}");
        assert_eq!(error.data, Some(json!(data)));
    }
}

#[test]
fn a_call_that_names_a_price_is_held_to_it() {
    let rig = Rig::new();
    let to = Address::repeat_byte(1);
    rig.ask("eth_call", json!([{"to": to}]));
    let (_, words) =
        rig.refusal("eth_call", json!([{"to": to, "from": rig.address(0), "maxFeePerGas": "0x1"}]));
    assert!(words.contains("max fee per gas less than block base fee"), "{words}");
    let (_, words) = rig.refusal("eth_call", json!([{"to": to, "value": "0x1"}]));
    assert!(words.contains("insufficient funds for gas * price + value"), "{words}");
    let (_, words) = rig.refusal("eth_call", json!([{"to": to, "gasPrice": "0x1", "maxFeePerGas": "0x1"}]));
    assert_eq!(words, "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified");
}

#[test]
fn an_estimate_is_the_least_gas_that_works() {
    let rig = Rig::new();
    let contract = rig.install(&emitter(1));
    let input = emit(&[topic(1)], b"some data");
    let request = json!({"from": rig.address(0), "to": contract, "input": input});
    let least = estimate(&rig, request.clone());
    let run = |gas: u64| {
        let mut request = request.clone();
        request["gas"] = json!(U64::from(gas));
        rig.rpc("eth_call", json!([request]))
    };
    assert!(run(least).is_ok());
    assert_eq!(run(least - 1).unwrap_err().message, "out of gas");
}

#[test]
fn transfers_and_creations_are_estimated() {
    let rig = Rig::new();
    assert_eq!(estimate(&rig, json!({"to": Address::repeat_byte(1), "value": "0x0"})), 21_000);
    let creation = estimate(&rig, json!({"from": rig.address(0), "input": init_code(&emitter(0))}));
    assert!(creation > 53_000, "{creation}");
}

#[test]
fn an_estimate_is_capped_by_what_the_sender_can_pay() {
    let rig = Rig::new();
    let contract = rig.install(&emitter(0));
    let poor = Address::repeat_byte(0x99);
    let request = json!([{"from": poor, "to": contract, "gasPrice": "0x77359400"}]);
    assert_eq!(rig.refusal("eth_estimateGas", request).1, "gas required exceeds allowance (0)");
    let low = json!([{"from": rig.address(0), "to": contract, "gas": "0x5300"}]);
    assert_eq!(rig.refusal("eth_estimateGas", low).1, "gas required exceeds allowance (21248)");
}

#[test]
fn a_failed_transaction_is_mined_with_status_zero_and_no_logs() {
    let rig = Rig::new();
    // PUSH0, PUSH0, LOG0, PUSH0, PUSH0, REVERT; and the same with INVALID at the end
    let reverting = rig.install(&[0x5f, 0x5f, 0xa0, 0x5f, 0x5f, 0xfd]);
    let halting = rig.install(&[0x5f, 0x5f, 0xa0, 0xfe]);
    for contract in [reverting, halting] {
        let hash = rig.send_call(0, contract, emit(&[], b""));
        let block = rig.chain.mine();
        let receipt = rig.ask("eth_getTransactionReceipt", json!([hash]));
        assert_eq!((&receipt["status"], &receipt["logs"]), (&json!("0x0"), &json!([])));
        assert!(block.header.logs_bloom.is_zero());
    }
    assert_eq!(rig.chain.head().header.gas_used, 200_000, "a halt takes all gas");
    assert_eq!(rig.refusal("eth_call", json!([{"to": halting}])), (-32000, "invalid opcode: INVALID".into()));
}

/// Runs until its gas is used up, then fails: JUMPDEST, PUSH1 0, JUMP.
#[test]
fn no_call_uses_more_gas_than_the_cap() {
    let rig = Rig::with(ChainOptions { call_gas_cap: 100_000, ..ChainOptions::deterministic() });
    let endless = json!([{"data": "0x5b600056", "gas": "0xffffffffff"}]);
    assert_eq!(rig.refusal("eth_call", endless.clone()).1, "out of gas");
    let words = rig.refusal("eth_estimateGas", endless).1;
    assert_eq!(words, "gas required exceeds allowance (100000)");
    let gas_teller = json!([{"data": "0x5a5f5260205ff3", "gas": "0xffffffffff"}]);
    let seen: U256 = serde_json::from_value(rig.ask("eth_call", gas_teller)).unwrap();
    assert!(seen < U256::from(100_000) && seen > U256::from(40_000), "{seen}");
}

#[test]
fn a_mistake_is_told_without_the_names_of_types() {
    let rig = Rig::new();
    let methods = [
        "eth_call",
        "eth_estimateGas",
        "eth_getBalance",
        "eth_getCode",
        "eth_getStorageAt",
        "eth_getTransactionCount",
        "eth_getBlockByNumber",
        "eth_getBlockByHash",
        "eth_getBlockReceipts",
        "eth_getTransactionReceipt",
        "eth_getTransactionByHash",
        "eth_getLogs",
        "eth_feeHistory",
        "eth_sendRawTransaction",
        "windlass_mine",
        "windlass_reorg",
        "windlass_setMining",
        "windlass_dropTransaction",
    ];
    let junk =
        [json!("x"), json!(-7), json!([[1]]), json!({"from": 5, "fromBlock": {}}), json!(true), json!(1.5)];
    let inner = ["struct", "enum", "variant", "tuple", "u64", "::", "line 1"];
    for method in methods {
        for value in &junk {
            for params in [json!([value]), json!([value, value, value]), json!(["0x1", value, value])] {
                let Err(error) = rig.rpc(method, params.clone()) else { continue };
                let leaks = inner.iter().any(|word| error.message.contains(word));
                assert!(!leaks, "{method} {params}: {}", error.message);
            }
        }
    }
    let (code, words) = rig.refusal("windlass_mine", json!(["many"]));
    assert_eq!((code, words.as_str()), (-32602, "invalid argument 0: not a value that is allowed here"));
    assert_eq!(rig.refusal("eth_call", json!([7])).1, "invalid argument 0: unexpected integer `7`");
}

#[test]
fn an_interval_of_nothing_is_refused() {
    let rig = Rig::new();
    let (code, words) = rig.refusal("windlass_setMining", json!([{"intervalMs": 0}]));
    assert_eq!((code, words.as_str()), (-32602, "invalid params: intervalMs must be at least 1"));
    assert_eq!(rig.chain.mining(), Mining::Manual);
}
