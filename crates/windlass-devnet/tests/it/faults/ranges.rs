//! Caps on the blocks of a range that no list of wordings covers.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_devnet::{
    faults::{Faults, Kind},
    rpc::{Server, ServerOptions},
};

use crate::client::{LOGS_PER_BLOCK, SmallNode, call, http, request, result, serve_faulty};

fn filter(from: u64, to: u64) -> Value {
    json!([{"fromBlock": format!("{from:#x}"), "toBlock": format!("{to:#x}")}])
}

#[tokio::test]
async fn a_range_beyond_the_cap_is_refused_and_one_within_it_served() {
    for name in ["random", "drpc", "limit-exceeded"] {
        let (server, faults) = serve_faulty(&format!("logs={name}:9")).await;
        let within = result(&server, "eth_getLogs", filter(20, 28)).await;
        assert_eq!(within.as_array().unwrap().len() as u64, 9 * LOGS_PER_BLOCK, "{name}");
        assert!(call(&server, "eth_getLogs", filter(20, 29)).await["error"].is_object(), "{name}");
        assert!(call(&server, "eth_getLogs", json!([{"fromBlock": "0x1"}])).await["error"].is_object());
        assert_eq!(faults.counts().get(Kind::LogLimit), 2, "{name}");
    }
}

#[tokio::test]
async fn known_words_are_those_of_their_providers() {
    let (server, _) = serve_faulty("logs=drpc:9").await;
    let error = call(&server, "eth_getLogs", filter(1, 50)).await["error"].clone();
    assert_eq!(error["code"], 35);
    assert!(error["message"].as_str().unwrap().contains("not supported on freetier"), "{error}");
    let (server, _) = serve_faulty("logs=limit-exceeded:9").await;
    let error = call(&server, "eth_getLogs", filter(1, 50)).await["error"].clone();
    assert_eq!(error, json!({"code": -32005, "message": "limit exceeded"}));
}

#[tokio::test]
async fn random_words_stay_for_a_run_and_differ_by_seed() {
    let mut errors = Vec::new();
    for seed in [1, 1, 2] {
        let faults = Faults::new(seed, "logs=random:9".parse().unwrap());
        let options = ServerOptions { faults: Some(faults), ..ServerOptions::default() };
        let server = Server::start(SmallNode::new(), options).await.unwrap();
        let first = call(&server, "eth_getLogs", filter(1, 50)).await["error"].clone();
        assert_eq!(call(&server, "eth_getLogs", filter(2, 99)).await["error"], first);
        errors.push(first);
    }
    assert_eq!(errors[0], errors[1]);
    assert_ne!(errors[0]["message"], errors[2]["message"]);
}

#[tokio::test]
async fn a_long_range_may_be_cut_off() {
    let (server, faults) = serve_faulty("logs=cut:9").await;
    assert!(result(&server, "eth_getLogs", filter(20, 28)).await.is_array());
    let response = http().post(server.http_url()).body(request("eth_getLogs", filter(20, 29))).send();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.bytes().await.is_err());
    assert_eq!((faults.counts().get(Kind::LogLimit), faults.counts().get(Kind::Truncate)), (1, 1));
}

#[tokio::test]
async fn a_long_range_may_get_no_answer() {
    let (server, faults) = serve_faulty("logs=hang:9").await;
    assert!(result(&server, "eth_getLogs", filter(20, 28)).await.is_array());
    let sent = http()
        .post(server.http_url())
        .timeout(Duration::from_millis(50))
        .body(request("eth_getLogs", filter(20, 29)))
        .send();
    assert!(sent.await.unwrap_err().is_timeout());
    assert_eq!((faults.counts().get(Kind::LogLimit), faults.counts().get(Kind::TimeOut)), (1, 1));
}
