//! The loops. Each has the same shape: options, a `step` that does one unit of
//! work and says what it did, and `run(shutdown)` that steps until it is told to
//! stop. Tests and simulations call `step`; nothing in here sleeps to be correct.
//!
//! | folder | what it holds |
//! | --- | --- |
//! | [`collect`] | follows the head of a chain and stores its logs |
//! | [`pay`] | pays out, at most once |
//! | [`table_indexes`] | keeps the indexes of tables as they are wanted |
//! | [`upkeep`] | keeps the store small |
//! | `pace` | from step to step: pauses, backoff, the end |
//! | [`supervise`] | runs tasks together: one fails or panics, all end |

pub mod collect;
mod pace;
pub mod pay;
pub mod supervise;
pub mod table_indexes;
pub mod upkeep;
