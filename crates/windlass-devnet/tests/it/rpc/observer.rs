//! Who watches a server sees every message, with the calls in it, before any fault.

use std::sync::{Arc, Mutex};

use serde_json::json;
use windlass_devnet::{
    faults::Faults,
    node::CallRef,
    rpc::{Observer, Server, ServerOptions},
};

use crate::client::{SmallNode, post, request};

#[derive(Debug, Default)]
struct Seen(Mutex<Vec<Vec<String>>>);

impl Observer for Seen {
    fn message(&self, calls: &[CallRef<'_>]) {
        let text = |call: &CallRef<'_>| format!("{}{}", call.method, call.params.unwrap().get());
        self.0.lock().unwrap().push(calls.iter().map(text).collect());
    }
}

#[tokio::test]
async fn a_batch_is_one_message_and_a_refused_one_counts() {
    let seen = Arc::new(Seen::default());
    let faults = Some(Faults::new(1, "429=1".parse().unwrap()));
    let options = ServerOptions { faults, observer: Some(seen.clone()), ..ServerOptions::default() };
    let server = Server::start(SmallNode::new(), options).await.unwrap();
    let (one, two) = (request("eth_chainId", json!([])), request("eth_getCode", json!(["0x1", "latest"])));
    for text in [one.clone(), format!("[{one},7,{two}]")] {
        assert_eq!(post(&server.http_url(), text).await.0, 429);
    }
    let messages = seen.0.lock().unwrap().clone();
    assert_eq!(messages, [vec!["eth_chainId[]"], vec!["eth_chainId[]", "eth_getCode[\"0x1\",\"latest\"]"]]);
}
