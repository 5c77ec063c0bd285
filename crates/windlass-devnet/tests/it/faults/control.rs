//! Faults changed over the wire, and several endpoints of one chain.

use serde_json::{Value, json};
use windlass_devnet::{
    chain::{Chain, ChainOptions},
    faults::{Faults, Kind, Plan},
    rpc::{Server, ServerHandle, ServerOptions},
};

use crate::client::{SmallNode, call, post, request, result, serve, serve_faulty};

#[tokio::test]
async fn a_plan_is_changed_over_the_wire_whatever_goes_wrong() {
    let (server, faults) = serve_faulty("").await;
    let bad = "reset=1,429=1,rate=1,refuse=1,timeout=1,latency=60000ms,lag=1of1:3";
    assert_eq!(result(&server, "windlass_setFaults", json!([bad])).await, "");
    assert_eq!(faults.plan().to_string(), bad);
    for _ in 0..3 {
        let told = result(&server, "windlass_faults", json!([])).await;
        assert_eq!((&told["plan"], &told["counts"]["latency"]), (&json!(bad), &json!(0)));
    }
    assert_eq!(result(&server, "windlass_setFaults", json!(["503=1"])).await, bad);
    assert_eq!(post(&server.http_url(), request("eth_chainId", json!([]))).await.0, 503);
    assert_eq!(result(&server, "windlass_setFaults", json!([""])).await, "503=1");
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0x7a69");
    assert_eq!(result(&server, "windlass_faults", json!([])).await["counts"]["5xx"], 1);
}

#[tokio::test]
async fn a_wrong_plan_changes_nothing() {
    let (server, faults) = serve_faulty("ratelimit=0.5").await;
    let refused = call(&server, "windlass_setFaults", json!(["resett=1"])).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("invalid params: fault `resett=1`: unknown name"), "{message}");
    assert!(call(&server, "windlass_setFaults", json!([])).await["error"].is_object());
    assert_eq!(faults.plan().to_string(), "ratelimit=0.5");
    let plain = serve(SmallNode::new()).await;
    let refused = call(&plain, "windlass_setFaults", json!(["reset=1"])).await;
    assert_eq!(refused["error"]["message"], "this server was started without faults");
}

#[tokio::test]
async fn the_chains_own_dev_methods_are_spared() {
    let chain = Chain::new(ChainOptions::deterministic());
    let (server, _) = endpoint(&chain, "reset=1").await;
    assert_eq!(result(&server, "windlass_mine", json!([2])).await, "0x2");
}

async fn endpoint(chain: &Chain, plan: &str) -> (ServerHandle, Faults) {
    let faults = Faults::new(1, plan.parse::<Plan>().unwrap());
    let options = ServerOptions { faults: Some(faults.clone()), ..ServerOptions::default() };
    (Server::start(std::sync::Arc::new(chain.clone()), options).await.unwrap(), faults)
}

#[tokio::test]
async fn endpoints_of_one_chain_have_faults_of_their_own() {
    let chain = Chain::new(ChainOptions::deterministic());
    chain.mine_many(5);
    let (good, of_good) = endpoint(&chain, "").await;
    let (bad, of_bad) = endpoint(&chain, "lag=1of1:2,lie=parent").await;
    let head = |server: &ServerHandle| {
        let url = server.http_url();
        async move {
            let (_, body) = post(&url, request("eth_getBlockByNumber", json!(["latest", false]))).await;
            serde_json::from_str::<Value>(&body).unwrap()["result"].clone()
        }
    };
    assert_eq!(head(&good).await["number"], "0x5");
    assert_eq!(head(&bad).await["number"], "0x3");
    assert_eq!(result(&good, "windlass_mine", json!([1])).await, "0x6");
    assert_eq!(head(&bad).await["number"], "0x4", "both serve the same chain");
    assert_eq!(result(&bad, "windlass_setFaults", json!([""])).await, "lag=1of1:2,lie=parent");
    assert_eq!(head(&bad).await, head(&good).await);
    assert_eq!((of_good.counts().total(), of_bad.counts().get(Kind::LieParent)), (0, 2));
}
