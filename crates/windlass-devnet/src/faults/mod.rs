//! Faults on demand: what goes wrong between a node and its clients.
//!
//! A [`Plan`] says which faults befall which share of the calls of which method; it
//! reads and prints as one line (`429=0.1,latency=20ms,reset=0.01@eth_getLogs`).
//! [`Faults`] holds the plan in force and draws, for every call that the transport
//! takes in, a fate: how long to wait, how to break the connection, how to twist the
//! answer. The draw depends on nothing but the seed and the call's number; only a rate
//! limit depends on the clock. The devnet's own methods (`windlass_…`) are spared.
//!
//! Invariant: [`Faults::counts`] counts what a client could have noticed, not what
//! was drawn: an answer that would have been null anyway is no null receipt.

mod answer;
mod bucket;
mod counts;
mod fate;
mod handle;
mod lag;
mod lie;
mod limit;
mod parse;
mod plan;
mod print;
mod provider;
mod range_refusal;
mod rate;
mod request;
mod share;
mod wording;

pub use counts::{Counts, Kind};
pub(crate) use fate::{Answer, Fate, WireFault};
pub use handle::Faults;
pub use lie::Lie;
pub use parse::{PlanError, Problem};
pub use plan::{
    DEFAULT_HOLD_MS, DEFAULT_RETRY_AFTER_S, Fault, MAX_HOLD_MS, MAX_LATENCY_MS, MAX_NODES, MAX_RATE,
    MAX_RETRY_AFTER_S, MAX_RULES, Plan, RateRefusal, Rule, UnknownHash,
};
pub use provider::Provider;
pub use range_refusal::RangeRefusal;
pub use share::Share;
