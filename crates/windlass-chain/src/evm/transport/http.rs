//! One POST for each message.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Client, Response};

use super::{CONNECT_TIMEOUT, Outgoing, Reply, innermost, timed_out};
use crate::evm::endpoint::Endpoint;
use crate::evm::error::RpcError;

/// How long an idle connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// What is reserved on a provider's word that the answer will be long.
const MAX_RESERVED_BYTES: usize = 8 << 20;

/// An HTTP client for one endpoint.
#[derive(Clone)]
pub(super) struct Http {
    client: Client,
}

/// Why there is no whole answer.
pub(super) enum Trouble {
    Failed(reqwest::Error),
    TooLarge { limit_bytes: usize },
}

impl Trouble {
    pub(super) fn into_error(self, endpoint: &Endpoint, timeout: Duration) -> RpcError {
        let place = endpoint.place.clone();
        match self {
            Self::TooLarge { limit_bytes } => RpcError::BodyTooLarge { place, limit_bytes },
            Self::Failed(error) if error.is_timeout() && !error.is_connect() => timed_out(endpoint, timeout),
            Self::Failed(error) => {
                let was_connected = !error.is_connect();
                // The error's own text would repeat the URL.
                let reason = endpoint.scrub(&innermost(&error.without_url()));
                RpcError::Connection { place, reason, was_connected }
            }
        }
    }
}

impl Http {
    pub(super) fn new(endpoint: &Endpoint, timeout: Duration) -> Result<Self, RpcError> {
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
        let client = builder.build().map_err(|error| Trouble::Failed(error).into_error(endpoint, timeout))?;
        Ok(Self { client })
    }

    pub(super) async fn post(&self, endpoint: &Endpoint, message: Outgoing) -> Result<Reply, Trouble> {
        let request = self.client.post(endpoint.url.clone()).header(CONTENT_TYPE, "application/json");
        let response = request.body(message.body).send().await.map_err(Trouble::Failed)?;
        let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
        Ok(Reply { status, retry_after, body: read(response, message.limit_bytes).await? })
    }
}

async fn read(mut response: Response, limit_bytes: usize) -> Result<Bytes, Trouble> {
    let announced = response.content_length().and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(0);
    let mut body = Vec::with_capacity(announced.min(MAX_RESERVED_BYTES).min(limit_bytes));
    while let Some(chunk) = response.chunk().await.map_err(Trouble::Failed)? {
        if body.len() + chunk.len() > limit_bytes {
            return Err(Trouble::TooLarge { limit_bytes });
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}

/// `Retry-After` in seconds; the form with a date is rare, and treated as not said.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
