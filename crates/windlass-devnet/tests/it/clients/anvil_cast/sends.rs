//! `cast send`: payments, creations and calls, with gas, fees and nonce found by cast.

use alloy_primitives::U256;
use serde_json::json;

use super::{Caster, hash_of};
use crate::clients::contracts::{demo_token, fee_collector};

/// The receipt cast printed is the chain's own, and every transaction got a block.
fn assert_mined(caster: &Caster, receipt: &serde_json::Value, block: u64) {
    let truth = caster.served.chain.receipt(hash_of(receipt)).expect("on the chain");
    assert_eq!(truth.block_number, Some(block));
    assert_eq!(receipt["status"], "0x1");
    let truth = serde_json::to_value(truth).unwrap();
    for field in
        ["gasUsed", "cumulativeGasUsed", "effectiveGasPrice", "logsBloom", "blockHash", "logs", "type"]
    {
        assert_eq!(receipt[field], truth[field], "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_creations_and_calls_are_mined() {
    for caster in Caster::both().await {
        let (payee, chain) = (caster.address(5), &caster.served.chain);
        let before = chain.balance(payee);
        let receipt = caster.send(1, &[&payee.to_string(), "--value", "3gwei"]);
        assert_mined(&caster, &receipt, 1);
        assert_eq!(chain.balance(payee), before + U256::from(3_000_000_000_u64));

        let owner = caster.address(0);
        let collector = caster.create(&fee_collector(owner));
        assert!(!chain.code(collector).is_empty());
        let token = caster.create(&demo_token());
        assert_eq!(caster.run(&["call", &token.to_string(), "symbol()(string)"]), "\"DEMO\"");

        let signature = "collectNativeFees(uint256,uint256,address)";
        let integrator = payee.to_string();
        let receipt =
            caster.send(2, &[&collector.to_string(), signature, "70", "30", &integrator, "--value", "150"]);
        assert_mined(&caster, &receipt, 4);
        assert_eq!(receipt["logs"].as_array().map(Vec::len), Some(1));
        assert_eq!(chain.balance(collector), U256::from(100));
        let earned =
            ["call", &collector.to_string(), "getTokenBalance(address,address)(uint256)", &integrator];
        assert_eq!(
            caster.run(&[&earned[..], &["0x0000000000000000000000000000000000000000"]].concat()),
            "70"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn old_transaction_types_are_taken() {
    for caster in Caster::both().await {
        let payee = caster.address(6).to_string();
        let receipt = caster.send(3, &["--legacy", &payee, "--value", "1"]);
        assert_eq!((&receipt["type"], &receipt["blockNumber"]), (&json!("0x0"), &json!("0x1")));
        assert_mined(&caster, &receipt, 1);
    }
}

/// Cast takes the nonce from the chain each time, and waits for a block each time.
#[tokio::test(flavor = "multi_thread")]
async fn nonces_follow_each_other() {
    for caster in Caster::both().await {
        let payee = caster.address(6).to_string();
        for block in 1..=3 {
            assert_mined(&caster, &caster.send(4, &[&payee, "--value", "1"]), block);
        }
        assert_eq!(caster.served.chain.nonce(caster.address(4)), 3);
    }
}
