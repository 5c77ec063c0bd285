//! Base fee and fee history.

use alloy_consensus::TxEip1559;
use alloy_rpc_types_eth::FeeHistory;
use serde_json::json;
use windlass_devnet::chain::ChainOptions;

use super::support::{GWEI, Rig};

/// EIP-1559 written out, to hold the chain to it.
fn next_base_fee(gas_used: u64, gas_limit: u64, base_fee: u64) -> u64 {
    let (target, fee) = (i128::from(gas_limit / 2), i128::from(base_fee));
    let off = i128::from(gas_used) - target;
    let change = fee * off.abs() / target / 8;
    let next = if off > 0 { fee + change.max(1) } else { fee - change };
    u64::try_from(next).unwrap()
}

#[test]
fn the_base_fee_of_every_block_follows_from_its_parent() {
    let rig = Rig::with(ChainOptions { block_gas_limit: 63_000, ..ChainOptions::deterministic() });
    let mut nonce = 0;
    for load in [0, 3, 3, 1, 0, 2, 3, 0, 0, 1] {
        for _ in 0..load {
            rig.send(0, rig.plain(nonce));
            nonce += 1;
        }
        let parent = rig.chain.head();
        let block = rig.chain.mine();
        assert_eq!(block.transactions.len(), load);
        assert_eq!(block.base_fee(), next_base_fee(parent.header.gas_used, 63_000, parent.base_fee()));
    }
}

#[test]
fn fee_history_tells_base_fees_ratios_and_rewards() {
    let rig = Rig::with(ChainOptions { block_gas_limit: 42_000, ..ChainOptions::deterministic() });
    rig.chain.mine();
    for (account, tip) in [(0, 1), (1, 4)] {
        rig.send(account, TxEip1559 { max_priority_fee_per_gas: tip * GWEI, ..rig.plain(0) });
    }
    rig.chain.mine();
    let served = rig.ask("eth_feeHistory", json!(["0x2", "latest", [0.0, 50.0, 100.0]]));
    let history: FeeHistory = serde_json::from_value(served).unwrap();
    let fee = |number| u128::from(rig.chain.block(number).unwrap().base_fee());
    assert_eq!(history.oldest_block, 1);
    assert_eq!(history.base_fee_per_gas, [fee(1), fee(2), fee(2) + fee(2) / 8]);
    assert_eq!(history.gas_used_ratio, [0.0, 1.0]);
    assert_eq!(history.reward, Some(vec![vec![0, 0, 0], vec![GWEI, GWEI, 4 * GWEI]]));
}

#[test]
fn fee_history_is_bounded_and_checked() {
    let rig = Rig::new();
    rig.chain.mine_many(3);
    let all: FeeHistory =
        serde_json::from_value(rig.ask("eth_feeHistory", json!([500, "latest", null]))).unwrap();
    assert_eq!((all.oldest_block, all.gas_used_ratio.len(), all.reward), (0, 4, None));
    let refusal = |params| rig.refusal("eth_feeHistory", params).1;
    assert_eq!(refusal(json!(["0x1", "0x9", []])), "request beyond head block: requested 9, head 3");
    assert_eq!(refusal(json!(["0x1", "latest", [101.0]])), "invalid reward percentile: 101");
    assert_eq!(
        refusal(json!(["0x1", "latest", [2.0, 1.0]])),
        "invalid reward percentile: not in ascending order"
    );
}

#[test]
fn the_suggested_price_is_enough_for_the_next_block() {
    let rig = Rig::new();
    rig.chain.mine();
    let price = u128::from_str_radix(
        rig.ask("eth_gasPrice", json!([])).as_str().unwrap().trim_start_matches("0x"),
        16,
    );
    assert_eq!(price.unwrap(), GWEI + u128::from(rig.chain.head().base_fee()));
    assert_eq!(rig.ask("eth_maxPriorityFeePerGas", json!([])), "0x3b9aca00");
}
