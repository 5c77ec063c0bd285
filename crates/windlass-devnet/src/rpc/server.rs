//! Starts and stops the server.

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpListener, sync::Semaphore, task::JoinHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    dispatch::Dispatcher,
    door::Door,
    http,
    listener::{Acceptor, MAX_CONNECTIONS},
};
use crate::{
    faults::Faults,
    node::{CallRef, Node},
};

/// How long calls under way may take to finish when the server stops.
const MAX_STOP_MS: u64 = 5_000;

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Where to listen; port 0 takes a free one.
    pub addr: SocketAddr,
    /// What goes wrong, if anything does; the caller keeps a clone to change it.
    pub faults: Option<Faults>,
    /// Who sees every message that comes in, if anybody does.
    pub observer: Option<Arc<dyn Observer>>,
    /// How many connections may be open at once; never more than [`MAX_CONNECTIONS`].
    pub connections: u32,
}

impl Default for ServerOptions {
    fn default() -> Self {
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { addr, faults: None, observer: None, connections: MAX_CONNECTIONS }
    }
}

/// Sees what clients ask, before any fault: a message is one HTTP request or one
/// WebSocket message, and holds several calls if it is a batch.
pub trait Observer: std::fmt::Debug + Send + Sync + 'static {
    /// A message has come in. What is no call is left out.
    fn message(&self, calls: &[CallRef<'_>]);
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
        let dispatcher = Arc::new(Dispatcher::new(node, options.faults, options.observer, stop.clone()));
        let router = http::router(Arc::clone(&dispatcher), Door::new(addr));
        let connections = options.connections.min(MAX_CONNECTIONS);
        let slots = Arc::new(Semaphore::new(connections as usize));
        let acceptor =
            Acceptor { listener, router, slots: Arc::clone(&slots), stop: stop.clone(), complained: false };
        let task = tokio::spawn(acceptor.run());
        Ok(ServerHandle { addr, dispatcher, connections, slots, stop: stop.drop_guard(), task })
    }
}

/// A running server; it stops when this is dropped.
pub struct ServerHandle {
    addr: SocketAddr,
    dispatcher: Arc<Dispatcher>,
    connections: u32,
    slots: Arc<Semaphore>,
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

    /// How many connections are open, WebSockets included.
    pub fn open_connections(&self) -> usize {
        (self.connections as usize).saturating_sub(self.slots.available_permits())
    }

    /// Stops listening, lets each call under way finish, and returns when all is
    /// over, or after five seconds.
    pub async fn stop(self) {
        drop(self.stop);
        let (task, slots) = (self.task, self.slots);
        let all_over = async {
            // Neither fails: the task does not panic, and the slots are never closed.
            let _ = task.await;
            let _ = slots.acquire_many(self.connections).await;
        };
        if tokio::time::timeout(Duration::from_millis(MAX_STOP_MS), all_over).await.is_err() {
            tracing::warn!("calls were still under way when the server stopped");
        }
    }
}

impl std::fmt::Debug for ServerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerHandle").field("addr", &self.addr).finish_non_exhaustive()
    }
}
