//! The loops against a real chain, real stores and faults.

// Simulations print how often each kind of fault really happened.
#![allow(clippy::print_stdout)]

mod anvil_collect;
mod cases;
mod collect;
mod database;
mod devnet;
mod pay;
mod table_indexes;
