//! Wrong answers about logs and headers: what differs, and that nothing else does.

use serde_json::{Value, json};
use windlass_devnet::{
    faults::{Kind, Plan},
    rpc::ServerHandle,
};

use crate::client::{HEAD, SmallNode, result, serve_faulty};

const RANGE: (&str, &str) = ("0x5", "0xe");

async fn logs(server: &ServerHandle) -> Vec<Value> {
    let filter = json!([{"fromBlock": RANGE.0, "toBlock": RANGE.1}]);
    result(server, "eth_getLogs", filter).await.as_array().unwrap().clone()
}

/// What is answered without the lie, what is answered with it, and how often that was counted.
async fn told(plan: &str, kind: Kind) -> (Vec<Value>, Vec<Value>) {
    let (server, faults) = serve_faulty("").await;
    let truth = logs(&server).await;
    faults.set(plan.parse().unwrap());
    let lie = logs(&server).await;
    assert_eq!(faults.counts().get(kind), 1, "{plan}");
    let none = json!([{"fromBlock": "0x0", "toBlock": "0x0"}]);
    assert_eq!(result(&server, "eth_getLogs", none).await, json!([]));
    assert_eq!(faults.counts().get(kind), 1, "{plan}: where there are no logs there is no lie");
    (truth, lie)
}

/// The one log that differs, with and without the lie.
fn difference(truth: &[Value], lie: &[Value]) -> (Value, Value) {
    assert_eq!(truth.len(), lie.len());
    let mut pairs = truth.iter().zip(lie).filter(|(truth, lie)| truth != lie);
    let (truth, lie) = pairs.next().expect("one log differs");
    assert!(pairs.next().is_none(), "only one log differs");
    (truth.clone(), lie.clone())
}

#[tokio::test]
async fn logs_are_denied_left_out_and_repeated() {
    let (truth, lie) = told("lie=empty", Kind::LieEmpty).await;
    assert_eq!((truth.len(), lie.len()), (20, 0));
    let (truth, lie) = told("lie=missing", Kind::LieMissing).await;
    assert_eq!(lie.len(), 19);
    assert!(lie.iter().all(|log| truth.contains(log)));
    let (truth, mut lie) = told("lie=repeat", Kind::LieRepeat).await;
    assert_eq!(lie.len(), 21);
    lie.dedup();
    assert_eq!(lie, truth);
}

#[tokio::test]
async fn one_field_of_one_log_is_wrong() {
    let cases = [
        ("lie=number", Kind::LieNumber, "blockNumber"),
        ("lie=hash", Kind::LieHash, "blockHash"),
        ("lie=time", Kind::LieTime, "blockTimestamp"),
    ];
    for (plan, kind, field) in cases {
        let (truth, lie) = told(plan, kind).await;
        let (truth, mut lie) = difference(&truth, &lie);
        assert_ne!(lie[field], truth[field], "{plan}");
        lie[field] = truth[field].clone();
        assert_eq!(lie, truth, "{plan}");
    }
}

#[tokio::test]
async fn an_answer_by_block_hash_may_name_another_block() {
    let (server, faults) = serve_faulty("lie=number").await;
    let hash = SmallNode::new().chain.log(12).block_hash;
    let logs = result(&server, "eth_getLogs", json!([{"blockHash": hash}])).await;
    let numbers: Vec<&Value> = logs.as_array().unwrap().iter().map(|log| &log["blockNumber"]).collect();
    assert_eq!(numbers.iter().filter(|number| ***number == json!("0x7")).count(), 1);
    assert_eq!(faults.counts().get(Kind::LieNumber), 1);
}

#[tokio::test]
async fn logs_may_come_without_their_time() {
    let (mut truth, lie) = told("nologtime=1", Kind::NoLogTime).await;
    for log in &mut truth {
        assert!(log.as_object_mut().unwrap().remove("blockTimestamp").is_some());
    }
    assert_eq!(lie, truth);
    let (server, faults) = serve_faulty("nologtime=1,lie=time").await;
    assert_eq!(logs(&server).await, truth);
    assert_eq!(faults.counts().get(Kind::LieTime), 0, "there is no time to be wrong");
}

#[tokio::test]
async fn a_block_may_have_another_parent() {
    let (server, faults) = serve_faulty("").await;
    let block = || result(&server, "eth_getBlockByNumber", json!(["0x7", false]));
    let truth = block().await;
    faults.set("lie=parent".parse().unwrap());
    let mut lie = block().await;
    assert_ne!(lie["parentHash"], truth["parentHash"]);
    lie["parentHash"] = truth["parentHash"].clone();
    assert_eq!(lie, truth);
    assert!(result(&server, "eth_getBlockByNumber", json!(["0xffff", false])).await.is_null());
    assert_eq!(faults.counts().get(Kind::LieParent), 1);
}

/// The numbers of the blocks whose bloom is empty.
async fn without_bloom(server: &ServerHandle) -> Vec<u64> {
    let mut numbers = Vec::new();
    for number in 1..=HEAD {
        let block = result(server, "eth_getBlockByNumber", json!([format!("{number:#x}"), false])).await;
        let bloom = block["logsBloom"].as_str().unwrap();
        assert_eq!(bloom.len(), 514);
        if bloom[2..].bytes().all(|digit| digit == b'0') {
            numbers.push(number);
        }
    }
    numbers
}

#[tokio::test]
async fn a_chain_may_have_no_blooms_in_all_or_always_the_same_blocks() {
    let (server, faults) = serve_faulty("").await;
    assert!(without_bloom(&server).await.is_empty());
    faults.set("lie=bloom".parse().unwrap());
    assert_eq!(without_bloom(&server).await.len() as u64, HEAD);
    faults.set("lie=bloom*0.3".parse().unwrap());
    let some = without_bloom(&server).await;
    assert!((10..60).contains(&some.len()), "{some:?}");
    assert_eq!(without_bloom(&server).await, some);
    let counted = faults.counts().get(Kind::LieBloom);
    assert_eq!(counted, HEAD + 2 * some.len() as u64);
    result(&server, "eth_getBlockByNumber", json!(["0x0", false])).await;
    assert_eq!(faults.counts().get(Kind::LieBloom), counted, "block 0 has no logs");
    faults.set(Plan::default());
    assert!(without_bloom(&server).await.is_empty());
}
