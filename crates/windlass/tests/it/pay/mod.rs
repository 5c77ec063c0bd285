//! Payouts, by the binary: asked for, approved, paid by a running process, and looked at.

mod access;
mod audit;
mod batch;
mod http;
mod init;
mod life;
mod operator;
mod rules;
mod signer;
mod tampering;
mod tutorial;
mod world;
