//! Subscriptions over WebSocket, through a reorg.

use alloy_consensus::TxEip1559;
use alloy_primitives::Address;
use alloy_provider::Provider;
use alloy_rpc_types_eth::{Filter, Log};
use serde_json::{Value, json};
use windlass_devnet::chain::{LogFilter, ReorgOptions};

use super::over_ws;
use crate::chain::support::{AMPLE_FEE, emit, emitter, init_code, topic};
use crate::clients::served::Served;

/// A contract that logs with one topic, in block 1.
fn install(served: &Served) -> Address {
    let contract = served.chain.deploy(&served.accounts[0], init_code(&emitter(1))).unwrap();
    served.chain.mine();
    contract
}

/// Puts a log into the next block.
fn log(served: &Served, contract: Address, byte: u8) {
    let account = &served.accounts[0];
    let call = TxEip1559 {
        chain_id: 31_337,
        nonce: served.chain.next_nonce(account.address()),
        gas_limit: 100_000,
        max_fee_per_gas: AMPLE_FEE,
        max_priority_fee_per_gas: 1,
        to: contract.into(),
        input: emit(&[topic(byte)], b""),
        ..TxEip1559::default()
    };
    served.chain.send(account.sign(call).unwrap()).unwrap();
}

#[tokio::test]
async fn new_heads_follow_each_other_and_a_reorg_begins_anew() {
    let served = Served::manual().await;
    let provider = over_ws(&served).await;
    let mut heads = provider.subscribe_blocks().await.unwrap();
    served.chain.mine_many(3);
    for number in 1..=3 {
        let head = heads.recv().await.unwrap();
        assert_eq!(head.hash, served.chain.block(number).unwrap().hash());
        assert_eq!(head.inner.hash_slow(), head.hash);
    }
    let reorg = served.chain.reorg(2, &ReorgOptions::default()).unwrap();
    for block in &reorg.added {
        let head = heads.recv().await.unwrap();
        assert_eq!((head.hash, head.parent_hash), (block.hash(), block.header.parent_hash));
    }
    assert_eq!(reorg.added[0].header.parent_hash, served.chain.block(1).unwrap().hash());
}

#[tokio::test]
async fn logs_are_taken_back_by_a_reorg() {
    let served = Served::manual().await;
    let contract = install(&served);
    let provider = over_ws(&served).await;
    let mut logs = provider.subscribe_logs(&Filter::new().address(contract)).await.unwrap();
    for byte in [1, 2] {
        log(&served, contract, byte);
        served.chain.mine();
    }
    let mut first = Vec::new();
    for _ in 0..2 {
        first.push(logs.recv().await.unwrap());
    }
    assert_eq!(first, served.chain.canonical_logs(&LogFilter::all()));
    assert!(first.iter().all(|log| !log.removed));

    served.chain.reorg(2, &ReorgOptions::default()).unwrap();
    for before in first.iter().rev() {
        let taken_back = logs.recv().await.unwrap();
        assert!(taken_back.removed);
        assert_eq!(Log { removed: false, ..taken_back }, *before);
    }
    for now in served.chain.canonical_logs(&LogFilter::all()) {
        let again = logs.recv().await.unwrap();
        assert_eq!(again, now);
        assert!(first.iter().all(|before| before.block_hash != again.block_hash));
    }
}

/// As in geth, and as `eth_getLogs` does: a place for any topic wants a topic there.
#[tokio::test]
async fn filters_mean_the_same_as_for_past_logs() {
    let served = Served::manual().await;
    let contract = install(&served);
    let provider = over_ws(&served).await;
    let subscribe = async |topics: Value| {
        provider.subscribe::<_, Log>(("logs", json!({ "topics": topics }))).await.unwrap()
    };
    let mut two = subscribe(json!([null, null])).await;
    let mut one = subscribe(json!([null])).await;
    log(&served, contract, 1);
    served.chain.mine();
    assert_eq!(one.recv().await.unwrap().topics(), [topic(1)]);
    // Subscriptions are served in the order they were made: what the first one wanted would be here by now.
    assert!(two.try_recv().is_err(), "a log with one topic has no second one");
}
