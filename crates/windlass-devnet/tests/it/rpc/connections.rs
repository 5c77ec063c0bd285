//! Connections: how many, how long idle, whose, and how they end.

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};

use crate::client::{SmallNode, http, request, result, serve};

async fn connect(server: &ServerHandle, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.addr()).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// What comes until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

/// The clock stands still until nothing else can happen, then jumps to the next timer:
/// without a timeout this never ends.
#[tokio::test(start_paused = true)]
async fn half_a_head_half_a_body_and_silence_do_not_last() {
    let server = serve(SmallNode::new()).await;
    let mut head = connect(&server, "POST / HTTP/1.1\r\nHost: loc").await;
    let mut silent = connect(&server, "").await;
    let body = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{";
    let mut body = connect(&server, body).await;
    assert!(rest(&mut body).await.starts_with("HTTP/1.1 408"));
    rest(&mut silent).await;
    rest(&mut head).await;
}

/// Were one of them waited for, the clock would jump to the warning's limit.
#[tokio::test(start_paused = true)]
async fn idle_and_half_sent_requests_do_not_delay_the_end() {
    let server = serve(SmallNode::new()).await;
    let mut idle = connect(&server, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let mut seen = [0; 15];
    idle.read_exact(&mut seen).await.unwrap();
    let mut silent = connect(&server, "").await;
    let mut half = connect(&server, "POST / HTTP/1.1\r\nHost: loc").await;
    while server.open_connections() < 3 {
        tokio::task::yield_now().await;
    }
    let start = tokio::time::Instant::now();
    server.stop().await;
    assert!(start.elapsed().as_millis() < 1_000, "on the clock of the test, not of the wall");
    for stream in [&mut idle, &mut silent, &mut half] {
        rest(stream).await;
    }
}

#[tokio::test]
async fn the_connection_after_the_last_one_waits() {
    let options = ServerOptions { connections: 3, ..ServerOptions::default() };
    let server = Server::start(SmallNode::new(), options).await.unwrap();
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(connect(&server, "").await);
    }
    while server.open_connections() < 3 {
        tokio::task::yield_now().await;
    }
    let mut late = connect(&server, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
    assert_eq!(server.open_connections(), 3);
    drop(held.pop());
    assert!(rest(&mut late).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_page_from_elsewhere_is_refused_and_nothing_is_done() {
    let server = serve(SmallNode::new()).await;
    let ask = |header: &'static str, value: &'static str| {
        let text = request("eth_chainId", json!([]));
        let post = http().post(server.http_url()).header("content-type", "text/plain").header(header, value);
        async { post.body(text).send().await.unwrap().status().as_u16() }
    };
    assert_eq!(ask("origin", "https://evil.example").await, 403);
    assert_eq!(ask("host", "evil.example").await, 403);
    assert_eq!(server.requests().get("eth_chainId"), None);
    assert_eq!(ask("origin", "http://localhost:3000").await, 200);
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0x7a69");
}

#[tokio::test]
async fn a_page_from_elsewhere_gets_no_websocket() {
    let server = serve(SmallNode::new()).await;
    let upgrade = "GET /ws HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\
                   Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let mut stream = connect(&server, upgrade).await;
    let mut seen = [0; 12];
    stream.read_exact(&mut seen).await.unwrap();
    assert_eq!(&seen, b"HTTP/1.1 403");
}
