//! Collecting a contract with the binary, as a person does it.

mod doctor;
mod export;
mod http;
mod index;
mod init;
mod postgres_kills;
mod postgres_verbs;
mod run;
pub(crate) mod world;
