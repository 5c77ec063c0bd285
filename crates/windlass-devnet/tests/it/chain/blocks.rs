//! Blocks over RPC: tags, hashes, receipts, history and finality.

use alloy_consensus::TxEip1559;
use alloy_consensus::proofs::calculate_transaction_root;
use alloy_primitives::{B256, Bytes, TxKind, U64, U256};
use alloy_rpc_types_eth::{Block, TransactionReceipt};
use serde_json::{Value, json};
use windlass_devnet::chain::ChainOptions;

use super::support::{Rig, emit, emitter, topic};

#[test]
fn a_block_decodes_to_the_hash_it_was_served_with() {
    let rig = Rig::new();
    let contract = rig.install(&emitter(2));
    rig.send_call(0, contract, emit(&[topic(1), topic(2)], b"data"));
    rig.chain.mine();
    for number in 0..=2 {
        let served = rig.ask("eth_getBlockByNumber", json!([U64::from(number), true]));
        let block: Block = serde_json::from_value(served.clone()).unwrap();
        assert_eq!(block.header.inner.hash_slow(), block.header.hash);
        assert_eq!(rig.ask("eth_getBlockByHash", json!([block.header.hash, true])), served);
        let consensus = block.clone().into_consensus().map_transactions(|tx| tx.into_inner());
        assert_eq!(calculate_transaction_root(&consensus.body.transactions), block.header.transactions_root);
        assert_eq!(Some(U256::from(alloy_rlp::Encodable::length(&consensus))), block.header.size);
    }
}

#[test]
fn tags_follow_the_head_and_finality_never_goes_back() {
    let rig = Rig::with(ChainOptions { finality_depth: 10, ..ChainOptions::deterministic() });
    let number = |tag: &str| rig.ask("eth_getBlockByNumber", json!([tag, false]))["number"].clone();
    let tags = || ["earliest", "finalized", "safe", "latest", "pending"].map(number);
    assert_eq!(tags(), ["0x0", "0x0", "0x0", "0x0", "0x1"]);
    rig.chain.mine_many(30);
    assert_eq!(tags(), ["0x0", "0x14", "0x19", "0x1e", "0x1f"]);
    let shrink = windlass_devnet::chain::ReorgOptions { new_blocks: Some(0), ..Default::default() };
    rig.chain.reorg(8, &shrink).unwrap();
    rig.chain.mine();
    assert_eq!(tags(), ["0x0", "0x14", "0x14", "0x17", "0x18"]);
}

#[test]
fn what_is_not_there_is_null() {
    let rig = Rig::new();
    assert_eq!(rig.ask("eth_getBlockByNumber", json!(["0x5", false])), Value::Null);
    assert_eq!(rig.ask("eth_getBlockByHash", json!([B256::repeat_byte(1), false])), Value::Null);
    assert_eq!(rig.ask("eth_getBlockReceipts", json!(["0x5"])), Value::Null);
    assert_eq!(rig.ask("eth_getTransactionByHash", json!([B256::ZERO])), Value::Null);
    assert_eq!(
        rig.refusal("eth_getBalance", json!([rig.address(0), "0x5"])),
        (-32000, "header not found".into())
    );
    assert_eq!(
        rig.refusal("eth_getBalance", json!([rig.address(0), {"blockHash": B256::ZERO}])).1,
        "header for hash not found"
    );
    assert_eq!(rig.refusal("eth_getProof", json!([])).0, -32601);
}

#[test]
fn receipts_of_a_block_are_those_of_its_transactions() {
    let rig = Rig::new();
    let contract = rig.install(&emitter(1));
    let calls = [0, 1, 0].map(|account| rig.send_call(account, contract, emit(&[topic(9)], b"")));
    let block = rig.chain.mine();
    let served = rig.ask("eth_getBlockReceipts", json!(["latest"]));
    assert_eq!(served, rig.ask("eth_getBlockReceipts", json!([block.hash()])));
    let receipts: Vec<TransactionReceipt> = serde_json::from_value(served).unwrap();
    assert_eq!(receipts.len(), calls.len());
    let mut cumulative = 0;
    for (index, receipt) in receipts.iter().enumerate() {
        cumulative += receipt.gas_used;
        assert_eq!(receipt.inner.cumulative_gas_used(), cumulative);
        assert_eq!(receipt.inner.logs()[0].log_index, Some(index as u64));
        assert_eq!(rig.chain.receipt(receipt.transaction_hash).as_ref(), Some(receipt));
    }
    assert_eq!(block.header.gas_used, cumulative);
}

