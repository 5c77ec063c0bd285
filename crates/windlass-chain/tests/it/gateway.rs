//! A gateway before a node, which changes answers as whole messages, or answers itself: what a
//! node's own answers to single calls cannot show.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

type Change = dyn Fn(&mut Value) + Send + Sync;
type OwnAnswer = dyn Fn(&Value) -> Option<Response> + Send + Sync;

#[derive(Clone)]
struct Gateway {
    node_url: Arc<str>,
    http: reqwest::Client,
    own_answer: Arc<OwnAnswer>,
    change: Arc<Change>,
}

/// Passes messages on to a node and changes its answers; gives the gateway's URL.
pub(crate) async fn start(node_url: &str, change: impl Fn(&mut Value) + Send + Sync + 'static) -> String {
    serve(node_url, Arc::new(|_| None), Arc::new(change)).await
}

/// The same for one that answers some messages itself, and passes the others on.
pub(crate) async fn start_answering(
    node_url: &str,
    own_answer: impl Fn(&Value) -> Option<Response> + Send + Sync + 'static,
) -> String {
    serve(node_url, Arc::new(own_answer), Arc::new(|_| {})).await
}

async fn serve(node_url: &str, own_answer: Arc<OwnAnswer>, change: Arc<Change>) -> String {
    let gateway = Gateway { node_url: node_url.into(), http: reqwest::Client::new(), own_answer, change };
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let addr = listener.local_addr().expect("an address");
    let router = Router::new().route("/", post(pass_on)).with_state(gateway);
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{addr}")
}

async fn pass_on(State(gateway): State<Gateway>, message: String) -> Response {
    let question = serde_json::from_str(&message).expect("json");
    if let Some(answer) = (gateway.own_answer)(&question) {
        return answer;
    }
    let request = gateway.http.post(&*gateway.node_url).body(message);
    let request = request.header("content-type", "application/json");
    let answer = request.send().await.expect("the node answers").bytes().await.expect("all of it");
    let mut answer = serde_json::from_slice(&answer).expect("json");
    (gateway.change)(&mut answer);
    Json(answer).into_response()
}
