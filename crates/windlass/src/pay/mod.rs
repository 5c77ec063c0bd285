//! Paying, put together: from the configuration to a desk, accounts and loops.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`tokens`] | tokens by symbol or address, and amounts of them |
//! | [`rules`] | what may be paid, and how many have to say yes |
//! | [`risk_file`] | a `risk.json` |
//! | [`rule_names`] | the names of rules in what people read |
//! | [`options`] | everything that the engine wants to know |
//! | [`keys`] | signers, opened |
//! | [`known_chain`] | whether the endpoints serve the chain on which payouts were made |
//! | [`log_key`] | whether the audit log's key is the right one |
//! | [`paying`] | all of it together |
//! | [`caller`] | who gives a command, and what they may |
//! | [`find`] | a payout by its id, whole or shortened |
//! | [`refused`] | rows that a list leaves out |
//! | [`session`] | a command's store, caller and desk |
//! | [`health`], [`metrics`] | how it goes, for `/readyz` and in numbers |
//! | [`movements`] | payouts as they move, in the log
//! | [`unattended`] | payouts of a vault that no process pays from |
//! | [`view`] | payouts as commands show them |

pub(crate) mod caller;
pub(crate) mod find;
pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod known_chain;
pub(crate) mod log_key;
pub(crate) mod metrics;
pub(crate) mod movements;
pub(crate) mod options;
pub(crate) mod paying;
pub(crate) mod refused;
pub(crate) mod risk_file;
pub(crate) mod rule_names;
pub(crate) mod rules;
pub(crate) mod session;
pub(crate) mod tokens;
pub(crate) mod unattended;
pub(crate) mod view;
