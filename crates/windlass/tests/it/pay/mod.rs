//! Payouts, by the binary: asked for, approved, paid by a running process, and looked at.

mod access;
mod audit;
mod batch;
mod exports;
mod headroom;
mod http;
mod init;
mod life;
mod moved;
mod native;
mod operator;
mod rules;
mod same_json;
mod short_ids;
mod signer;
mod standstill;
mod tampering;
mod tutorial;
mod world;
