//! Each fault as a client meets it, and counted.

mod answers;
mod control;
mod lag;
mod lies;
mod limits;
mod plan;
mod ranges;
mod rates;
mod wire;