#[test]
fn a_creation_that_failed_has_an_address_too() {
    let rig = Rig::new();
    // PUSH0, PUSH0, REVERT
    let init_code = Bytes::from_static(&[0x5f, 0x5f, 0xfd]);
    let create = TxEip1559 { to: TxKind::Create, input: init_code, gas_limit: 100_000, ..rig.plain(0) };
    let hash = rig.send(0, create);
    rig.chain.mine();
    let receipt = rig.ask("eth_getTransactionReceipt", json!([hash]));
    assert_eq!(receipt["status"], "0x0");
    assert_eq!(receipt["contractAddress"], json!(rig.address(0).create(0)));
    assert!(rig.chain.code(rig.address(0).create(0)).is_empty());
}

#[test]
fn every_past_state_can_be_asked() {
    let rig = Rig::new();
    let contract = rig.install(&emitter(0));
    let mut balances = vec![rig.chain.balance(rig.address(0))];
    let first = rig.chain.head().number();
    for _ in 0..5 {
        rig.send_call(0, contract, emit(&[], b""));
        rig.chain.mine();
        balances.push(rig.chain.balance(rig.address(0)));
    }
    let slot = U256::from_be_slice(rig.address(0).as_slice());
    for (calls, balance) in balances.iter().enumerate() {
        let at = U64::from(first + calls as u64);
        assert_eq!(rig.ask("eth_getBalance", json!([rig.address(0), at])), json!(balance));
        assert_eq!(
            rig.ask("eth_getTransactionCount", json!([rig.address(0), at])),
            json!(U64::from(1 + calls))
        );
        let stored = rig.ask("eth_getStorageAt", json!([contract, slot, at]));
        assert_eq!(stored, json!(B256::from(U256::from(calls))));
    }
    assert_eq!(rig.ask("eth_getCode", json!([contract, "earliest"])), "0x");
    assert_eq!(rig.ask("eth_getCode", json!([contract, "latest"])), json!(rig.chain.code(contract)));
}

#[test]
fn pending_shows_what_waits() {
    let rig = Rig::new();
    let hash = rig.send(0, rig.plain(0));
    let to = rig.plain(0).to;
    assert_eq!(rig.ask("eth_getTransactionCount", json!([rig.address(0), "latest"])), "0x0");
    assert_eq!(rig.ask("eth_getTransactionCount", json!([rig.address(0), "pending"])), "0x1");
    assert_eq!(rig.ask("eth_getBalance", json!([to.to(), "latest"])), "0x0");
    assert_eq!(rig.ask("eth_getBalance", json!([to.to(), "pending"])), "0x1");
    assert_eq!(rig.ask("eth_getBlockByNumber", json!(["pending", false]))["transactions"], json!([hash]));
    assert_eq!(rig.chain.head().number(), 0, "asking makes no block");
}

#[test]
fn the_node_says_who_it_is() {
    let rig = Rig::with(ChainOptions { chain_id: 99, ..ChainOptions::deterministic() });
    assert_eq!(rig.ask("eth_chainId", json!([])), "0x63");
    assert_eq!(rig.ask("net_version", json!([])), "99");
    assert_eq!(rig.ask("eth_syncing", json!([])), false);
    assert_eq!(rig.ask("eth_accounts", json!([])).as_array().map(Vec::len), Some(10));
    assert!(rig.ask("web3_clientVersion", json!([])).as_str().unwrap().starts_with("windlass-devnet/v"));
}
