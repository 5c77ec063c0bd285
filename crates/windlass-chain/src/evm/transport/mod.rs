//! How calls reach an endpoint: one POST each, or all over one WebSocket; bounded in
//! time and size.

mod http;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::endpoint::Endpoint;
use super::error::RpcError;
use super::ws::link::Link;
use http::Http;

/// How long a connection may take.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take in all, unless told otherwise.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// No more is read of an answer about one block: its logs, its receipts, its transactions.
pub const MAX_BODY_BYTES: usize = 256 << 20;
/// No more is read of the logs of a range: ten thousand take about seven MiB, and a
/// smaller range can be asked for.
pub const MAX_RANGE_BODY_BYTES: usize = 64 << 20;
/// No more is read of a header: the hashes of a hundred thousand transactions come with it.
pub(crate) const MAX_HEADER_BODY_BYTES: usize = 8 << 20;
/// No more is read of a batch of them.
pub(crate) const MAX_BATCH_BODY_BYTES: usize = 64 << 20;
/// No more is read of an answer that holds a number, an id or a contract's code.
pub const MAX_SMALL_BODY_BYTES: usize = 1 << 20;

/// The status of an answer that came without HTTP.
pub(super) const OK: u16 = 200;

/// The way to one endpoint. Clones share their connections.
#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) endpoint: Arc<Endpoint>,
    timeout: Duration,
    wire: Wire,
}

#[derive(Clone)]
enum Wire {
    Http(Http),
    Socket(Arc<Link>),
}

/// The ids of the calls in one message, consecutive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallIds {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

/// A message on its way.
pub(crate) struct Outgoing {
    pub(crate) ids: CallIds,
    pub(crate) body: Vec<u8>,
    /// How long the answer may be.
    pub(crate) limit_bytes: usize,
}

/// A whole answer, whatever it says.
pub(crate) struct Reply {
    /// The HTTP status.
    pub(crate) status: u16,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl Transport {
    pub(crate) fn new(endpoint: Endpoint, timeout: Duration) -> Result<Self, RpcError> {
        let endpoint = Arc::new(endpoint);
        let wire = if endpoint.is_socket() {
            Wire::Socket(Arc::new(Link::new(Arc::clone(&endpoint))))
        } else {
            Wire::Http(Http::new(&endpoint, timeout)?)
        };
        Ok(Self { endpoint, timeout, wire })
    }

    /// Sends a message and reads the whole answer, up to a limit.
    pub(crate) async fn send(&self, message: Outgoing) -> Result<Reply, RpcError> {
        match &self.wire {
            Wire::Http(http) => http
                .post(&self.endpoint, message)
                .await
                .map_err(|trouble| trouble.into_error(&self.endpoint, self.timeout)),
            Wire::Socket(link) => match tokio::time::timeout(self.timeout, link.send(message)).await {
                Ok(reply) => reply,
                Err(_) => Err(timed_out(&self.endpoint, self.timeout)),
            },
        }
    }
}

pub(super) fn timed_out(endpoint: &Endpoint, limit: Duration) -> RpcError {
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    RpcError::Timeout { place: endpoint.place.clone(), limit_ms }
}

/// The cause at the bottom of a chain of errors, which is the one that says something.
pub(super) fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
