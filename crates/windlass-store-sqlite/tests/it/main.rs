//! The SQLite store from outside: the suite that every store passes, random
//! scripts against the model, many processes on one file, and files in trouble.

// Random scripts print how often each kind of fault really happened.
#![allow(clippy::print_stdout)]

mod instances;
mod lost_jobs;
mod payouts;
mod processes;
mod sqlite_file;
mod sqlite_memory;
mod tables;
mod trouble;
