//! Faults in front of the real chain.

use alloy_primitives::U256;
use alloy_provider::Provider;
use alloy_rpc_types_eth::{Filter, TransactionRequest};
use serde_json::{Value, json};
use windlass_devnet::chain::LogFilter;
use windlass_devnet::faults::Kind;

use super::alloy::connect;
use super::peer::Peer;
use super::served::Served;
use crate::chain::support::{emitter, init_code};

/// How many blocks the lagging nodes are behind.
const BEHIND: u64 = 3;
/// How often each thing is asked: enough to meet both nodes that lag and nodes that do not.
const ASKED: usize = 50;

/// Ten blocks with one log each, the last of them among what a lagging node has not seen.
async fn ten_logs() -> Served {
    let served = Served::auto().await;
    let contract = served.chain.deploy(&served.accounts[0], init_code(&emitter(0))).unwrap();
    let provider = connect(&served, &served.server.http_url()).await;
    for _ in 0..10 {
        let request = TransactionRequest::default().to(contract);
        provider.send_transaction(request).await.unwrap().get_receipt().await.unwrap();
    }
    served
}

/// Asks often, and gets one of two answers, each at least once; gives how often it was the faulty one.
async fn faulty_answers(peer: &Peer, method: &str, params: Value, truth: &Value, faulty: &Value) -> u64 {
    let mut seen = [0, 0];
    for _ in 0..ASKED {
        let answer = peer.answer(method, params.clone()).await;
        let answer = answer.get("result").unwrap_or(&answer["error"]["message"]);
        let which = [truth, faulty].iter().position(|known| *known == answer);
        seen[which.unwrap_or_else(|| panic!("{method}: {answer}"))] += 1;
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{method}: {seen:?}");
    seen[1]
}

#[tokio::test]
async fn some_nodes_lag_behind_the_real_chain() {
    let served = ten_logs().await;
    let (peer, chain) = (Peer::new(served.server.http_url()), &served.chain);
    let head = chain.head();
    let (whole, lagging) =
        (json!(format!("{:#x}", head.number())), json!(format!("{:#x}", head.number() - BEHIND)));
    let block = peer.result("eth_getBlockByHash", json!([head.hash(), true])).await;
    let old_block = peer.result("eth_getBlockByNumber", json!([lagging, true])).await;
    let hash = json!([head.transactions[0].hash()]);
    let receipt = peer.result("eth_getTransactionReceipt", hash.clone()).await;
    let logs = |to: u64| json!(chain.canonical_logs(&LogFilter::range(0, to)));

    served.faults.set(format!("lag=2of5:{BEHIND}").parse().unwrap());
    let mut lagged = 0;
    let mut ask = async |method: &str, params: Value, truth: &Value, stale: &Value| {
        lagged += faulty_answers(&peer, method, params, truth, stale).await;
    };
    ask("eth_blockNumber", json!([]), &whole, &lagging).await;
    ask("eth_getBlockByNumber", json!(["latest", true]), &block, &old_block).await;
    ask("eth_getBlockByNumber", json!([whole, true]), &block, &Value::Null).await;
    ask("eth_getBlockByHash", json!([head.hash(), true]), &block, &Value::Null).await;
    ask("eth_getTransactionReceipt", hash.clone(), &receipt, &Value::Null).await;
    ask("eth_getBlockReceipts", json!([whole]), &json!([receipt]), &Value::Null).await;
    let (all, seen) = (logs(head.number()), logs(head.number() - BEHIND));
    ask("eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": whole}]), &all, &seen).await;
    ask("eth_getLogs", json!([{"fromBlock": "0x0"}]), &all, &seen).await;
    let of_head = json!(chain.canonical_logs(&LogFilter::range(head.number(), head.number())));
    ask("eth_getLogs", json!([{"blockHash": head.hash()}]), &of_head, &json!("unknown block")).await;
    assert_eq!(served.faults.counts().get(Kind::Lag), lagged);
}

/// The trap of a lagging node: an empty list that says nothing about its age.
#[tokio::test]
async fn alloy_gets_empty_lists_from_lagging_nodes() {
    let served = ten_logs().await;
    let head = served.chain.head().number();
    let provider = connect(&served, &served.server.http_url()).await;
    served.faults.set(format!("lag=1of1:{BEHIND}").parse().unwrap());
    let filter = Filter::new().from_block(head - 1).to_block(head);
    assert!(provider.get_logs(&filter).await.unwrap().is_empty());
    assert_eq!(provider.get_block_number().await.unwrap(), head - BEHIND);
    served.faults.set("".parse().unwrap());
    assert_eq!(provider.get_logs(&filter).await.unwrap().len(), 2);
}

#[tokio::test]
async fn receipts_on_the_chain_get_lost() {
    let served = ten_logs().await;
    let hash = served.chain.head().transactions[0].hash();
    let provider = connect(&served, &served.server.http_url()).await;
    served.faults.set("nullreceipts=1".parse().unwrap());
    assert_eq!(provider.get_transaction_receipt(hash).await.unwrap(), None);
    assert_eq!(provider.get_block_receipts(served.chain.head().number().into()).await.unwrap(), None);
    assert!(provider.get_transaction_by_hash(hash).await.unwrap().is_some());
    assert_eq!(served.faults.counts().get(Kind::NullReceipts), 2);
    served.faults.set("nullreceipts=0.5".parse().unwrap());
    let (peer, receipt) = (Peer::new(served.server.http_url()), json!(served.chain.receipt(hash)));
    let lost =
        faulty_answers(&peer, "eth_getTransactionReceipt", json!([hash]), &receipt, &Value::Null).await;
    assert_eq!(served.faults.counts().get(Kind::NullReceipts), 2 + lost);
}

#[tokio::test]
async fn a_wrong_chain_id_leads_to_transactions_nobody_takes() {
    let served = Served::auto().await;
    served.faults.set("chainid=56".parse().unwrap());
    let provider = connect(&served, &served.server.http_url()).await;
    assert_eq!(provider.get_chain_id().await.unwrap(), 56);
    let request = TransactionRequest::default().to(served.accounts[7].address()).value(U256::ONE);
    let refused = provider.send_transaction(request).await.unwrap_err().to_string();
    assert!(refused.contains("invalid sender"), "{refused}");
    assert_eq!((served.chain.head().number(), served.chain.pool_len()), (0, 0));
    assert!(served.faults.counts().get(Kind::ChainId) >= 2);
}
