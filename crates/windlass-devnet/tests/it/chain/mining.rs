//! When blocks are made.

use std::time::Duration;

use alloy_consensus::TxEip1559;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_devnet::chain::{ChainOptions, Mining};
use windlass_devnet::node::Node;

use super::support::{Rig, emit, emitter, topic};

fn auto() -> ChainOptions {
    ChainOptions { mining: Mining::Auto, ..ChainOptions::deterministic() }
}

#[test]
fn automatic_mining_takes_a_transaction_at_once_but_makes_no_empty_block() {
    let rig = Rig::with(auto());
    let hash = rig.send(0, rig.plain(0));
    assert_eq!(rig.chain.receipt(hash).unwrap().block_number, Some(1));
    rig.send(0, rig.plain(2));
    assert_eq!(rig.chain.head().number(), 1, "a gap gives nothing to mine");
    rig.send(0, rig.plain(1));
    assert_eq!(rig.chain.head().number(), 2);
    assert_eq!(rig.chain.head().transactions.len(), 2);
    let cheap = TxEip1559 { max_fee_per_gas: 1, max_priority_fee_per_gas: 1, ..rig.plain(3) };
    rig.send(0, cheap);
    assert_eq!(rig.chain.head().number(), 2, "a fee below the base fee waits");
}

#[test]
fn the_mode_can_be_changed_over_rpc() {
    let rig = Rig::new();
    rig.send(0, rig.plain(0));
    assert_eq!(rig.ask("windlass_setMining", json!(["auto"])), true);
    assert_eq!(rig.chain.head().number(), 1, "what waited is mined");
    rig.ask("windlass_setMining", json!([{"intervalMs": 250}]));
    assert_eq!(rig.chain.mining(), Mining::Interval(Duration::from_millis(250)));
    rig.ask("windlass_setMining", json!(["manual"]));
    assert_eq!(rig.chain.mining(), Mining::Manual);
    assert_eq!(rig.ask("windlass_mine", json!([3])), "0x4");
    assert_eq!(rig.ask("windlass_mine", json!(["0x2"])), "0x6");
    assert_eq!(rig.ask("windlass_mine", json!([])), "0x7");
    assert_eq!(rig.refusal("windlass_mine", json!([100_001])).0, -32602);
}

#[tokio::test]
async fn interval_mining_keeps_its_beat_until_told_to_stop() {
    let options =
        ChainOptions { mining: Mining::Interval(Duration::from_millis(2)), ..ChainOptions::deterministic() };
    let rig = Rig::with(options);
    let mut news = rig.chain.announcements();
    let shutdown = CancellationToken::new();
    let (chain, stop) = (rig.chain.clone(), shutdown.clone());
    let beat = tokio::spawn(async move { chain.run(stop).await });
    for number in 1..=3 {
        let head: serde_json::Value = serde_json::from_slice(&news.recv().await.unwrap().heads[0]).unwrap();
        assert_eq!(head["number"], format!("{number:#x}"));
    }
    shutdown.cancel();
    beat.await.unwrap();
    let announced = 3 + std::iter::from_fn(|| news.try_recv().ok()).count() as u64;
    assert_eq!(
        rig.chain.head().number(),
        announced,
        "every block was announced, and none comes after the end"
    );
}

#[test]
fn the_wall_clock_never_stands_still() {
    let options =
        ChainOptions { clock: windlass_devnet::chain::Clock::Wall, ..ChainOptions::deterministic() };
    let rig = Rig::with(options);
    rig.chain.mine_many(3);
    let times: Vec<_> = (0..=3).map(|number| rig.chain.block(number).unwrap().header.timestamp).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
}

#[test]
fn the_same_calls_give_the_same_hashes() {
    let head = || {
        let rig = Rig::new();
        let contract = rig.install(&emitter(1));
        rig.send_call(1, contract, emit(&[topic(1)], b"x"));
        rig.chain.mine();
        rig.chain.reorg(1, &Default::default()).unwrap();
        rig.chain.head().hash()
    };
    assert_eq!(head(), head());
}
