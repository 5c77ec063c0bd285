//! Setting up a vault and its rules, by those who may: from what was typed to a transaction.
//!
//! ```text
//! typed ─► planned call ─┬─► --dry-run: decoded, tried, shown
//!                        ├─► --calldata: a file for a Safe
//!                        └─► tried ─► signed ─► its hash said ─► sent ─► its receipt
//! ```
//!
//! Nothing is sent that would be reverted now, nothing before its hash was said, and nothing
//! from an account whose nonces belong to paying.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`artifact`] | the contract that this binary carries |
//! | [`site`] | the chain, the vault, and questions to it |
//! | [`account`] | who sends |
//! | [`amount`] | tokens and amounts as people write them |
//! | [`plan`] | a transaction in words, before it is one |
//! | [`trial`] | what would become of it |
//! | [`send`] | signing, sending, waiting |
//! | [`safe`] | a file that a Safe's Transaction Builder imports |
//! | [`act`] | one of the three ways above |
//! | [`announced`] | what waits for its time |
//! | [`cancelled`] | which request is cancelled |
//! | [`deploy`] | a new vault |
//! | [`show`] | everything that there is to know of one |

pub(crate) mod account;
pub(crate) mod act;
pub(crate) mod amount;
pub(crate) mod announced;
pub(crate) mod artifact;
pub(crate) mod cancelled;
pub(crate) mod deploy;
pub(crate) mod plan;
pub(crate) mod safe;
pub(crate) mod send;
pub(crate) mod show;
pub(crate) mod site;
pub(crate) mod trial;
