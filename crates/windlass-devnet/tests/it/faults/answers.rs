//! Faults of the answer: rate limits told in the body, another chain, lost receipts.

use serde_json::{Value, json};
use windlass_devnet::faults::Kind;

use crate::client::{SmallNode, call, post, request, result, serve_faulty};

#[tokio::test]
async fn a_rate_limit_can_hide_in_a_good_status() {
    let (server, faults) = serve_faulty("ratelimit=1").await;
    let mut codes = std::collections::BTreeSet::new();
    for _ in 0..20 {
        let (status, body) = post(&server.http_url(), request("eth_chainId", json!([]))).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(status, 200);
        codes.insert(answer["error"]["code"].as_i64().unwrap());
    }
    assert_eq!(codes.into_iter().collect::<Vec<_>>(), [-32016, -32005, 429]);
    assert_eq!(faults.counts().get(Kind::RateLimitBody), 20);
}

#[tokio::test]
async fn another_chain_answers() {
    let (server, faults) = serve_faulty("chainid=56").await;
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0x38");
    assert_eq!(result(&server, "net_version", json!([])).await, "56");
    assert_eq!(result(&server, "eth_blockNumber", json!([])).await, "0x64");
    assert_eq!(faults.counts().get(Kind::ChainId), 2);
}

#[tokio::test]
async fn a_chain_id_does_not_hide_the_faults_after_it() {
    let (server, faults) = serve_faulty("chainid=56,ratelimit=1").await;
    assert!(call(&server, "eth_blockNumber", json!([])).await["error"].is_object());
    assert_eq!(faults.counts().get(Kind::RateLimitBody), 1);
}

#[tokio::test]
async fn receipts_are_lost_if_there_were_any() {
    let (server, faults) = serve_faulty("").await;
    let known = json!([SmallNode::new().chain.log(7).transaction_hash]);
    let unknown = json!([format!("{:#066x}", 1)]);
    let receipt = result(&server, "eth_getTransactionReceipt", known.clone()).await;
    assert_eq!(receipt["blockNumber"], "0x4");
    faults.set("nullreceipts=1".parse().unwrap());
    assert!(result(&server, "eth_getTransactionReceipt", known).await.is_null());
    assert!(result(&server, "eth_getBlockReceipts", json!(["0x1"])).await.is_null());
    assert_eq!(faults.counts().get(Kind::NullReceipts), 2);
    assert!(result(&server, "eth_getTransactionReceipt", unknown).await.is_null());
    assert_eq!(faults.counts().get(Kind::NullReceipts), 2);
}

#[tokio::test]
async fn batches_that_are_too_long_are_refused_as_one() {
    let (server, faults) = serve_faulty("batch=2").await;
    let one = request("eth_chainId", json!([]));
    let (status, body) = post(&server.http_url(), format!("[{one},{one}]")).await;
    assert_eq!((status, serde_json::from_str::<Vec<Value>>(&body).unwrap().len()), (200, 2));
    let (status, body) = post(&server.http_url(), format!("[{one},{one},{one}]")).await;
    let refusal: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &refusal["error"]["code"]), (200, &json!(31)));
    assert_eq!(faults.counts().get(Kind::BatchLimit), 1);
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0x7a69");
}
