//! The binary, run as a person runs it. What it prints is kept in snapshots.

mod anvil_devnet;
mod binary;
mod collect;
mod completions;
mod config;
mod daemon;
mod demo;
mod devnet;
mod doctor;
mod explain;
mod help;
mod init;
mod jobs;
mod pay;
mod sql;
mod usage;
mod vault;
mod version;
