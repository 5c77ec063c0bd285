//! Binding, accepting, stopping.
//!
//! The address is bound before anything else is done, so that a taken port is told
//! at once. No more connections are open at a time than there are slots; one that
//! is idle, does not finish a request's head, or reads nothing of its answer, is closed.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use windlass_core::code::Code;

use crate::limits::{MAX_CONNECTIONS, MAX_CROWDED_IDLE_MS, MAX_IDLE_MS, MAX_STOP_MS};
use crate::options::ApiOptions;
use crate::router::router;
use crate::state::{ApiParts, ApiState};
use crate::wire::Wire;

/// How long to wait when the system gives no more connections.
const ACCEPT_PAUSE_MS: u64 = 500;
/// How often old samples are taken out of the metrics' histograms.
const UPKEEP_INTERVAL_MS: u64 = 5_000;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// Another address than loopback, and nobody allowed that.
    #[error("reading takes no key, so the API does not listen on {listen} unless `api.public` is true")]
    Remote {
        /// The address asked for.
        listen: SocketAddr,
    },
    /// The address is taken, or not ours.
    #[error("cannot listen on {listen}")]
    Listen {
        /// The address asked for.
        listen: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Not an origin, such as `https://example.org`.
    #[error("`{origin}` is not an origin that a browser would send")]
    Origin {
        /// What was given.
        origin: String,
    },
    /// Not the name of a host, such as `windlass.example.org`.
    #[error("`{host}` is not the name or address of a host, without a port")]
    Host {
        /// What was given.
        host: String,
    },
}

impl BindError {
    /// The code under which it is explained.
    pub const fn code(&self) -> Code {
        match self {
            Self::Remote { .. } | Self::Listen { .. } => Code::ListenFailed,
            Self::Origin { .. } | Self::Host { .. } => Code::ConfigInvalid,
        }
    }
}

/// The API, bound and not yet serving.
pub struct Api {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    state: ApiState,
    slots: Arc<Semaphore>,
    /// How many slots there are.
    connections: usize,
}

impl Api {
    /// Takes the address. Clients can connect from now on and are served by [`Self::run`].
    pub async fn bind(options: ApiOptions, parts: ApiParts) -> Result<Self, BindError> {
        let listen = options.listen;
        if !listen.ip().is_loopback() && !options.allow_remote {
            return Err(BindError::Remote { listen });
        }
        let connections = options.connections.min(MAX_CONNECTIONS) as usize;
        let state = ApiState::new(options, parts)?;
        let router = router(state.clone())?;
        let fail = |source| BindError::Listen { listen, source };
        let listener = TcpListener::bind(listen).await.map_err(fail)?;
        let address = listener.local_addr().map_err(fail)?;
        let slots = Arc::new(Semaphore::new(connections));
        Ok(Self { listener, address, router, state, slots, connections })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it is found.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until told to stop; then finishes what is under way, within
    /// [`MAX_STOP_MS`]. Streams are ended at once: their readers know how to resume.
    pub async fn run(self, shutdown: CancellationToken) {
        let Self { listener, router, state, slots, connections, .. } = self;
        state.tasks.spawn(upkeep(state.clone()));
        while let Some((stream, slot)) = shutdown.run_until_cancelled(next(&listener, &slots)).await {
            let wire = Wire::new(stream, state.options.stall);
            // Who only takes up room is sent away soon where there is little of it.
            let is_crowded = slots.available_permits() < connections / 2;
            let idle_ms = if is_crowded { MAX_CROWDED_IDLE_MS } else { MAX_IDLE_MS };
            let idle = Duration::from_millis(idle_ms);
            let serving = serve(wire, router.clone(), slot, idle, state.stop.clone());
            state.tasks.spawn(serving);
        }
        drop(listener);
        state.stop.cancel();
        state.tasks.close();
        state.tasks.wait().await;
    }
}

/// The next connection and its slot.
async fn next(listener: &TcpListener, slots: &Arc<Semaphore>) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        match listener.accept().await {
            // The slots are never closed.
            Ok((stream, _)) => {
                // Pages are small and streams are waited for: neither gains from waiting for more.
                let _ = stream.set_nodelay(true);
                if let Ok(slot) = Arc::clone(slots).acquire_owned().await {
                    return (stream, slot);
                }
            }
            Err(error) if is_the_clients(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}

/// The client left before it was let in.
fn is_the_clients(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

/// Serves one connection until it ends, or until what is under way on it at the stop is done.
async fn serve(
    wire: Wire<TcpStream>,
    router: Router,
    slot: OwnedSemaphorePermit,
    idle: Duration,
    stop: CancellationToken,
) {
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(idle)
        .serve_connection(TokioIo::new(wire), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let mut ended = stop.run_until_cancelled(connection.as_mut()).await;
    if ended.is_none() {
        connection.as_mut().graceful_shutdown();
        ended = tokio::time::timeout(Duration::from_millis(MAX_STOP_MS), connection).await.ok();
    }
    match ended {
        None => tracing::warn!("a request was still under way when the API stopped"),
        Some(Err(error)) => tracing::trace!(%error, "a connection broke"),
        Some(Ok(())) => {}
    }
    drop(slot);
}

/// Keeps the metrics small.
async fn upkeep(state: ApiState) {
    let Some(metrics) = state.parts.metrics.clone() else { return };
    let interval = Duration::from_millis(UPKEEP_INTERVAL_MS);
    while state.stop.run_until_cancelled(tokio::time::sleep(interval)).await.is_some() {
        metrics.run_upkeep();
    }
}
