//! What is asked of the API.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use crate::limits::{
    DEFAULT_CONCURRENT_REQUESTS, KEY_BURST, KEY_REQUESTS_PER_S, MAX_BODY_MS, MAX_CONNECTIONS, MAX_QUEUE_MS,
    MAX_STALL_MS, MAX_STREAMS, STORE_CHECK_INTERVAL_MS, STORE_CHECK_MS,
};

/// The port on which the fee collector's API listened, and so does this one unless told.
pub const DEFAULT_PORT: u16 = 9999;

/// How to serve.
#[derive(Debug, Clone)]
pub struct ApiOptions {
    /// Where to listen; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether another address than loopback may be listened on. Only what concerns
    /// payouts takes a key: whoever reaches the port reads everything else.
    pub allow_remote: bool,
    /// Under which names it answers besides local ones, without ports. On loopback
    /// others are refused, so that no site can have its name point here.
    pub hosts: Vec<String>,
    /// Whose pages may read the API: `https://example.org`, or `*` for all. None by default.
    pub cors_origins: Vec<String>,
    /// How long a request may take to send its body.
    pub body_timeout: Duration,
    /// How long an answer may take to begin.
    pub request_timeout: Duration,
    /// How many connections may be open; never more than [`MAX_CONNECTIONS`].
    pub connections: u32,
    /// How many requests are answered at once; never more than
    /// [`MAX_CONCURRENT_REQUESTS`](crate::limits::MAX_CONCURRENT_REQUESTS).
    pub concurrent_requests: usize,
    /// How long a request queues for its turn before it is refused with 503.
    pub queue_timeout: Duration,
    /// How often the store is asked whether it still answers while a request takes long.
    pub store_check_interval: Duration,
    /// How long the store may take to answer that.
    pub store_check_timeout: Duration,
    /// How many streams may be open; never more than [`MAX_STREAMS`].
    pub streams: usize,
    /// How often a key may ask.
    pub rate_limit: RateLimit,
    /// How long to wait for a client that reads nothing of its answer.
    pub stall: Duration,
    /// How often a stream looks for news when nobody wakes it.
    pub stream_interval: Duration,
    /// How often a stream without news shows that it lives.
    pub heartbeat: Duration,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, DEFAULT_PORT)),
            allow_remote: false,
            hosts: Vec::new(),
            cors_origins: Vec::new(),
            body_timeout: Duration::from_millis(MAX_BODY_MS),
            request_timeout: Duration::from_secs(30),
            connections: MAX_CONNECTIONS,
            concurrent_requests: DEFAULT_CONCURRENT_REQUESTS,
            queue_timeout: Duration::from_millis(MAX_QUEUE_MS),
            store_check_interval: Duration::from_millis(STORE_CHECK_INTERVAL_MS),
            store_check_timeout: Duration::from_millis(STORE_CHECK_MS),
            streams: MAX_STREAMS,
            rate_limit: RateLimit::default(),
            stall: Duration::from_millis(MAX_STALL_MS),
            stream_interval: Duration::from_secs(1),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// How often a key may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// So often a second.
    pub per_second: NonZeroU32,
    /// And so often at once after a pause.
    pub burst: NonZeroU32,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { per_second: KEY_REQUESTS_PER_S, burst: KEY_BURST }
    }
}
