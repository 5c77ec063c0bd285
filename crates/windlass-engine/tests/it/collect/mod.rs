//! Collecting as a whole: after any script of blocks, reorgs, faults, changes of
//! mind, restarts and kills, the tables equal the chain.

mod chain;
mod endpoint;
mod scenes;
mod simulation;
mod world;
