//! A lean JSON-RPC client for EVM nodes.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`client`] | [`EvmRpc`]: the methods, one call each |
//! | `endpoint` | the URL, and what of it may be shown |
//! | `scrub` | taking its keys out of what a provider says |
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
mod scrub;
mod transport;

pub use client::EvmRpc;
pub use endpoint::{parse_url, redacted};
pub use error::RpcError;
pub use log::RpcLog;
pub use range_limit::RangeAdvice;
pub use reader::EvmReader;
pub use transport::{MAX_BODY_BYTES, MAX_SMALL_BODY_BYTES, REQUEST_TIMEOUT};
