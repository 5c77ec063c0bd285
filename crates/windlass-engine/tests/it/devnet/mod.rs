//! Collecting from the devnet over HTTP: a real client, real faults on the wire.

mod audit;
mod lies;
mod scenes;
mod simulation;
mod sleepy;
mod world;
