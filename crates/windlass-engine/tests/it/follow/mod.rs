//! The follower: after any script of mining, reorgs, faults, crashes and
//! take-overs, the store equals the chain.

mod scenes;
mod simulation;
mod sleepy;
mod world;
