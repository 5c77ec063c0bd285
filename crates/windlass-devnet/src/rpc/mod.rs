//! The wire: JSON-RPC 2.0 over HTTP and WebSocket, on one port.
//!
//! ```text
//! listener ─► connection ─► door ─► http ─┐                       ┌─► faults ─► node
//!                (wire)                   ├─► envelope ─► dispatch┤
//!                                   ws  ──┘       reply ◄─────────┘
//! ```
//!
//! Requests are read in place: parameters stay the text that was sent until the node
//! looks at them, and a node's answer goes out as the bytes that it wrote. Limits and
//! words are those of geth where geth has some.

mod connection;
mod counters;
mod dev;
mod dispatch;
mod door;
mod envelope;
mod http;
mod listener;
pub(crate) mod params;
mod reply;
mod server;
mod subscriptions;
mod wire;
pub(crate) mod words;
mod ws;

pub use connection::MAX_IDLE_MS;
pub use dispatch::MAX_HEAVY_CALLS;
pub use envelope::MAX_BATCH_CALLS;
pub use http::{MAX_BODY_BYTES, MAX_BODY_READ_MS};
pub use listener::MAX_CONNECTIONS;
pub use reply::MAX_BATCH_REPLY_BYTES;
pub use server::{Observer, Server, ServerError, ServerHandle, ServerOptions};
pub use subscriptions::MAX_SUBSCRIPTIONS;
