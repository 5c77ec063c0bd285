//! Collecting a contract with the binary, as a person does it.

mod audit;
mod config_check;
mod dead_range;
mod deployment;
mod doctor;
mod drop;
mod export;
mod export_target;
mod factory;
mod gate;
mod health;
pub(crate) mod http;
mod index;
mod init;
mod misfits;
mod postgres_drop;
mod postgres_health;
mod postgres_kills;
mod postgres_verbs;
mod progress;
mod restart;
mod run;
mod terminal;
mod tls;
mod unreachable;
mod verify;
pub(crate) mod world;
