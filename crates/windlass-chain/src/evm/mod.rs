//! EVM chains over JSON-RPC.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`client`], `batch` | [`EvmRpc`]: the methods of one endpoint, one call each or many headers in one message |
//! | [`reader`] | [`EvmReader`]: an endpoint behind the core's port, its answers checked |
//! | `check` | whether logs are what was asked for |
//! | `block_logs` | the logs of one block, also from endpoints that do not take its hash |
//! | `hash_question` | learning whether an endpoint takes it |
//! | `learn` | how many blocks to ask for next |
//! | `endpoint` | the URL, and what of it may be shown |
//! | `scrub` | taking its keys out of what a provider says |
//! | `transport`, `ws` | messages over HTTP or a WebSocket, bounded in time and size; [`EvmHeads`] |
//! | `envelope` | JSON-RPC's request and answer |
//! | [`error`] | [`RpcError`]: what went wrong, whether and when to try again |
//! | [`range_limit`], `range_probe` | what providers say when a log range is too large, and finding out where they do not |
//! | [`header`], [`log`], `receipt` | blocks, logs and receipts, read without a detour |
//! | `transaction` | calls, sending and following transactions: the port to submit through |
//! | `hex` | hexadecimal to fixed arrays |

mod anchor;
mod batch;
mod block_logs;
mod check;
pub mod client;
mod endpoint;
mod envelope;
pub mod error;
mod hash_question;
mod header;
mod hex;
mod learn;
pub mod log;
mod log_list;
pub mod pool;
pub mod range_limit;
mod range_probe;
pub mod reader;
mod receipt;
mod scrub;
mod transaction;
mod transport;
pub mod ws;

pub use batch::{MAX_BATCH_CALLS, MAX_MESSAGES_AT_ONCE};
pub use client::EvmRpc;
pub use endpoint::{parse_url, redacted};
pub use error::RpcError;
pub use learn::{LearnOptions, Learned, MAX_LESSONS};
pub use log::RpcLog;
pub use pool::{EndpointStatus, EvmPool, MAX_TRIES, PoolOptions};
pub use range_limit::{RangeAdvice, RangeLimit};
pub use reader::EvmReader;
pub use transport::{MAX_BODY_BYTES, MAX_RANGE_BODY_BYTES, MAX_SMALL_BODY_BYTES, REQUEST_TIMEOUT};
pub use ws::heads::{EvmHeads, HeadsOptions};
