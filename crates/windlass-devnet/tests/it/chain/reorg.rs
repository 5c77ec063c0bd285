//! Reorgs: what leaves, what returns, what is announced, what is refused.

use alloy_consensus::TxEip1559;
use alloy_primitives::{B256, U256};
use alloy_rpc_types_eth::Log;
use serde_json::{Value, json};
use windlass_devnet::chain::{ChainOptions, LogFilter, ReorgError, ReorgOptions, raw_bytes};
use windlass_devnet::node::Node;

use super::support::{Rig, emit, emitter, topic};

/// Three blocks with one transaction each, after genesis.
fn three_blocks() -> (Rig, [B256; 3]) {
    let rig = Rig::new();
    let hashes = [0, 1, 2].map(|nonce| {
        let hash = rig.send(0, rig.plain(nonce));
        rig.chain.mine();
        hash
    });
    (rig, hashes)
}

#[test]
fn dropped_transactions_return_and_are_mined_again() {
    let (rig, hashes) = three_blocks();
    let before: Vec<_> = (1..=3).map(|number| rig.chain.block(number).unwrap().hash()).collect();
    let reorg = rig.chain.reorg(2, &ReorgOptions::default()).unwrap();
    assert_eq!((reorg.dropped.len(), reorg.added.len(), reorg.returned, reorg.vanished), (2, 3, 2, 0));
    assert_eq!(reorg.dropped[0].hash(), before[2], "newest first");
    assert_eq!(rig.chain.head().number(), 4);
    assert_eq!(rig.chain.block(1).unwrap().hash(), before[0]);
    for number in [2, 3] {
        assert_ne!(rig.chain.block(number).unwrap().hash(), before[number as usize - 1]);
    }
    assert_eq!(hashes.map(|hash| rig.chain.receipt(hash).unwrap().block_number), [Some(1), Some(2), Some(2)]);
    assert_eq!(rig.chain.nonce(rig.address(0)), 3);
}

#[test]
fn they_wait_in_the_pool_when_the_new_blocks_stay_empty() {
    let (rig, hashes) = three_blocks();
    let options = ReorgOptions { fill: false, ..ReorgOptions::default() };
    rig.chain.reorg(3, &options).unwrap();
    assert_eq!(rig.chain.nonce(rig.address(0)), 0);
    assert!(hashes.iter().all(|hash| rig.chain.is_pooled(*hash) && rig.chain.receipt(*hash).is_none()));
    assert_eq!(rig.chain.mine().transactions.len(), 3);
}

#[test]
fn they_vanish_when_asked_with_exceptions() {
    let (rig, hashes) = three_blocks();
    let options = ReorgOptions { return_to_pool: false, except: vec![hashes[1]], ..ReorgOptions::default() };
    let reorg = rig.chain.reorg(3, &options).unwrap();
    assert_eq!((reorg.returned, reorg.vanished), (1, 2));
    assert!(hashes.iter().all(|hash| rig.chain.receipt(*hash).is_none()), "the kept one has a gap before it");
    assert_eq!(hashes.map(|hash| rig.chain.is_pooled(hash)), [false, true, false]);
}

#[test]
fn another_transaction_can_take_a_dropped_ones_place() {
    let (rig, hashes) = three_blocks();
    let cheaper = TxEip1559 { value: U256::from(77), max_fee_per_gas: 2_000_000_000, ..rig.plain(2) };
    let rival = rig.sign(0, cheaper);
    let options = ReorgOptions { inject: vec![raw_bytes(&rival)], ..ReorgOptions::default() };
    let reorg = rig.chain.reorg(1, &options).unwrap();
    assert_eq!((reorg.returned, reorg.vanished), (0, 1));
    assert!(rig.chain.receipt(*rival.tx_hash()).is_some());
    assert!(rig.chain.receipt(hashes[2]).is_none() && !rig.chain.is_pooled(hashes[2]));
    let (_, words) = rig.refusal("windlass_reorg", json!([1, {"inject": ["0x01"]}]));
    assert!(words.starts_with("a transaction for the new branch was refused: rlp: "), "{words}");
}

#[test]
fn genesis_and_finalized_blocks_stay_unless_forced() {
    let rig = Rig::with(ChainOptions { finality_depth: 5, ..ChainOptions::deterministic() });
    rig.chain.mine_many(12);
    let error = rig.chain.reorg(6, &ReorgOptions::default()).unwrap_err();
    assert_eq!(error, ReorgError::Finalized { depth: 6, head: 12, finalized: 7 });
    rig.chain.reorg(5, &ReorgOptions::default()).unwrap();
    let force = ReorgOptions { allow_finalized: true, ..ReorgOptions::default() };
    assert_eq!(rig.chain.reorg(14, &force).unwrap_err(), ReorgError::Genesis { depth: 14, head: 13 });
    assert_eq!(rig.chain.reorg(0, &force).unwrap_err(), ReorgError::Nothing);
    let genesis = rig.chain.block(0).unwrap().hash();
    rig.chain.reorg(13, &force).unwrap();
    assert_eq!((rig.chain.head().number(), rig.chain.block(0).unwrap().hash()), (14, genesis));
    let stats = rig.chain.stats();
    assert_eq!((stats.reorgs, stats.deepest_reorg, stats.blocks_dropped), (2, 13, 18));
}

#[test]
fn removed_logs_are_announced_newest_block_first_then_the_new_ones() {
    let rig = Rig::new();
    let contract = rig.install(&emitter(1));
    for byte in 1..=2 {
        rig.send_call(0, contract, emit(&[topic(byte)], b""));
        rig.chain.mine();
    }
    let mut news = rig.chain.announcements();
    rig.chain.reorg(2, &ReorgOptions::default()).unwrap();
    let announcement = news.try_recv().unwrap();
    let seen: Vec<_> = announcement.logs.iter().map(|log| (log.removed, log.topics()[0])).collect();
    assert_eq!(seen, [(true, topic(2)), (true, topic(1)), (false, topic(1)), (false, topic(2))]);
    assert_eq!(announcement.heads.len(), 3);
    let numbers: Vec<Value> = announcement
        .heads
        .iter()
        .map(|head| serde_json::from_slice::<Value>(head).unwrap()["number"].clone())
        .collect();
    assert_eq!(numbers, ["0x2", "0x3", "0x4"]);
    let joined: Vec<Log> = announcement.logs[2..].to_vec();
    assert_eq!(joined, rig.chain.canonical_logs(&LogFilter::all()));
}

#[test]
fn a_reorg_can_be_asked_for_over_rpc() {
    let (rig, hashes) = three_blocks();
    let options = json!({"newBlocks": 1, "returnToPool": false});
    let answer = rig.ask("windlass_reorg", json!(["0x2", options]));
    assert_eq!((&answer["returned"], &answer["vanished"]), (&json!(0), &json!(2)));
    assert_eq!(answer["dropped"].as_array().map(Vec::len), Some(2));
    assert_eq!(answer["added"], json!([rig.chain.head().hash()]));
    assert_eq!(rig.chain.head().number(), 2);
    assert!(rig.chain.receipt(hashes[1]).is_none());
    let (_, words) = rig.refusal("windlass_reorg", json!([9]));
    assert_eq!(words, "a reorg of depth 9 would drop genesis: the head is block 2");
    assert_eq!(rig.refusal("windlass_reorg", json!([1, {"newBlock": 1}])).0, -32602);
}
