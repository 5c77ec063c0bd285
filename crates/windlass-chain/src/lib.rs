//! Adapters to chains.
//!
//! [`evm`] speaks JSON-RPC to EVM nodes over HTTP. Answers are read straight
//! into the core's types; errors say whether and when to try again. No retrying
//! happens here: that is the loops' decision.

pub mod evm;
