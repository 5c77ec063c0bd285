//! One POST, bounded in time and size.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode};

use super::endpoint::Endpoint;
use super::error::RpcError;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a request may take in all, unless told otherwise.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// No more of an answer is read: ten thousand logs take about seven MiB.
pub const MAX_BODY_BYTES: usize = 256 << 20;
/// No more is read of an answer that holds a number, an id or a contract's code.
pub const MAX_SMALL_BODY_BYTES: usize = 1 << 20;
/// What is reserved on a provider's word that the answer will be long.
const MAX_RESERVED_BYTES: usize = 8 << 20;

/// An HTTP client for one endpoint.
#[derive(Clone)]
pub(crate) struct Transport {
    pub(crate) endpoint: Endpoint,
    http: Client,
    timeout: Duration,
}

/// A whole answer, whatever it says.
pub(crate) struct Reply {
    /// The id of the call it should answer.
    pub(crate) id: u64,
    pub(crate) status: StatusCode,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

impl Transport {
    pub(crate) fn new(endpoint: Endpoint, timeout: Duration) -> Result<Self, RpcError> {
        let mut builder = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT.min(timeout))
            .timeout(timeout)
            .pool_idle_timeout(IDLE_TIMEOUT)
            .tcp_nodelay(true)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")));
        if endpoint.is_loopback() {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| RpcError::Connection {
            place: endpoint.place.clone(),
            reason: innermost(&error.without_url()),
        })?;
        Ok(Self { endpoint, http, timeout })
    }

    /// Sends a call and reads the whole answer, up to a limit.
    pub(crate) async fn post(&self, id: u64, body: Vec<u8>, limit_bytes: usize) -> Result<Reply, RpcError> {
        let request =
            self.http.post(self.endpoint.url.clone()).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(|error| self.failed(error))?;
        let (status, retry_after) = (response.status(), retry_after(response.headers()));
        Ok(Reply { id, status, retry_after, body: self.read(response, limit_bytes).await? })
    }

    async fn read(&self, mut response: Response, limit_bytes: usize) -> Result<Vec<u8>, RpcError> {
        let announced = response.content_length().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
        let mut body = Vec::with_capacity(announced.min(MAX_RESERVED_BYTES).min(limit_bytes));
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if body.len() + chunk.len() > limit_bytes {
                let place = self.endpoint.place.clone();
                return Err(RpcError::BodyTooLarge { place, limit_bytes });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    fn failed(&self, error: reqwest::Error) -> RpcError {
        let place = self.endpoint.place.clone();
        if error.is_timeout() {
            let limit_ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
            return RpcError::Timeout { place, limit_ms };
        }
        // The error's own text would repeat the URL.
        RpcError::Connection { place, reason: self.endpoint.scrub(&innermost(&error.without_url())) }
    }
}

/// The cause at the bottom of a chain of errors, which is the one that says something.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// `Retry-After` in seconds; the form with a date is rare, and treated as not said.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
