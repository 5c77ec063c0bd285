//! Collect: what happens on a chain, stored exactly once in effect.
//!
//! | file | what it holds |
//! | --- | --- |
//! | [`chain`] | one chain: what its loops share |
//! | [`catalog`] | the sources that this process knows |
//! | [`children`] | the contracts that factories have created |
//! | [`head`] | follows the head block by block, survives reorgs, keeps the plan |
//! | [`backfill`] | goes over the past in leased ranges |
//! | [`audit`] | proves that nothing is missing, extra or altered |
//! | `block_logs` | what an answer about one block must be |
//! | [`verify`] | verifies what was backfilled, in the background |
//! | [`counts`] | what became of ranges, for whoever counts |
//! | [`sight`] | where a chain stands |
//! | [`health`] | how collecting a chain goes |
//! | [`deployment`] | where a contract came to be |
//! | [`names`] | under which names all this is stored |
//! | [`ledger`] | the plan and the cursors as they stand in the store |
//! | [`compare`] | what is stored against what the chain says |
//! | [`finality_wait`] | how long what is final waits for endpoints that are not heard |
//! | [`rewind`], `rewind_target` | an operator's way back, and how far it goes |
//! | `routing` | what sorts logs into tables |
//! | `same_chain` | whether the endpoints still serve the chain that is stored |
//! | `evidence` | whether what is stored of a block stays |
//! | [`doubts`] | blocks that nobody can tell about, kept to be asked about again |
//! | `resolve` | settles blocks that an answer contradicts |
//! | `mend` | how a block is collected anew |
//! | `misfit_log` | one log line for many logs that do not fit their event |
//! | `persist` | writes that outlast passing trouble |
//!
//! Invariants: one worker at a time follows a chain's head and changes its plan,
//! under a lease; a range's rows and the end of its job are one commit, and so are
//! a block's rows, its header and the head's cursor.

pub mod audit;
pub mod backfill;
mod block_logs;
mod blooms;
pub mod catalog;
pub mod chain;
pub mod children;
pub mod compare;
pub mod counts;
pub mod deployment;
pub mod doubts;
pub mod error;
mod evidence;
pub mod finality_wait;
pub mod head;
pub mod health;
pub mod ledger;
mod mend;
mod misfit_log;
pub mod names;
mod persist;
mod reread;
mod resolve;
pub mod rewind;
mod rewind_target;
mod routing;
mod same_chain;
pub mod sight;
pub mod verify;
