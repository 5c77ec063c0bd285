//! `windlass vault`, as a person uses it: every verb with the real binary.

mod anvil_vault;
mod calldata;
mod cancel;
mod deploy;
mod dry_run;
mod help;
mod native;
mod refusals;
mod roles;
mod sending;
mod show;
mod timelock;
mod tokens;
mod world;
