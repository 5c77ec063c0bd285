//! An EVM chain in one process, with faults on demand, for the demo, the tests and the benchmarks.
//!
//! ```text
//! rpc (HTTP, WebSocket) ─► faults ─► node ◄─ chain      a real EVM chain on revm, in memory
//!                                         ◄─ synthetic  generated logs, fast enough to be a benchmark's chain
//! ```
//!
//! [`node`] is the seam: whatever implements [`node::Node`] can be put behind the transport.

#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test may panic"))]

pub mod chain;
pub mod faults;
mod filter;
mod mix;
pub mod node;
pub mod rpc;
pub mod synthetic;
