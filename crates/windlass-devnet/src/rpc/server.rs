//! Starts and stops the server.

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    dispatch::Dispatcher,
    http,
    listener::{ResetSwitch, WireListener},
};
use crate::{faults::Faults, node::Node};

/// How long open connections may take to finish when the server stops.
const MAX_STOP_MS: u64 = 5_000;

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where to listen; port 0 takes a free one.
    pub addr: SocketAddr,
    /// What goes wrong, if anything does; the caller keeps a clone to change it.
    pub faults: Option<Faults>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self { addr: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), faults: None }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {addr}")]
    Listen {
        /// The address asked for.
        addr: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Serves a node over HTTP and WebSocket.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Listens at once; returns when clients can connect.
    pub async fn start(node: Arc<dyn Node>, options: ServerOptions) -> Result<ServerHandle, ServerError> {
        let fail = |source| ServerError::Listen { addr: options.addr, source };
        let listener = TcpListener::bind(options.addr).await.map_err(fail)?;
        let addr = listener.local_addr().map_err(fail)?;
        let stop = CancellationToken::new();
        let dispatcher = Arc::new(Dispatcher::new(node, options.faults, stop.clone()));
        let service =
            http::router(Arc::clone(&dispatcher)).into_make_service_with_connect_info::<ResetSwitch>();
        let stopped = stop.clone().cancelled_owned();
        let serving = axum::serve(WireListener(listener), service).with_graceful_shutdown(stopped);
        let task = tokio::spawn(async move {
            if let Err(error) = serving.await {
                tracing::error!(%error, "the server ended");
            }
        });
        Ok(ServerHandle { addr, dispatcher, stop: stop.drop_guard(), task })
    }
}

/// A running server; it stops when this is dropped.
pub struct ServerHandle {
    addr: SocketAddr,
    dispatcher: Arc<Dispatcher>,
    stop: DropGuard,
    task: JoinHandle<()>,
}

impl ServerHandle {
    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The URL for HTTP.
    pub fn http_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The URL for WebSockets.
    pub fn ws_url(&self) -> String {
        format!("ws://{}", self.addr)
    }

    /// How often each method was called, over HTTP and WebSocket, in batches or alone.
    pub fn requests(&self) -> BTreeMap<String, u64> {
        self.dispatcher.counters.read()
    }

    /// A token that stops the server when cancelled, and tells when it is stopping.
    pub fn stop_token(&self) -> CancellationToken {
        self.dispatcher.stop.clone()
    }

    /// Stops listening, lets calls under way finish, and returns when all is over.
    pub async fn stop(self) {
        drop(self.stop);
        let limit = Duration::from_millis(MAX_STOP_MS);
        if tokio::time::timeout(limit, self.task).await.is_err() {
            tracing::warn!("connections were still open when the server stopped");
        }
    }
}

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHandle").field("addr", &self.addr).finish_non_exhaustive()
    }
}
