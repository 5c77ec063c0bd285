//! Transactions through the port: made, sent, followed; the vault by them.

mod answers;
mod devnet;
mod faults;
pub(crate) mod payer;
pub(crate) mod vault;
