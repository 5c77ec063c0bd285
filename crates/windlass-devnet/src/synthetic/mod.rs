//! A chain of any length that needs no memory: every block, hash and log is
//! computed from its number and a seed when somebody asks for it.
//!
//! [`SyntheticNode`] is a [`Node`](crate::node::Node) like the real chain, so the
//! transport and the faults serve it unchanged. It exists to be faster than any
//! client: `eth_getLogs` writes its JSON straight into a pooled buffer, by copying
//! a template and patching the few digits that differ from log to log.
//!
//! Invariants: the same options give the same bytes, always; every hash can be
//! traced back to its block; what [`SyntheticNode::log`] says is what the wire says.
//! Hashes are made up, not derived from the header, and there is no state.
//! A [`LiveNode`] is such a chain whose head moves and whose newest blocks change.

mod block;
mod fork;
mod generator;
mod hex;
mod live;
mod logs;
mod node;
mod options;
mod pool;
mod query;
mod recent;
mod template;
#[cfg(test)]
mod tests;
mod transaction;

pub use fork::Fork;
pub use generator::SyntheticLog;
pub use live::{LiveNode, NewHead};
pub use node::SyntheticNode;
pub use options::{Density, FEES_COLLECTED_TOPIC, MAX_RESULTS, SyntheticOptions};
