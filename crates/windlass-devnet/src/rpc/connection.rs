//! One connection: HTTP until it ends, becomes a WebSocket, or the server stops.

use std::{pin::pin, sync::Arc, time::Duration};

use axum::{Router, http::Request};
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::wire::{ResetSwitch, Wire};

/// How long a connection may be idle or take to send a request's head; geth's idle timeout.
pub const MAX_IDLE_MS: u64 = 120_000;

/// How long the last bytes may take to leave when the server stops.
pub(super) const MAX_FLUSH_MS: u64 = 250;

/// What a call knows of the connection it came on. The slot is free again when
/// the last clone is gone, so a WebSocket keeps the slot of its handshake.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub(super) reset: ResetSwitch,
    calls: TaskTracker,
    _slot: Arc<OwnedSemaphorePermit>,
}

impl Link {
    pub(super) fn new(slot: OwnedSemaphorePermit) -> Self {
        Self { reset: ResetSwitch::default(), calls: TaskTracker::new(), _slot: Arc::new(slot) }
    }

    /// A call is under way for as long as this is kept.
    pub(super) fn call(&self) -> TaskTrackerToken {
        self.calls.token()
    }

    /// Ends when no call is under way and what was answered had time to leave.
    async fn quiet(&self) {
        self.calls.close();
        self.calls.wait().await;
        tokio::time::sleep(Duration::from_millis(MAX_FLUSH_MS)).await;
    }
}

/// Serves one connection. When the server stops, a call under way is finished,
/// an idle connection is closed, and half a request is not waited for.
pub(super) async fn serve(stream: TcpStream, router: Router, link: Link, stop: CancellationToken) {
    let wire = TokioIo::new(Wire::new(stream, link.reset.clone()));
    let (router, passed_on) = (TowerToHyperService::new(router), link.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(passed_on.clone());
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(MAX_IDLE_MS))
        .serve_connection(wire, service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let mut ended = stop.run_until_cancelled(connection.as_mut()).await;
    if ended.is_none() {
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            result = connection => ended = Some(result),
            () = link.quiet() => {}
        }
    }
    if let Some(Err(error)) = ended {
        tracing::trace!(%error, "a connection broke");
    }
}
