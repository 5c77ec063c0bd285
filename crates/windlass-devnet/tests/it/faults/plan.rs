//! Plans in force: changed while running, repeatable, and all of them at once.

use serde_json::json;
use windlass_devnet::{
    faults::{Counts, Faults, Kind, Plan},
    rpc::{Server, ServerHandle, ServerOptions},
};

use crate::client::{SmallNode, call, http, request, result, serve_faulty};

async fn serve_with(seed: u64, plan: &str) -> (ServerHandle, Faults) {
    let faults = Faults::new(seed, plan.parse::<Plan>().unwrap());
    let options = ServerOptions { faults: Some(faults.clone()), ..ServerOptions::default() };
    (Server::start(SmallNode::new(), options).await.unwrap(), faults)
}

/// Sends calls one after the other, each on its own connection, so that no client
/// tries again by itself.
async fn storm(server: &ServerHandle, calls: usize) -> Vec<Result<(u16, bool), ()>> {
    let client = http();
    let mut outcomes = Vec::new();
    let log = SmallNode::new().chain.log(0);
    for at in 0..calls {
        let text = match at % 6 {
            0 => request("eth_chainId", json!([])),
            1 => request("eth_getTransactionReceipt", json!([log.transaction_hash])),
            2 => request("eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": "latest"}])),
            3 => format!("[{0},{0}]", request("eth_chainId", json!([]))),
            4 => request("eth_getBlockByNumber", json!(["0x7", false])),
            _ => request("eth_blockNumber", json!([])),
        };
        let sent = client.post(server.http_url()).header("connection", "close").body(text).send();
        outcomes.push(match sent.await {
            Ok(response) => {
                let status = response.status().as_u16();
                response.text().await.map(|body| (status, body.contains("\"error\""))).map_err(|_| ())
            }
            Err(_) => Err(()),
        });
    }
    outcomes
}

const EVERYTHING: &str = "latency=1ms..2ms*0.2,429=0.1,ratelimit=0.1,503=0.1,timeout=0.05:1ms,\
     reset=0.1,truncate=0.1,chainid=5*0.5,nullreceipts=0.5,logs=infura:10*0.3,batch=1*0.5,lag=2of5:3,\
     rate=1000000:1*0.5,refuse=0.05,lie=number*0.3,lie=hash*0.3,lie=time*0.3,lie=repeat*0.3,\
     lie=missing*0.3,lie=parent*0.5,lie=bloom,nologtime=0.3,lie=empty*0.3";

#[tokio::test]
async fn every_kind_of_fault_happens() {
    let (server, faults) = serve_with(42, EVERYTHING).await;
    storm(&server, 600).await;
    let counts = faults.counts();
    for (kind, count) in counts.iter() {
        assert!(count > 0, "{} never happened: {counts}", kind.name());
    }
}

#[tokio::test]
async fn a_seed_tells_the_same_story_twice() {
    let mut stories: Vec<(Vec<_>, Counts)> = Vec::new();
    for seed in [42, 42, 43] {
        let (server, faults) = serve_with(seed, EVERYTHING).await;
        stories.push((storm(&server, 100).await, faults.counts()));
    }
    assert_eq!(stories[0], stories[1]);
    assert_ne!(stories[0], stories[2]);
}

#[tokio::test]
async fn a_plan_can_be_changed_while_the_server_runs() {
    let (server, faults) = serve_faulty("503=1").await;
    let status = || async {
        let sent = http().post(server.http_url()).body(request("eth_chainId", json!([]))).send();
        sent.await.unwrap().status().as_u16()
    };
    assert_eq!(status().await, 503);
    faults.set(Plan::default());
    assert_eq!(status().await, 200);
    faults.set("429=1".parse().unwrap());
    assert_eq!(status().await, 429);
    assert_eq!(faults.plan().to_string(), "429=1");
    assert_eq!(faults.counts().get(Kind::ServerError), 1);
}

#[tokio::test]
async fn a_rule_for_one_method_spares_the_others() {
    let (server, _) = serve_faulty("ratelimit=1@eth_getLogs").await;
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0x7a69");
    assert!(call(&server, "eth_getLogs", json!([{}])).await["error"].is_object());
}
