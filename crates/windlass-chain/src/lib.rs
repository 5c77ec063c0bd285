//! Adapters to chains.
//!
//! [`evm`] speaks JSON-RPC to EVM nodes over HTTP and WebSockets. Answers are read
//! straight into the core's types; errors say whether and when to try again. An endpoint
//! is never asked the same twice for one question, though a pool asks another: when to
//! ask again is the loops' decision. [`signer`] holds or reaches private keys.

pub mod evm;
pub mod signer;
