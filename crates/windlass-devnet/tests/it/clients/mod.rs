//! The devnet before clients nobody here wrote: anvil as a second chain, cast and alloy as callers.
//!
//! What needs Foundry's programs has `anvil_` in its path, so that it can be left out by name.

mod alloy;
mod anvil_cast;
mod anvil_differential;
mod contracts;
mod faulty_chain;
mod peer;
mod served;
