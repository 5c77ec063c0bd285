//! Faults of HTTP and TCP.

use std::{io::ErrorKind, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use windlass_devnet::{faults::Kind, rpc::ServerHandle};

use crate::client::{call, http, post, request, result, serve_faulty};

/// Sends a request by hand and reads until the connection ends.
async fn raw_exchange(server: &ServerHandle, body: &str) -> (Vec<u8>, std::io::Result<usize>) {
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    let head = format!("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let end = stream.read_to_end(&mut answer).await;
    (answer, end)
}

#[tokio::test]
async fn latency_delays_and_answers() {
    let (server, faults) = serve_faulty("latency=1ms..3ms").await;
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0x7a69");
    assert_eq!(faults.counts().get(Kind::Latency), 1);
}

#[tokio::test]
async fn too_many_requests_say_when_to_come_back() {
    let (server, faults) = serve_faulty("429=1:7s").await;
    let response = http().post(server.http_url()).body(request("eth_chainId", json!([]))).send();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "7");
    assert_eq!(faults.counts().get(Kind::TooManyRequests), 1);
}

#[tokio::test]
async fn server_errors_are_not_json() {
    let (server, faults) = serve_faulty("502=1@eth_chainId,503=1@net_version").await;
    for (method, status) in [("eth_chainId", 502), ("net_version", 503)] {
        let (seen, body) = post(&server.http_url(), request(method, json!([]))).await;
        assert_eq!(seen, status);
        assert!(serde_json::from_str::<Value>(&body).is_err());
    }
    assert_eq!(faults.counts().get(Kind::ServerError), 2);
}

#[tokio::test]
async fn a_client_that_waits_for_ever_gives_up_first() {
    let (server, faults) = serve_faulty("timeout=1").await;
    let sent = http()
        .post(server.http_url())
        .timeout(Duration::from_millis(50))
        .body(request("eth_chainId", json!([])))
        .send();
    assert!(sent.await.unwrap_err().is_timeout());
    assert_eq!(faults.counts().get(Kind::TimeOut), 1);
}

#[tokio::test]
async fn a_held_call_ends_in_a_reset() {
    let (server, faults) = serve_faulty("timeout=1:5ms").await;
    let (answer, end) = raw_exchange(&server, &request("eth_chainId", json!([]))).await;
    assert_eq!((answer.len(), end.unwrap_err().kind()), (0, ErrorKind::ConnectionReset));
    assert_eq!(faults.counts().get(Kind::TimeOut), 1);
}

#[tokio::test]
async fn a_reset_is_a_reset() {
    let (server, faults) = serve_faulty("reset=1").await;
    let (answer, end) = raw_exchange(&server, &request("eth_chainId", json!([]))).await;
    assert_eq!((answer.len(), end.unwrap_err().kind()), (0, ErrorKind::ConnectionReset));
    assert_eq!(faults.counts().get(Kind::Reset), 1);
    let sent = http().post(server.http_url()).body(request("eth_chainId", json!([]))).send().await;
    assert!(sent.unwrap_err().is_request());
    assert!(faults.counts().get(Kind::Reset) >= 2);
}

#[tokio::test]
async fn a_truncated_body_breaks_its_promise() {
    let (server, faults) = serve_faulty("truncate=1").await;
    for (method, params) in
        [("eth_chainId", json!([])), ("eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": "latest"}]))]
    {
        let response = http().post(server.http_url()).body(request(method, params)).send();
        let response = response.await.unwrap();
        assert_eq!(response.status(), 200);
        assert!(response.content_length().unwrap() > 0);
        let error = response.bytes().await.unwrap_err();
        assert!(error.is_body() || error.is_decode(), "{error:?}");
    }
    assert_eq!(faults.counts().get(Kind::Truncate), 2);
    let (answer, _) = raw_exchange(&server, &request("test_echo", json!(["0123456789"]))).await;
    let text = String::from_utf8(answer).unwrap();
    assert!(text.contains("content-length: 48\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":1,"), "{text}");
}

#[tokio::test]
async fn a_batch_shares_the_fate_of_its_unlucky_call() {
    let (server, faults) = serve_faulty("503=1@net_version").await;
    let (lucky, unlucky) = (request("eth_chainId", json!([])), request("net_version", json!([])));
    assert_eq!(post(&server.http_url(), format!("[{lucky},{unlucky}]")).await.0, 503);
    assert_eq!(post(&server.http_url(), format!("[{lucky},{lucky}]")).await.0, 200);
    assert_eq!(faults.counts().total(), 1);
}

#[tokio::test]
async fn a_server_that_holds_calls_can_be_stopped() {
    let (server, faults) = serve_faulty("timeout=1").await;
    let url = server.http_url();
    let held =
        tokio::spawn(async move { http().post(url).body(request("eth_chainId", json!([]))).send().await });
    while faults.counts().get(Kind::TimeOut) == 0 {
        tokio::task::yield_now().await;
    }
    server.stop().await;
    assert!(held.await.unwrap().is_err());
}

#[tokio::test]
async fn without_faults_nothing_is_counted() {
    let (server, faults) = serve_faulty("").await;
    assert_eq!(call(&server, "eth_chainId", json!([])).await["result"], "0x7a69");
    assert_eq!(faults.counts().total(), 0);
}
