//! Payouts: what is asked for, where it stands, whether it may be made.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`request`] | what is asked for, under which key, and the ids derived from it |
//! | [`memo`] | what a client notes on it for its own books |
//! | [`partial_id`] | its id as people give it, whole or shortened |
//! | [`state`] | where a payout stands, and the only ways on |
//! | [`risk`] | whether it may be made |
//! | [`risk_report`] | what each rule says of it, with headroom |
//! | [`day`] | the days of a budget |
//! | [`fees`] | what a transaction offers for its gas |
//! | [`gas`] | whether an account can pay for gas |
//! | [`ledger`] | what is kept: rows with versions |
//! | [`store`] | the port to what is kept |
//! | [`desk`] | the port to where payouts are asked for and approved |
//! | [`transaction`] | a transaction, its bytes, and reading them back |
//! | [`vault`] | the contract that pays: calls, answers, refusals, events |
//! | [`signer`] | the port to whoever signs |
//! | [`submit`] | the port through which transactions reach a chain |
//! | [`audit`] | a log in which nothing can be changed unseen |

pub mod audit;
pub mod day;
mod decimal;
pub mod desk;
pub mod fees;
pub mod gas;
pub mod ledger;
pub mod memo;
pub mod partial_id;
pub mod request;
pub mod risk;
pub mod risk_report;
pub mod signer;
pub mod state;
pub mod store;
pub mod submit;
pub mod transaction;
pub mod vault;
