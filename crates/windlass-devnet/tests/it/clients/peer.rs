//! A chain over HTTP, asked on one connection.

use serde_json::{Value, json};

use crate::client::{http, request};

pub(super) struct Peer {
    http: reqwest::Client,
    url: String,
}

impl Peer {
    pub(super) fn new(url: String) -> Self {
        Self { http: http(), url }
    }

    /// The result or the error of a call.
    pub(super) async fn answer(&self, method: &str, params: Value) -> Value {
        let sent = self.http.post(&self.url).header("content-type", "application/json");
        let body = sent.body(request(method, params)).send().await.unwrap().text().await.unwrap();
        let mut answer: Value = serde_json::from_str(&body).unwrap();
        match answer.get_mut("error") {
            Some(error) => json!({"error": without_custom_error(error.take())}),
            None => json!({"result": answer["result"].take()}),
        }
    }

    /// The result, which must be there.
    pub(super) async fn result(&self, method: &str, params: Value) -> Value {
        let mut answer = self.answer(method, params).await;
        assert!(answer.get("error").is_none(), "{method} on {}: {answer}", self.url);
        answer["result"].take()
    }
}

/// Anvil says which custom error it was, in words that geth does not have; the data says it on both.
fn without_custom_error(mut error: Value) -> Value {
    if let Some((words, _)) = error["message"].as_str().and_then(|text| text.split_once(": custom error ")) {
        error["message"] = Value::from(words);
    }
    error
}
