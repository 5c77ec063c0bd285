//! The synthetic chain seen through its own `Node`: bytes against plain fields.

use alloy_primitives::{Address, B256, BloomInput};
use alloy_rpc_types_eth::{Block, Log};
use serde_json::{Value, json, value::to_raw_value};

use super::*;
use crate::node::{Node, RpcError};

fn node(density: Density, blocks: u64) -> SyntheticNode {
    let options = SyntheticOptions { density, blocks, ..SyntheticOptions::default() };
    SyntheticNode::new(options)
}

fn call(node: &SyntheticNode, method: &str, params: Value) -> Result<Vec<u8>, RpcError> {
    let params = to_raw_value(&params).unwrap();
    node.call(method, Some(&params)).map(|bytes| bytes.to_vec())
}

fn logs(node: &SyntheticNode, filter: Value) -> Vec<Log> {
    serde_json::from_slice(&call(node, "eth_getLogs", json!([filter])).unwrap()).unwrap()
}

fn assert_same(wire: &Log, truth: &SyntheticLog) {
    assert_eq!(wire.block_number, Some(truth.block_number));
    assert_eq!(wire.block_hash, Some(truth.block_hash));
    assert_eq!(wire.block_timestamp, Some(truth.block_time_s));
    assert_eq!(wire.transaction_hash, Some(truth.transaction_hash));
    assert_eq!(wire.transaction_index, Some(truth.transaction_index));
    assert_eq!(wire.log_index, Some(truth.log_index));
    assert_eq!(wire.inner.address, truth.address);
    let topics = [FEES_COLLECTED_TOPIC, truth.token.into_word(), truth.integrator.into_word()];
    assert_eq!(wire.topics(), topics);
    let amounts = [truth.integrator_fee.to_be_bytes::<32>(), truth.lifi_fee.to_be_bytes::<32>()];
    assert_eq!(wire.inner.data.data.as_ref(), amounts.concat());
    assert!(!wire.removed);
}

/// Compares a whole small chain, over the block and index numbers that grow by a digit.
fn assert_chain(density: Density, blocks: u64) {
    let node = node(density, blocks);
    let wire = logs(&node, json!({"fromBlock": "0x0", "toBlock": "latest"}));
    assert_eq!(wire.len() as u64, node.log_count());
    for (number, log) in wire.iter().enumerate() {
        assert_same(log, &node.log(number as u64));
    }
}

#[test]
fn the_wire_says_what_the_fields_say() {
    assert_chain(Density::PerBlock(1), 300);
    assert_chain(Density::PerBlock(20), 300);
    assert_chain(Density::PerBlock(300), 17);
    assert_chain(Density::EveryBlocks(7), 5_000);
}

#[test]
fn a_range_is_the_slice_of_the_whole() {
    let node = node(Density::PerBlock(3), 100);
    let wire = logs(&node, json!({"fromBlock": "0xf", "toBlock": "0x11"}));
    assert_eq!(wire.len(), 9);
    for (offset, log) in wire.iter().enumerate() {
        assert_same(log, &node.log(14 * 3 + offset as u64));
    }
}

#[test]
fn timestamps_can_be_left_out() {
    let options = SyntheticOptions { with_timestamp: false, ..SyntheticOptions::default() };
    let node = SyntheticNode::new(options);
    let wire = logs(&node, json!({"fromBlock": "0x1", "toBlock": "0x2"}));
    assert_eq!(wire.len(), 2);
    assert!(wire.iter().all(|log| log.block_timestamp.is_none()));
}

#[test]
fn blocks_of_less_than_a_second_share_their_time() {
    let options = SyntheticOptions { block_time_ms: 250, blocks: 50, ..SyntheticOptions::default() };
    let node = SyntheticNode::new(options.clone());
    let times: Vec<u64> = (0..8).map(|log| node.log(log).block_time_s - options.genesis_time_s).collect();
    assert_eq!(times, [0, 0, 0, 1, 1, 1, 1, 2]);
    let wire = logs(&node, json!({"fromBlock": "0x1", "toBlock": "0x8"}));
    for (number, log) in wire.iter().enumerate() {
        assert_same(log, &node.log(number as u64));
    }
}

#[test]
fn filters_let_through_what_they_name() {
    let node = node(Density::PerBlock(5), 400);
    let range = |mut filter: Value| {
        filter["fromBlock"] = json!("0x0");
        filter["toBlock"] = json!("latest");
        logs(&node, filter)
    };
    let all = range(json!({"address": node.log(0).address, "topics": [FEES_COLLECTED_TOPIC]}));
    assert_eq!(all.len(), 2_000);
    assert!(range(json!({"address": Address::ZERO})).is_empty());
    assert!(range(json!({"topics": [B256::ZERO]})).is_empty());
    assert!(range(json!({"topics": [null, null, null, B256::ZERO]})).is_empty());
    let (token, integrator) = (all[9].topics()[1], all[9].topics()[2]);
    let expected: Vec<Log> =
        all.iter().filter(|log| log.topics()[1] == token && log.topics()[2] == integrator).cloned().collect();
    assert!(!expected.is_empty() && expected.len() < all.len());
    let by_topics = json!({"topics": [null, token, [integrator, B256::ZERO]]});
    assert_eq!(range(by_topics), expected);
}

