//! Clients nobody here wrote, and a node small enough to know by heart.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::broadcast;
use windlass_devnet::{
    faults::{Faults, Plan},
    node::{Announcement, Node, RpcError},
    rpc::{Server, ServerHandle, ServerOptions},
    synthetic::{Density, SyntheticNode, SyntheticOptions},
};

/// The newest block of the small node.
pub(crate) const HEAD: u64 = 100;
/// How many logs each of its blocks has.
pub(crate) const LOGS_PER_BLOCK: u64 = 2;
/// How far a subscriber of the small node may fall behind.
pub(crate) const ANNOUNCEMENT_ROOM: usize = 4;

/// A hundred generated blocks, with receipts and an echo besides.
pub(crate) struct SmallNode {
    pub(crate) chain: SyntheticNode,
    pub(crate) announcements: broadcast::Sender<Arc<Announcement>>,
}

impl SmallNode {
    pub(crate) fn new() -> Arc<Self> {
        let options = SyntheticOptions {
            blocks: HEAD,
            density: Density::PerBlock(LOGS_PER_BLOCK as u32),
            finality_blocks: 10,
            ..SyntheticOptions::default()
        };
        let announcements = broadcast::channel(ANNOUNCEMENT_ROOM).0;
        Arc::new(Self { chain: SyntheticNode::new(options), announcements })
    }

    pub(crate) fn announce(&self, heads: &[Value]) {
        let heads = heads.iter().map(|head| Bytes::from(head.to_string())).collect();
        let _ = self.announcements.send(Arc::new(Announcement { heads, logs: Vec::new() }));
    }
}

impl Node for SmallNode {
    fn call(&self, method: &str, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        let text = params.map_or("null", RawValue::get).to_owned();
        match method {
            "test_echo" => Ok(Bytes::from(text)),
            "eth_getBalance" => Ok(Bytes::from_static(b"\"0x1\"")),
            "eth_getTransactionReceipt" => {
                let list: Vec<String> = serde_json::from_str(&text).unwrap();
                let log = (0..self.chain.log_count())
                    .map(|number| self.chain.log(number))
                    .find(|log| log.transaction_hash.to_string() == list[0]);
                Ok(log.map_or(Bytes::from_static(b"null"), |log| {
                    Bytes::from(json!({"blockNumber": format!("{:#x}", log.block_number)}).to_string())
                }))
            }
            "eth_getBlockReceipts" => Ok(Bytes::from_static(b"[]")),
            _ => self.chain.call(method, params),
        }
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.announcements.subscribe()
    }
}

/// Starts a server without faults.
pub(crate) async fn serve(node: Arc<dyn Node>) -> ServerHandle {
    Server::start(node, ServerOptions::default()).await.unwrap()
}

/// Starts the small node behind a plan.
pub(crate) async fn serve_faulty(plan: &str) -> (ServerHandle, Faults) {
    let faults = Faults::new(1, plan.parse::<Plan>().unwrap());
    let options = ServerOptions { faults: Some(faults.clone()), ..ServerOptions::default() };
    (Server::start(SmallNode::new(), options).await.unwrap(), faults)
}

/// An HTTP client; a provider of ciphers must be there even if no cipher is used.
pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// Posts a text and returns status and body.
pub(crate) async fn post(url: &str, body: impl Into<reqwest::Body>) -> (u16, String) {
    let response = http().post(url).body(body).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// One call's text.
pub(crate) fn request(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

/// Calls over HTTP and returns the whole answer.
pub(crate) async fn call(server: &ServerHandle, method: &str, params: Value) -> Value {
    let (_, body) = post(&server.http_url(), request(method, params)).await;
    serde_json::from_str(&body).unwrap()
}

/// Calls over HTTP and returns the result, which must be there.
pub(crate) async fn result(server: &ServerHandle, method: &str, params: Value) -> Value {
    let mut answer = call(server, method, params).await;
    assert!(answer.get("error").is_none(), "{answer}");
    answer["result"].take()
}
