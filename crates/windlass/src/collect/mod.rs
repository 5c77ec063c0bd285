//! Collecting, from the user's side: from `[index.…]` to running loops, and how far
//! they are.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`draft`] | an index as it is configured, its events read |
//! | [`endpoints`] | a chain's endpoints, ready to be asked |
//! | [`preflight`], [`hurdle`] | what is checked before anything is written, and what may stand in the way |
//! | [`retry`] | asks again what endpoints refuse in passing |
//! | [`change`] | whether what is configured fits what is stored |
//! | [`sample`] | which events a contract's first logs are of |
//! | [`prepare`] | tables, first blocks, and what the loops run on |
//! | [`drop`] | takes away what was collected |
//! | [`ledger`] | a chain's plan as it stands in the store |
//! | [`learned`] | what was learned of endpoints outlasts the process |
//! | [`progress`] | how far everything is: one read model for all who ask |
//! | [`metrics`], [`metered`] | the same in numbers |
//! | [`view`] | the same on a terminal, or in the log |

pub(crate) mod change;
pub(crate) mod draft;
pub(crate) mod drop;
pub(crate) mod endpoints;
pub(crate) mod hurdle;
pub(crate) mod learned;
pub(crate) mod ledger;
pub(crate) mod metered;
pub(crate) mod metrics;
pub(crate) mod preflight;
pub(crate) mod prepare;
pub(crate) mod progress;
pub(crate) mod retry;
pub(crate) mod sample;
pub(crate) mod view;
