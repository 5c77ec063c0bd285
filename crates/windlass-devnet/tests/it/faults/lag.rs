//! Nodes that have not seen the newest blocks.

use serde_json::{Value, json};
use windlass_devnet::{faults::Kind, rpc::ServerHandle};

use crate::client::{HEAD, SmallNode, call, result, serve_faulty};

async fn logs(server: &ServerHandle, from: &str, to: &str) -> Vec<Value> {
    let filter = json!([{"fromBlock": from, "toBlock": to}]);
    result(server, "eth_getLogs", filter).await.as_array().unwrap().clone()
}

#[tokio::test]
async fn a_lagging_node_does_not_know_the_newest_blocks() {
    let (server, faults) = serve_faulty("lag=1of1:3").await;
    assert_eq!(result(&server, "eth_blockNumber", json!([])).await, "0x61");
    let latest = result(&server, "eth_getBlockByNumber", json!(["latest", false])).await;
    assert_eq!(latest["number"], "0x61");
    let finalized = result(&server, "eth_getBlockByNumber", json!(["finalized", false])).await;
    assert_eq!(finalized["number"], "0x57");
    assert!(result(&server, "eth_getBlockByNumber", json!(["0x62", false])).await.is_null());
    assert!(result(&server, "eth_getBlockReceipts", json!(["0x62"])).await.is_null());
    assert_eq!(faults.counts().get(Kind::Lag), 5);
    let known = result(&server, "eth_getBlockByNumber", json!(["0x61", false])).await;
    assert_eq!(known["number"], "0x61");
    assert_eq!(faults.counts().get(Kind::Lag), 5, "what it knows is no fault");
}

#[tokio::test]
async fn logs_of_unseen_blocks_are_empty() {
    let (server, faults) = serve_faulty("lag=1of1:3").await;
    assert!(logs(&server, "0x62", "0x64").await.is_empty());
    assert_eq!(logs(&server, "0x60", "0x64").await.len(), 4);
    assert_eq!(logs(&server, "0x61", "latest").await.len(), 2);
    assert_eq!(faults.counts().get(Kind::Lag), 3);
    assert_eq!(logs(&server, "0x60", "0x61").await.len(), 4);
    assert!(logs(&server, "0x65", "0x66").await.is_empty());
    assert_eq!(faults.counts().get(Kind::Lag), 3, "nobody has blocks beyond the head");
}

#[tokio::test]
async fn hashes_of_unseen_blocks_are_unknown() {
    let chain = SmallNode::new();
    let newest = chain.chain.log(chain.chain.log_count() - 1);
    let old = chain.chain.log(0);
    let (server, faults) = serve_faulty("lag=1of1:1").await;
    let by_hash = json!([{"blockHash": newest.block_hash}]);
    let refused = call(&server, "eth_getLogs", by_hash.clone()).await;
    assert_eq!(refused["error"], json!({"code": -32000, "message": "unknown block"}));
    assert!(result(&server, "eth_getBlockByHash", json!([newest.block_hash, false])).await.is_null());
    let receipt = json!([newest.transaction_hash]);
    assert!(result(&server, "eth_getTransactionReceipt", receipt).await.is_null());
    assert!(result(&server, "eth_getBlockReceipts", json!([newest.block_hash])).await.is_null());
    assert_eq!(faults.counts().get(Kind::Lag), 4);
    faults.set("lag=1of1:1:empty".parse().unwrap());
    assert_eq!(result(&server, "eth_getLogs", by_hash).await, json!([]));
    assert_eq!(faults.counts().get(Kind::Lag), 5);
    let seen = result(&server, "eth_getLogs", json!([{"blockHash": old.block_hash}])).await;
    assert_eq!(seen.as_array().unwrap().len(), 2);
    let receipt = json!([old.transaction_hash]);
    assert!(result(&server, "eth_getTransactionReceipt", receipt).await.is_object());
    assert_eq!(faults.counts().get(Kind::Lag), 5);
}

#[tokio::test]
async fn state_of_unseen_blocks_is_refused() {
    let (server, faults) = serve_faulty("lag=1of1:3").await;
    let at = |block: &str| json!([format!("{:#042x}", 1), block]);
    let refused = call(&server, "eth_getBalance", at("0x62")).await;
    assert_eq!(refused["error"]["message"], "header not found");
    assert_eq!(result(&server, "eth_getBalance", at("0x61")).await, "0x1");
    assert_eq!(result(&server, "eth_getBalance", at("latest")).await, "0x1");
    assert_eq!(faults.counts().get(Kind::Lag), 1);
}

#[tokio::test]
async fn calls_are_spread_over_the_nodes() {
    let (server, faults) = serve_faulty("lag=2of5:3").await;
    let mut behind = 0;
    for _ in 0..50 {
        let head = result(&server, "eth_blockNumber", json!([])).await;
        behind += u64::from(head != json!(format!("{HEAD:#x}")));
    }
    assert!(behind > 0 && behind < 50, "{behind}");
    assert_eq!(faults.counts().get(Kind::Lag), behind);
}
