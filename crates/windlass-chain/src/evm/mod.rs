//! A lean JSON-RPC client for EVM nodes.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`client`] | [`EvmRpc`]: the methods, one call each |
//! | `endpoint` | the URL, what of it may be shown, and scrubbing it from texts |
//! | `transport` | one POST, bounded in time and size |
//! | `envelope` | JSON-RPC's request and answer |
//! | [`error`] | [`RpcError`]: what went wrong, whether and when to try again |
//! | [`range_limit`] | what providers say when a log range is too large |
//! | [`header`], [`log`] | blocks and logs, read without a detour |
//! | [`reader`] | an endpoint behind the core's port |
//! | `hex` | hexadecimal to fixed arrays |

pub mod client;
mod endpoint;
mod envelope;
pub mod error;
mod header;
mod hex;
pub mod log;
pub mod range_limit;
pub mod reader;
mod transport;

pub use client::EvmRpc;
pub use endpoint::redacted;
pub use error::RpcError;
pub use log::RpcLog;
pub use range_limit::RangeAdvice;
pub use reader::EvmReader;
pub use transport::{MAX_BODY_BYTES, REQUEST_TIMEOUT};
