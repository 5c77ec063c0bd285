//! A running API on a free port, with a store of its own.

use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_api::{Api, ApiOptions, ApiParts};
use windlass_core::store::Store;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

/// The API, as a client sees it, and what stands behind it.
pub(crate) struct App {
    pub(crate) url: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) wake: Arc<Notify>,
    pub(crate) client: reqwest::Client,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<()>,
}

/// An answer: its status and what it says.
pub(crate) type Answer = (u16, Value);

impl App {
    pub(crate) async fn spawn() -> Self {
        Self::with(|_, _| {}).await
    }

    /// With other options or parts than the usual ones.
    pub(crate) async fn with(change: impl FnOnce(&mut ApiOptions, &mut ApiParts)) -> Self {
        let store = SqliteStore::open(SqliteOptions::memory()).await.unwrap();
        Self::on(Arc::new(store), change).await
    }

    pub(crate) async fn on(
        store: Arc<dyn Store>,
        change: impl FnOnce(&mut ApiOptions, &mut ApiParts),
    ) -> Self {
        let mut options = free_port();
        let mut parts = ApiParts::new(store);
        change(&mut options, &mut parts);
        let (store, wake) = (Arc::clone(&parts.store), Arc::clone(&parts.wake));
        let api = Api::bind(options, parts).await.unwrap();
        let (url, stop) = (api.url(), CancellationToken::new());
        let task = tokio::spawn(api.run(stop.clone()));
        Self { url, store, wake, client: client(), stop, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Asks for JSON.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        let (status, text) = self.text(path).await;
        let value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path} answered {status}: {text}"));
        (status, value)
    }

    /// Asks for JSON that must be there.
    pub(crate) async fn ok(&self, path: &str) -> Value {
        let (status, value) = self.get(path).await;
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    /// Asks for text.
    pub(crate) async fn text(&self, path: &str) -> (u16, String) {
        let response = self.client.get(self.url(path)).send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    /// Asks in GraphQL.
    pub(crate) async fn graphql(&self, query: &str, variables: Value) -> Value {
        let body = serde_json::json!({ "query": query, "variables": variables });
        let (status, text) = self.post("/graphql", "application/json", body.to_string()).await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) async fn post(&self, path: &str, kind: &str, body: String) -> (u16, String) {
        let request = self.client.post(self.url(path)).header("content-type", kind).body(body);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Options that take no port from anybody.
pub(crate) fn free_port() -> ApiOptions {
    ApiOptions { listen: (Ipv4Addr::LOCALHOST, 0).into(), ..ApiOptions::default() }
}

/// An HTTP client; a provider of ciphers must be there even if no cipher is used.
pub(crate) fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}
