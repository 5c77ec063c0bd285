//! What holds the stores to their contract, and what tests of other crates share.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`clock`] | a clock that tests set |
//! | [`foundry`] | anvil and cast, from the paths in the environment |
//! | [`delegate_payouts`] | for wrappers around a store that leave payouts alone |
//! | [`harness`] | what a store brings so that the suite can run against it |
//! | [`hooked`] | a store behind a hook, for kills and lost answers at every write |
//! | [`make`] | short ways to say names, jobs, messages, logs |
//! | [`conformance`] | the suite: one case per rule, one macro that makes tests of them |
//! | [`model`] | the contract as a reference model in memory |
//! | [`model_store`] | the model behind the store ports |
//! | [`script`] | random scripts run against a store and the model side by side |
//! | [`planted`] | stores with one rule broken on purpose, which the scripts must find out |
//! | [`processes`] | many processes on one database, some of them killed |

pub mod clock;
pub mod conformance;
mod delegate;
pub mod foundry;
pub mod harness;
pub mod hooked;
pub mod make;
pub mod model;
pub mod model_store;
pub mod planted;
pub mod processes;
pub mod script;
