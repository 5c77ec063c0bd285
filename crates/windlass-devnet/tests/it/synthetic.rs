//! Generated logs over loopback, read page by page by a client.

use std::sync::Arc;

use alloy_rpc_types_eth::Log;
use serde_json::json;
use windlass_devnet::synthetic::{Density, SyntheticNode, SyntheticOptions};

use crate::client::{call, result, serve};

#[tokio::test]
async fn pages_add_up_to_the_truth() {
    let options = SyntheticOptions {
        blocks: 1_000,
        density: Density::PerBlock(20),
        seed: 9,
        ..SyntheticOptions::default()
    };
    let node = Arc::new(SyntheticNode::new(options));
    let server = serve(node.clone()).await;
    let mut seen = 0;
    for from in (0..=node.head()).step_by(500) {
        let to = (from + 499).min(node.head());
        let filter = json!([{"fromBlock": format!("{from:#x}"), "toBlock": format!("{to:#x}")}]);
        let logs: Vec<Log> = serde_json::from_value(result(&server, "eth_getLogs", filter).await).unwrap();
        for log in logs {
            let truth = node.log(seen);
            assert_eq!(log.transaction_hash, Some(truth.transaction_hash));
            assert_eq!((log.block_number, log.log_index), (Some(truth.block_number), Some(truth.log_index)));
            seen += 1;
        }
    }
    assert_eq!(seen, 20_000);
    assert_eq!(seen, node.log_count());
}

#[tokio::test]
async fn the_small_questions_are_answered() {
    let node = Arc::new(SyntheticNode::new(SyntheticOptions { chain_id: 10, ..Default::default() }));
    let server = serve(node.clone()).await;
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0xa");
    assert_eq!(result(&server, "net_version", json!([])).await, "10");
    assert_eq!(result(&server, "eth_blockNumber", json!([])).await, "0xf4240");
    let contract = node.log(0).address;
    assert_eq!(result(&server, "eth_getCode", json!([contract, "latest"])).await, "0x00");
    assert_eq!(result(&server, "eth_getCode", json!([node.log(0).token, "latest"])).await, "0x");
    assert_eq!(call(&server, "eth_call", json!([])).await["error"]["code"], -32601);
}
