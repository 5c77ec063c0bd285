//! The devnet seen from outside, over loopback.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod chain;
mod client;
mod clients;
mod faults;
mod rpc;
mod synthetic;
