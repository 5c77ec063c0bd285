//! A gateway before a node, which changes answers as whole messages: what a node's own answers to
//! single calls cannot show.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

type Change = dyn Fn(&mut Value) + Send + Sync;

#[derive(Clone)]
struct Gateway {
    node_url: Arc<str>,
    http: reqwest::Client,
    change: Arc<Change>,
}

/// Passes messages on to a node and changes its answers; gives the gateway's URL.
pub(crate) async fn start(node_url: &str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> String {
    let gateway =
        Gateway { node_url: node_url.into(), http: reqwest::Client::new(), change: Arc::new(change) };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let addr = listener.local_addr().expect("an address");
    let router = Router::new().route("/", post(pass_on)).with_state(gateway);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{addr}")
}

async fn pass_on(State(gateway): State<Gateway>, message: String) -> Json<Value> {
    let request = gateway.http.post(&*gateway.node_url).body(message);
    let request = request.header("content-type", "application/json");
    let answer = request.send().await.expect("the node answers").bytes().await.expect("all of it");
    let mut answer = serde_json::from_slice(&answer).expect("json");
    (gateway.change)(&mut answer);
    Json(answer)
}
