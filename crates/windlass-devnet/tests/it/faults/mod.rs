//! Each fault as a client meets it, and counted.

mod answers;
mod lag;
mod limits;
mod plan;
mod wire;
