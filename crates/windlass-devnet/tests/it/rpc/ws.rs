//! JSON-RPC over WebSocket, with a client from elsewhere.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Message, protocol::frame::coding::CloseCode},
};
use windlass_devnet::{
    rpc::MAX_SUBSCRIPTIONS,
    synthetic::{Density, SyntheticNode, SyntheticOptions},
};

use crate::client::{ANNOUNCEMENT_ROOM, SmallNode, request, serve, serve_faulty};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

async fn connect(url: &str) -> Socket {
    connect_async(url).await.unwrap().0
}

async fn send(socket: &mut Socket, text: String) {
    socket.send(Message::text(text)).await.unwrap();
}

async fn receive(socket: &mut Socket) -> Value {
    let message = socket.next().await.unwrap().unwrap();
    serde_json::from_str(message.to_text().unwrap()).unwrap()
}

async fn call(socket: &mut Socket, method: &str, params: Value) -> Value {
    send(socket, request(method, params)).await;
    receive(socket).await
}

#[tokio::test]
async fn calls_and_batches_are_answered_on_both_paths() {
    let server = serve(SmallNode::new()).await;
    for path in ["", "/ws"] {
        let mut socket = connect(&format!("{}{path}", server.ws_url())).await;
        assert_eq!(call(&mut socket, "test_echo", json!([7])).await["result"], json!([7]));
        let one = request("eth_chainId", json!([]));
        send(&mut socket, format!("[{one},{one}]")).await;
        assert_eq!(receive(&mut socket).await.as_array().unwrap().len(), 2);
        send(&mut socket, "{".to_owned()).await;
        assert_eq!(receive(&mut socket).await["error"]["code"], -32700);
    }
    assert_eq!(server.requests()["eth_chainId"], 4);
}

#[tokio::test]
async fn a_subscriber_hears_heads_and_the_logs_it_asked_for() {
    let options = SyntheticOptions { blocks: 5, density: Density::PerBlock(3), ..Default::default() };
    let node = std::sync::Arc::new(SyntheticNode::new(options));
    let server = serve(node.clone()).await;
    let mut socket = connect(&server.ws_url()).await;
    let wanted = node.log(5 * 3 + 1).token.into_word();
    let heads = call(&mut socket, "eth_subscribe", json!(["newHeads"])).await["result"].clone();
    let filter = json!(["logs", {"topics": [null, wanted]}]);
    let logs = call(&mut socket, "eth_subscribe", filter).await["result"].clone();
    assert_ne!(heads, logs);
    node.advance(1);
    let head = receive(&mut socket).await;
    assert_eq!(head["method"], "eth_subscription");
    assert_eq!(head["params"]["subscription"], heads);
    assert_eq!(head["params"]["result"]["number"], "0x6");
    let matching = (15..18).filter(|number| node.log(*number).token.into_word() == wanted).count();
    for _ in 0..matching {
        let log = receive(&mut socket).await;
        assert_eq!(log["params"]["subscription"], logs);
        assert_eq!(log["params"]["result"]["topics"][1], json!(wanted));
    }
    // The next thing heard is the answer to the next call: nothing else matched.
    assert_eq!(call(&mut socket, "eth_chainId", json!([])).await["result"], "0x7a69");
}

#[tokio::test]
async fn unsubscribing_ends_the_news() {
    let node = SmallNode::new();
    let server = serve(node.clone()).await;
    let mut socket = connect(&server.ws_url()).await;
    let id = call(&mut socket, "eth_subscribe", json!(["newHeads"])).await["result"].clone();
    node.announce(&[json!("first")]);
    assert_eq!(receive(&mut socket).await["params"]["result"], "first");
    assert_eq!(call(&mut socket, "eth_unsubscribe", json!([id])).await["result"], true);
    node.announce(&[json!("second")]);
    let again = call(&mut socket, "eth_unsubscribe", json!([id])).await;
    assert_eq!(again["error"]["message"], "subscription not found");
}

#[tokio::test]
async fn subscriptions_are_checked_and_bounded() {
    let server = serve(SmallNode::new()).await;
    let mut socket = connect(&server.ws_url()).await;
    let unknown = call(&mut socket, "eth_subscribe", json!(["syncing"])).await;
    assert_eq!(unknown["error"]["code"], -32601);
    for _ in 0..MAX_SUBSCRIPTIONS {
        assert!(call(&mut socket, "eth_subscribe", json!(["logs"])).await.get("error").is_none());
    }
    let one_more = call(&mut socket, "eth_subscribe", json!(["logs"])).await;
    assert_eq!(one_more["error"]["code"], -32000);
}

/// On one thread the server cannot take anything while the node announces.
#[tokio::test(flavor = "current_thread")]
async fn a_subscriber_that_falls_behind_is_cut_off() {
    let node = SmallNode::new();
    let server = serve(node.clone()).await;
    let mut socket = connect(&server.ws_url()).await;
    call(&mut socket, "eth_subscribe", json!(["newHeads"])).await;
    for number in 0..=ANNOUNCEMENT_ROOM {
        node.announce(&[json!(number)]);
    }
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else {
        panic!("expected the end")
    };
    assert_eq!((frame.code, frame.reason.as_str()), (CloseCode::Policy, "the subscriber fell behind"));
}

#[tokio::test]
async fn a_stopping_server_says_farewell() {
    let server = serve(SmallNode::new()).await;
    let mut socket = connect(&server.ws_url()).await;
    call(&mut socket, "eth_chainId", json!([])).await;
    server.stop_token().cancel();
    let Message::Close(Some(frame)) = socket.next().await.unwrap().unwrap() else {
        panic!("expected the end")
    };
    assert_eq!(frame.code, CloseCode::Away);
    server.stop().await;
}

#[tokio::test]
async fn faults_of_http_have_their_counterparts() {
    let (server, faults) = serve_faulty("429=1@eth_chainId,503=1@net_version,timeout=1@eth_getCode").await;
    let mut socket = connect(&server.ws_url()).await;
    assert_eq!(call(&mut socket, "eth_chainId", json!([])).await["error"]["code"], 429);
    assert_eq!(call(&mut socket, "net_version", json!([])).await["error"]["code"], -32603);
    send(&mut socket, request("eth_getCode", json!([]))).await;
    assert_eq!(call(&mut socket, "test_echo", json!([1])).await["result"], json!([1]));
    assert_eq!(faults.counts().total(), 3);
    faults.set("reset=1".parse().unwrap());
    send(&mut socket, request("eth_chainId", json!([]))).await;
    let end = socket.next().await.unwrap().unwrap_err();
    assert!(end.to_string().to_lowercase().contains("reset"), "{end}");
}
