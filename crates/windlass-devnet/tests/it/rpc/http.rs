//! JSON-RPC over HTTP.

use serde_json::{Value, json};
use windlass_devnet::{
    node::Node,
    rpc::{MAX_BATCH_CALLS, MAX_BODY_BYTES},
};

use crate::client::{SmallNode, call, http, post, request, result, serve};

#[tokio::test]
async fn an_id_comes_back_as_it_was_sent() {
    let server = serve(SmallNode::new()).await;
    for id in ["1", "\"a b\"", "null", "123456789012345678901234567890"] {
        let text = format!(r#"{{"id":{id},"jsonrpc":"2.0","method":"test_echo","params":["x"]}}"#);
        let (status, body) = post(&server.http_url(), text).await;
        assert_eq!((status, body), (200, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":["x"]}}"#)));
    }
}

#[tokio::test]
async fn a_batch_is_answered_in_order_without_its_notifications() {
    let server = serve(SmallNode::new()).await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId"},
        {"jsonrpc": "2.0", "method": "test_echo"},
        {"jsonrpc": "2.0", "id": 2, "method": "no_such"},
        "nonsense",
        {"jsonrpc": "2.0", "id": 3, "method": "eth_blockNumber", "params": []},
    ]);
    let (status, body) = post(&server.http_url(), batch.to_string()).await;
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 200);
    assert_eq!(
        answer,
        json!([
            {"jsonrpc": "2.0", "id": 1, "result": "0x7a69"},
            {"jsonrpc": "2.0", "id": 2, "error": {"code": -32601, "message": "the method no_such does not exist/is not available"}},
            {"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "invalid request"}},
            {"jsonrpc": "2.0", "id": 3, "result": "0x64"},
        ])
    );
}

#[tokio::test]
async fn notifications_are_carried_out_and_not_answered() {
    let server = serve(SmallNode::new()).await;
    let one = json!({"jsonrpc": "2.0", "method": "test_echo"});
    assert_eq!(post(&server.http_url(), one.to_string()).await, (200, String::new()));
    assert_eq!(post(&server.http_url(), json!([one, one]).to_string()).await.1, "");
    assert_eq!(server.requests()["test_echo"], 3);
}

#[tokio::test]
async fn mistakes_are_answered_with_the_codes_of_the_standard() {
    let server = serve(SmallNode::new()).await;
    let huge_batch = format!("[{}]", vec![request("a", json!([])); MAX_BATCH_CALLS + 1].join(","));
    let cases = [
        ("{\"jsonrpc\"".to_owned(), -32700, "parse error"),
        ("[1".to_owned(), -32700, "parse error"),
        ("[]".to_owned(), -32600, "empty batch"),
        ("{}".to_owned(), -32600, "invalid request"),
        (request("eth_subscribe", json!(["newHeads"])), -32601, "notifications not supported"),
        (request("eth_getCode", json!([])), -32602, "missing value for required argument 0"),
        (huge_batch, -32600, "batch too large"),
    ];
    for (text, code, message) in cases {
        let (status, body) = post(&server.http_url(), text).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        let answer = answer.get(0).unwrap_or(&answer);
        assert_eq!(status, 200);
        assert_eq!(answer["error"], json!({"code": code, "message": message}));
    }
}

#[tokio::test]
async fn a_body_beyond_the_limit_is_refused() {
    let server = serve(SmallNode::new()).await;
    let padded = |bytes: usize| {
        let text = request("test_echo", json!([1]));
        format!("{text}{}", " ".repeat(bytes - text.len()))
    };
    assert_eq!(post(&server.http_url(), padded(MAX_BODY_BYTES)).await.0, 200);
    assert_eq!(post(&server.http_url(), padded(MAX_BODY_BYTES + 1)).await.0, 413);
}

#[tokio::test]
async fn a_large_answer_arrives_byte_for_byte() {
    let node = SmallNode::new();
    let server = serve(node.clone()).await;
    let params = json!([{"fromBlock": "0x0", "toBlock": "latest"}]);
    let raw = serde_json::value::to_raw_value(&params).unwrap();
    let direct = node.call("eth_getLogs", Some(&raw)).unwrap();
    assert!(direct.len() > 100_000);
    let response = http().post(server.http_url()).body(request("eth_getLogs", params)).send();
    let response = response.await.unwrap();
    let promised = response.content_length().unwrap();
    let body = response.bytes().await.unwrap();
    assert_eq!(body.len() as u64, promised);
    let expected = [b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":", &direct[..], b"}"].concat();
    assert!(body == expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_are_served_at_once() {
    let server = std::sync::Arc::new(serve(SmallNode::new()).await);
    let clients: Vec<_> = (0..8u64)
        .map(|client| {
            let server = std::sync::Arc::clone(&server);
            tokio::spawn(async move {
                for round in 0..10u64 {
                    let from = format!("{:#x}", client * 10 + round + 1);
                    let filter = json!([{"fromBlock": from, "toBlock": from}]);
                    let logs = result(&server, "eth_getLogs", filter).await;
                    assert_eq!(logs[1]["blockNumber"], json!(from));
                }
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(server.requests()["eth_getLogs"], 80);
}

#[tokio::test]
async fn a_person_is_greeted() {
    let server = serve(SmallNode::new()).await;
    let response = http().get(server.http_url()).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(response.text().await.unwrap().contains("POST JSON-RPC"));
}

#[tokio::test]
async fn a_stopped_server_lets_its_port_go() {
    let server = serve(SmallNode::new()).await;
    let url = server.http_url();
    assert_eq!(call(&server, "eth_chainId", json!([])).await["result"], "0x7a69");
    server.stop().await;
    // Not by listening there again: another test may have been given the port meanwhile.
    assert!(http().post(&url).body("{}").send().await.unwrap_err().is_connect());
}

#[tokio::test]
async fn a_taken_port_is_named_in_the_error() {
    let server = serve(SmallNode::new()).await;
    let options = windlass_devnet::rpc::ServerOptions { addr: server.addr(), ..Default::default() };
    let error = windlass_devnet::rpc::Server::start(SmallNode::new(), options).await.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot listen on {}", server.addr()));
}
