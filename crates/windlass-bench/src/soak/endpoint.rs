//! The endpoints of the chain, turned bad and good over their own wire.

use std::collections::BTreeMap;

use serde_json::{Value, json};

type Broken = Box<dyn std::error::Error>;

/// Where the chain is served.
pub(super) struct Endpoints {
    urls: Vec<String>,
    client: reqwest::Client,
}

impl Endpoints {
    pub(super) fn new(urls: &[String]) -> Self {
        Self { urls: urls.to_vec(), client: reqwest::Client::new() }
    }

    /// Puts a plan of faults in force at one.
    pub(super) async fn set(&self, endpoint: usize, plan: &str) -> Result<(), Broken> {
        let url = self.urls.get(endpoint).ok_or("there is no such endpoint")?;
        self.call(url, "windlass_setFaults", json!([plan])).await.map(drop)
    }

    /// Puts a plan in force at all of them.
    pub(super) async fn set_all(&self, plan: &str) -> Result<(), Broken> {
        for endpoint in 0..self.urls.len() {
            self.set(endpoint, plan).await?;
        }
        Ok(())
    }

    /// How often each kind of fault happened, at all of them together.
    pub(super) async fn counts(&self) -> Result<BTreeMap<String, u64>, Broken> {
        let mut all = BTreeMap::new();
        for url in &self.urls {
            let told = self.call(url, "windlass_faults", json!([])).await?;
            for (kind, count) in told["counts"].as_object().into_iter().flatten() {
                *all.entry(kind.clone()).or_default() += count.as_u64().unwrap_or(0);
            }
        }
        all.retain(|_, count| *count > 0);
        Ok(all)
    }

    async fn call(&self, url: &str, method: &str, params: Value) -> Result<Value, Broken> {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let request = self.client.post(url).header("content-type", "application/json").body(body);
        let mut answer: Value = serde_json::from_str(&request.send().await?.text().await?)?;
        match answer.get("error") {
            Some(error) => Err(format!("{method}: {error}").into()),
            None => Ok(answer["result"].take()),
        }
    }
}
