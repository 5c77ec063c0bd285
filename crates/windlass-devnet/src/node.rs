//! The seam between a chain and the wire.
//!
//! A [`Node`] answers JSON-RPC calls from memory and announces what happened;
//! the transport in `rpc` carries both over HTTP and WebSocket, and `faults`
//! stands between the two. The real chain and the synthetic one are both nodes.

use std::sync::Arc;

use alloy_rpc_types_eth::Log;
use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

/// How many announcements a slow subscriber may fall behind before it is cut off.
pub const MAX_ANNOUNCEMENTS: usize = 4_096;

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
pub struct CallRef<'a> {
    /// The method.
    pub method: &'a str,
    /// The parameters as they were sent.
    pub params: Option<&'a RawValue>,
}

/// Answers JSON-RPC calls from memory; never blocks for long.
pub trait Node: Send + Sync + 'static {
    /// Answers one call. The answer is the serialised `result`, so that a node
    /// with millions of logs can write bytes without building values.
    fn call(&self, method: &str, params: Option<&RawValue>) -> Result<Bytes, RpcError>;

    /// Follows what happens on the chain, for `eth_subscribe`.
    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>>;
}

/// One change of the canonical chain: first what left it, then what joined it.
#[derive(Debug, Clone, Default)]
pub struct Announcement {
    /// Headers that joined, oldest first, as serialised RPC headers (for `newHeads`).
    pub heads: Vec<Bytes>,
    /// Logs that left (`removed: true`, newest block first), then logs that joined, in order.
    pub logs: Vec<Log>,
}

/// A JSON-RPC error as the client sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message} (code {code})")]
pub struct RpcError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The words, those of geth where geth has some.
    pub message: String,
    /// Revert data and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<serde_json::Value>,
}

impl RpcError {
    /// An error with a code and words.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The method is not offered.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(-32601, format!("the method {method} does not exist/is not available"))
    }

    /// The parameters do not fit the method.
    pub fn invalid_params(detail: impl std::fmt::Display) -> Self {
        Self::new(-32602, format!("invalid params: {detail}"))
    }

    /// A refusal by the node, with geth's general code.
    pub fn server(message: impl Into<String>) -> Self {
        Self::new(-32000, message)
    }
}
