//! Rate limits, and refusals in words that nobody has listed.

use serde_json::{Value, json};
use windlass_devnet::faults::Kind;

use crate::client::{call, http, post, request, result, serve_faulty};

fn batch(calls: usize) -> String {
    format!("[{}]", vec![request("eth_chainId", json!([])); calls].join(","))
}

/// More calls than the burst never pass, however slow the machine is.
#[tokio::test]
async fn a_rate_limit_is_a_429_without_words_of_when() {
    let (server, faults) = serve_faulty("rate=1:3").await;
    assert_eq!(post(&server.http_url(), batch(3)).await.0, 200);
    let response = http().post(server.http_url()).body(batch(4)).send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert!(response.headers().get("retry-after").is_none());
    assert_eq!(faults.counts().get(Kind::Rate), 1);
    assert_eq!(faults.counts().get(Kind::TooManyRequests), 0);
}

#[tokio::test]
async fn a_rate_limit_may_say_when_to_come_back() {
    let (server, faults) = serve_faulty("rate=1:3/retry").await;
    let response = http().post(server.http_url()).body(batch(9)).send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "6");
    assert_eq!(faults.counts().get(Kind::Rate), 1);
}

#[tokio::test]
async fn a_rate_limit_may_have_words_of_its_own() {
    let (server, faults) = serve_faulty("rate=1:3/words").await;
    let mut words = Vec::new();
    for _ in 0..2 {
        let (status, body) = post(&server.http_url(), batch(4)).await;
        let answers: Vec<Value> = serde_json::from_str(&body).unwrap();
        assert_eq!((status, answers.len()), (200, 4));
        words.extend(answers.into_iter().map(|answer| answer["error"].clone()));
    }
    words.dedup();
    assert_eq!(words.len(), 1, "a provider says the same each time: {words:?}");
    assert!(words[0]["message"].is_string(), "{words:?}");
    assert_eq!(faults.counts().get(Kind::Rate), 8);
}

#[tokio::test]
async fn a_rate_limit_of_one_method_counts_no_other() {
    let (server, _) = serve_faulty("rate=1:1@eth_getLogs").await;
    assert_eq!(post(&server.http_url(), batch(50)).await.0, 200);
    let logs = request("eth_getLogs", json!([{"fromBlock": "0x1", "toBlock": "0x1"}]));
    assert_eq!(post(&server.http_url(), format!("[{logs},{logs}]")).await.0, 429);
}

#[tokio::test]
async fn a_429_may_come_without_retry_after() {
    let (server, faults) = serve_faulty("429=1:none").await;
    let sent = http().post(server.http_url()).body(request("eth_chainId", json!([]))).send();
    let response = sent.await.unwrap();
    assert_eq!(response.status(), 429);
    assert!(response.headers().get("retry-after").is_none());
    assert_eq!(faults.counts().get(Kind::TooManyRequests), 1);
}

#[tokio::test]
async fn refusals_have_other_words_each_time() {
    let (server, faults) = serve_faulty("refuse=1@eth_getLogs").await;
    let mut errors = std::collections::BTreeSet::new();
    for _ in 0..10 {
        let answer = call(&server, "eth_getLogs", json!([{}])).await;
        errors.insert(answer["error"]["message"].as_str().unwrap().to_owned());
    }
    assert_eq!(errors.len(), 10, "{errors:?}");
    assert_eq!(result(&server, "eth_chainId", json!([])).await, "0x7a69");
    assert_eq!(faults.counts().get(Kind::Refuse), 10);
}
