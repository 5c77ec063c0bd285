//! The wire: JSON-RPC 2.0 over HTTP and WebSocket, on one port.
//!
//! ```text
//! listener ─► http ─┐                       ┌─► faults ─► node
//!                   ├─► envelope ─► dispatch┤
//!             ws  ──┘       reply ◄─────────┘
//! ```
//!
//! Requests are read in place: parameters stay the text that was sent until the node
//! looks at them, and a node's answer goes out as the bytes that it wrote. Limits and
//! words are those of geth where geth has some.

mod counters;
mod dispatch;
mod envelope;
mod http;
mod listener;
pub(crate) mod params;
mod reply;
mod server;
mod subscriptions;
mod ws;

pub use envelope::MAX_BATCH_CALLS;
pub use http::MAX_BODY_BYTES;
pub use reply::MAX_BATCH_REPLY_BYTES;
pub use server::{Server, ServerError, ServerHandle, ServerOptions};
pub use subscriptions::MAX_SUBSCRIPTIONS;
