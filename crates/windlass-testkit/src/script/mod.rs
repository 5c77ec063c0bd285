//! Random scripts, run against a store and the model side by side.
//!
//! A script is a list of steps ([`op`]) drawn from a seed: calls, time that jumps
//! both ways, handles that are lost, workers that die before they hear an answer,
//! tickets that are long out of date. Each step becomes a call ([`plan`]), is put
//! to both ([`ask`]), and the answers must be the same but for the numbers of
//! lanes ([`lanes`]). What was met is counted; a run that never met what its
//! profile claims to withstand fails.

mod answer;
mod ask;
mod call;
mod compare;
mod lanes;
mod op;
mod plan;
mod profile;
mod run;
mod tables;
mod transcript;
mod world;

pub use profile::{JobScript, LeaseScript, OutboxScript, Profile, TableScript, WholeScript};
pub use run::{Budget, Report, SEED_VARIABLE, SOAK_VARIABLE, check, run, search};
pub use transcript::{digest, fixed_script};
