//! Limits of `eth_getLogs`: refused in the provider's words, and the way out works.

use serde_json::{Value, json};
use windlass_devnet::{
    faults::{Kind, Provider},
    rpc::ServerHandle,
};

use crate::client::{HEAD, LOGS_PER_BLOCK, call, post, request, result, serve_faulty};

fn filter(from: u64, to: u64) -> Value {
    json!([{"fromBlock": format!("{from:#x}"), "toBlock": format!("{to:#x}")}])
}

/// The last block that a refusal suggests.
fn suggested_end(message: &str) -> u64 {
    let digits = message.rsplit("0x").next().unwrap();
    let digits: String = digits.chars().take_while(char::is_ascii_hexdigit).collect();
    u64::from_str_radix(&digits, 16).unwrap()
}

/// Reads the whole chain, following suggestions, and returns how many logs came.
async fn follow_suggestions(server: &ServerHandle) -> (u64, u64) {
    let (mut from, mut logs, mut refusals) = (1, 0, 0);
    while from <= HEAD {
        let mut to = HEAD;
        let answer = call(server, "eth_getLogs", filter(from, to)).await;
        let page = match answer["error"]["message"].as_str() {
            None => answer["result"].clone(),
            Some(message) => {
                refusals += 1;
                to = suggested_end(message);
                result(server, "eth_getLogs", filter(from, to)).await
            }
        };
        logs += page.as_array().unwrap().len() as u64;
        from = to + 1;
    }
    (logs, refusals)
}

#[tokio::test]
async fn every_provider_refuses_too_much_and_serves_one_block() {
    for provider in Provider::ALL {
        let (server, faults) = serve_faulty(&format!("logs={}:9", provider.name())).await;
        let refused = call(&server, "eth_getLogs", filter(0, HEAD)).await;
        assert!(refused["error"]["code"].is_i64(), "{provider:?}: {refused}");
        let open_ended = json!([{"fromBlock": "earliest"}]);
        assert!(call(&server, "eth_getLogs", open_ended).await["error"].is_object());
        assert_eq!(faults.counts().get(Kind::LogLimit), 2);
        let one = result(&server, "eth_getLogs", filter(50, 50)).await;
        assert_eq!(one.as_array().unwrap().len() as u64, LOGS_PER_BLOCK);
        assert_eq!(result(&server, "eth_blockNumber", json!([])).await, "0x64");
        assert_eq!(faults.counts().get(Kind::LogLimit), 2);
    }
}

#[tokio::test]
async fn suggested_ranges_lead_through_the_whole_chain() {
    for provider in [Provider::Alchemy, Provider::AlchemyFree, Provider::Infura] {
        for limit in [1, 9, 64] {
            let (server, _) = serve_faulty(&format!("logs={}:{limit}", provider.name())).await;
            let (logs, refusals) = follow_suggestions(&server).await;
            assert_eq!(logs, HEAD * LOGS_PER_BLOCK, "{provider:?} {limit}");
            assert!(refusals > 0, "{provider:?} {limit}");
        }
    }
}

#[tokio::test]
async fn ranges_are_counted_as_the_provider_counts() {
    let cases = [
        (Provider::Quicknode, 10, 11),
        (Provider::Bsc, 10, 11),
        (Provider::Ankr, 10, 11),
        (Provider::Cloudflare, 9, 10),
        (Provider::AlchemyFree, 9, 10),
    ];
    for (provider, last_served, first_refused) in cases {
        let (server, _) = serve_faulty(&format!("logs={}:10", provider.name())).await;
        let answer = |distance: u64| call(&server, "eth_getLogs", filter(20, 20 + distance));
        assert!(answer(last_served).await["result"].is_array(), "{provider:?}");
        assert!(answer(first_refused).await["error"].is_object(), "{provider:?}");
    }
}

#[tokio::test]
async fn some_refusals_have_a_status_of_their_own() {
    for (name, status) in [("quicknode", 413), ("base", 500), ("infura", 200)] {
        let (server, _) = serve_faulty(&format!("logs={name}:9")).await;
        let text = request("eth_getLogs", filter(0, HEAD));
        assert_eq!(post(&server.http_url(), text.clone()).await.0, status);
        assert_eq!(post(&server.http_url(), format!("[{text}]")).await.0, 200);
    }
}

#[tokio::test]
async fn infura_repeats_its_suggestion_as_data() {
    let (server, _) = serve_faulty("logs=infura:9").await;
    let refused = call(&server, "eth_getLogs", filter(10, HEAD)).await;
    assert_eq!(refused["error"]["data"], json!({"from": "0xA", "to": "0xD", "limit": 9}));
}

#[tokio::test]
async fn what_the_node_itself_refuses_is_left_to_it() {
    let (server, faults) = serve_faulty("logs=infura:9").await;
    let backwards = call(&server, "eth_getLogs", filter(50, 2)).await;
    assert_eq!(backwards["error"]["message"], "invalid block range params");
    let unknown = json!([{"blockHash": format!("{:#066x}", 1)}]);
    assert_eq!(call(&server, "eth_getLogs", unknown).await["error"]["message"], "unknown block");
    assert_eq!(faults.counts().total(), 0);
}