#[test]
fn too_many_results_name_a_range_that_works() {
    let node = node(Density::PerBlock(300), 1_000);
    let whole = json!([{"fromBlock": "0x5", "toBlock": "0x64"}]);
    let error = call(&node, "eth_getLogs", whole).unwrap_err();
    assert_eq!(error.code, -32005);
    assert!(error.message.ends_with("Try with this block range [0x5, 0x25]."), "{error}");
    let working = logs(&node, json!({"fromBlock": "0x5", "toBlock": "0x25"}));
    assert_eq!(working.len(), 9_900);
}

#[test]
fn too_many_filtered_results_are_refused_too() {
    let options = SyntheticOptions { result_limit: 3, blocks: 10_000, ..Default::default() };
    let node = SyntheticNode::new(options);
    let token = node.log(0).token.into_word();
    let filter = json!([{"fromBlock": "0x0", "toBlock": "latest", "topics": [null, token]}]);
    let error = call(&node, "eth_getLogs", filter).unwrap_err();
    assert!(error.message.starts_with("query returned more than 3 results"), "{error}");
}

#[test]
fn blocks_are_linked_and_found_by_number_and_hash() {
    let node = node(Density::PerBlock(2), 50);
    let by_number = |tag: &str| -> Option<Block> {
        let bytes = call(&node, "eth_getBlockByNumber", json!([tag, false])).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let (parent, block) = (by_number("0x6").unwrap(), by_number("0x7").unwrap());
    assert_eq!(block.header.inner.parent_hash, parent.header.hash);
    assert_eq!(block.transactions.len(), 2);
    let log = node.log(12);
    assert_eq!((log.block_number, log.block_hash), (7, block.header.hash));
    for input in [log.address.as_slice(), log.token.into_word().as_slice()] {
        assert!(block.header.inner.logs_bloom.contains_input(BloomInput::Raw(input)));
    }
    let bytes = call(&node, "eth_getBlockByHash", json!([block.header.hash, false])).unwrap();
    assert_eq!(serde_json::from_slice::<Block>(&bytes).unwrap(), block);
    assert_eq!(by_number("latest").unwrap().header.inner.number, 50);
    assert_eq!(by_number("finalized").unwrap().header.inner.number, 0);
    assert_eq!(by_number("0x33"), None);
}

#[test]
fn a_block_has_its_transactions_when_they_are_asked_for() {
    let node = node(Density::PerBlock(3), 50);
    let block = |full: bool| -> Block {
        let bytes = call(&node, "eth_getBlockByNumber", json!(["0x7", full])).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    let full = block(true);
    let transactions: Vec<_> = full.transactions.as_transactions().unwrap().iter().collect();
    assert_eq!(transactions.len(), 3);
    for (place, transaction) in transactions.iter().enumerate() {
        let log = node.log(6 * 3 + place as u64);
        assert_eq!(transaction.transaction_index, Some(log.transaction_index));
        assert_eq!(transaction.block_hash, Some(log.block_hash));
        assert_eq!(transaction.block_number, Some(7));
    }
    let hashes: Vec<B256> = block(false).transactions.hashes().collect();
    let told: Value =
        serde_json::from_slice(&call(&node, "eth_getBlockByNumber", json!(["0x7", true])).unwrap()).unwrap();
    let told: Vec<B256> = told["transactions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|transaction| serde_json::from_value(transaction["hash"].clone()).unwrap())
        .collect();
    assert_eq!(told, hashes);
}

#[test]
fn logs_by_block_hash_know_their_block_only() {
    let node = node(Density::PerBlock(2), 50);
    let truth = node.log(12);
    assert_eq!(logs(&node, json!({"blockHash": truth.block_hash})).len(), 2);
    let beyond = node.log(2 * 51).block_hash;
    for unknown in [beyond, B256::repeat_byte(7)] {
        let error = call(&node, "eth_getLogs", json!([{"blockHash": unknown}])).unwrap_err();
        assert_eq!(error.message, "unknown block");
    }
}

#[test]
fn ranges_end_at_the_head() {
    let node = node(Density::PerBlock(1), 50);
    assert_eq!(logs(&node, json!({"fromBlock": "0x31", "toBlock": "0xff"})).len(), 2);
    assert!(logs(&node, json!({"fromBlock": "0x33", "toBlock": "0xff"})).is_empty());
    let backwards = json!([{"fromBlock": "0x3", "toBlock": "0x2"}]);
    assert_eq!(call(&node, "eth_getLogs", backwards).unwrap_err().code, -32602);
    node.advance(1);
    assert_eq!(logs(&node, json!({"fromBlock": "0x33", "toBlock": "0xff"})).len(), 1);
}

#[test]
fn an_advance_is_announced_with_header_and_logs() {
    let node = node(Density::PerBlock(2), 50);
    let mut announcements = node.announcements();
    node.advance(1);
    let announcement = announcements.try_recv().unwrap();
    let head: Value = serde_json::from_slice(&announcement.heads[0]).unwrap();
    assert_eq!(head["number"], "0x33");
    assert_eq!(announcement.logs, logs(&node, json!({"fromBlock": "0x33", "toBlock": "0x33"})));
    assert_eq!(announcement.logs.len(), 2);
}
