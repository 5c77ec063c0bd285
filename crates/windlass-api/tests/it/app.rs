//! A running API on a free port, with a store of its own.

use std::net::Ipv4Addr;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_api::{Api, ApiOptions, ApiParts};
use windlass_core::store::Store;

use crate::database::{Database, Kind};

/// The API, as a client sees it, and what stands behind it.
pub(crate) struct App {
    pub(crate) url: String,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) wake: Arc<Notify>,
    pub(crate) client: reqwest::Client,
    pub(crate) stop: CancellationToken,
    pub(crate) task: JoinHandle<()>,
    _database: Database,
}

/// An answer: its status and what it says.
pub(crate) type Answer = (u16, Value);

impl App {
    pub(crate) async fn spawn(kind: Kind) -> Self {
        Self::with(kind, |_, _| {}).await
    }

    /// With other options or parts than the usual ones.
    pub(crate) async fn with(kind: Kind, change: impl FnOnce(&mut ApiOptions, &mut ApiParts)) -> Self {
        Self::on(Database::open(kind).await, change).await
    }

    pub(crate) async fn on(database: Database, change: impl FnOnce(&mut ApiOptions, &mut ApiParts)) -> Self {
        let mut options = free_port();
        let mut parts = ApiParts::new(Arc::clone(&database.store));
        change(&mut options, &mut parts);
        let (store, wake) = (Arc::clone(&parts.store), Arc::clone(&parts.wake));
        let api = Api::bind(options, parts).await.unwrap();
        let (url, stop) = (api.url(), CancellationToken::new());
        let task = tokio::spawn(api.run(stop.clone()));
        Self { url, store, wake, client: client(), stop, task, _database: database }
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

    /// Sends bytes as they are, and hears all that the server says before it closes.
    pub(crate) async fn raw(&self, request: &[u8]) -> String {
        let mut stream = self.connect().await;
        // Whoever is refused early may find the door shut before it has said all.
        let _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.url.strip_prefix("http://").unwrap()).await.unwrap()
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
