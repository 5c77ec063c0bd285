//! Calls that take long: how many run at once, and what ends a batch of them.

use futures_util::SinkExt;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream};
use tokio_tungstenite::{connect_async, tungstenite::Message};
use windlass_devnet::rpc::{MAX_HEAVY_CALLS, ServerHandle};

use super::gate::Gate;
use crate::client::{call, post, request, result, serve};

/// More than any test here lets pass.
const MANY: usize = 1_000;

fn batch(calls: usize) -> String {
    format!("[{}]", vec![request("eth_call", json!([{}])); calls].join(","))
}

/// Lets calls pass one by one until the server has noticed that its client left.
async fn drain(gate: &Gate, server: &ServerHandle) {
    while server.open_connections() > 0 {
        gate.open(1);
        tokio::task::yield_now().await;
        assert!(gate.came() < MANY, "the whole batch was answered for nobody");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_so_many_run_at_once_and_light_calls_pass_by() {
    let gate = Gate::new();
    let server = std::sync::Arc::new(serve(gate.clone()).await);
    let heavy: Vec<_> = (0..3 * MAX_HEAVY_CALLS)
        .map(|_| {
            let server = server.clone();
            tokio::spawn(async move { result(&server, "eth_call", json!([{}])).await })
        })
        .collect();
    gate.wait_for(MAX_HEAVY_CALLS).await;
    for _ in 0..20 {
        assert_eq!(result(&server, "windlass_mine", json!([])).await, true);
        assert_eq!(result(&server, "eth_blockNumber", json!([])).await, true);
    }
    assert_eq!(gate.came(), MAX_HEAVY_CALLS);
    gate.open(3 * MAX_HEAVY_CALLS);
    for call in heavy {
        assert_eq!(call.await.unwrap(), true);
    }
    assert_eq!((gate.came(), gate.crowd()), (3 * MAX_HEAVY_CALLS, MAX_HEAVY_CALLS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_finishes_one_call_of_a_batch() {
    let gate = Gate::new();
    let server = serve(gate.clone()).await;
    let url = server.http_url();
    let asked = tokio::spawn(async move { post(&url, batch(50)).await });
    gate.wait_for(1).await;
    server.stop_token().cancel();
    gate.open(50);
    let (status, body) = asked.await.unwrap();
    let answers: Vec<Value> = serde_json::from_str(&body).unwrap();
    assert_eq!((status, answers.len(), gate.came()), (200, 50, 1));
    assert_eq!(answers[0]["result"], true);
    for answer in &answers[1..] {
        assert_eq!(answer["error"], json!({"code": -32000, "message": "the server stops"}));
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_waits_its_turn_is_refused_when_the_server_stops() {
    let gate = Gate::new();
    let server = std::sync::Arc::new(serve(gate.clone()).await);
    let ask = || {
        let server = server.clone();
        tokio::spawn(async move { call(&server, "eth_call", json!([{}])).await })
    };
    let running: Vec<_> = (0..MAX_HEAVY_CALLS).map(|_| ask()).collect();
    gate.wait_for(MAX_HEAVY_CALLS).await;
    let waiting = ask();
    while server.requests()["eth_call"] <= MAX_HEAVY_CALLS as u64 {
        tokio::task::yield_now().await;
    }
    server.stop_token().cancel();
    assert_eq!(waiting.await.unwrap()["error"]["message"], "the server stops");
    gate.open(MAX_HEAVY_CALLS);
    for call in running {
        assert_eq!(call.await.unwrap()["result"], true);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_ends_with_its_http_client() {
    let gate = Gate::new();
    let server = serve(gate.clone()).await;
    let body = batch(MANY);
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    let mut client = TcpStream::connect(server.addr()).await.unwrap();
    client.write_all(&[head.as_bytes(), body.as_bytes()].concat()).await.unwrap();
    gate.wait_for(1).await;
    drop(client);
    drain(&gate, &server).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_ends_with_its_websocket_client() {
    let gate = Gate::new();
    let server = serve(gate.clone()).await;
    let mut client = connect_async(server.ws_url()).await.unwrap().0;
    client.send(Message::text(batch(MANY))).await.unwrap();
    gate.wait_for(1).await;
    drop(client);
    drain(&gate, &server).await;
    server.stop().await;
}
