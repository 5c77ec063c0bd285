//! The conformance suite: what every store must do, one case per rule.
//!
//! A store crate brings a [`Harness`](crate::harness::Harness) and calls
//! [`conformance!`](crate::conformance!) with a future that makes one; every case
//! becomes a test of its own on a fresh database.
//!
//! New lanes of one call are named in ascending order throughout: the contract
//! does not say in which order a store numbers lanes that it creates together.

#![expect(missing_docs, reason = "the name of a case says what it asserts")]

pub mod atomic;
pub mod audit_log;
pub mod batches;
mod cases;
pub mod claim;
pub mod column_indexes;
pub mod complete;
pub mod crash;
pub mod cursors;
pub mod delivery;
pub mod door;
pub mod drained;
pub mod enqueue;
pub mod events;
pub mod fail;
pub mod instances;
pub mod job_list;
pub mod leases;
pub mod messages;
pub mod payout_search;
pub mod payouts;
mod picture;
pub mod publish;
pub mod questions;
pub mod races;
pub mod ranges;
pub mod replace;
pub mod restart;
pub mod rows;
pub mod sql;
pub mod sql_guard;
pub mod sql_views;
pub mod sums;
mod support;
pub mod tables;
pub mod time;
pub mod transactions;
pub mod transcript;
