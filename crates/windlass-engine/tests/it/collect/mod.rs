//! Collecting as a whole: after any script of blocks, reorgs, faults, changes of
//! mind, restarts and kills, the tables equal the chain.

pub(crate) mod chain;
mod damage;
pub(crate) mod endpoint;
mod postgres_simulation;
mod simulation;
mod world;
