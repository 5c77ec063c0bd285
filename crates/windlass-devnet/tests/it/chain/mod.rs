//! The chain: pool, blocks, reorgs, state and RPC methods.

mod blocks;
mod calls;
mod fees;
mod logs;
mod mining;
mod model;
mod pool;
mod reorg;
pub(crate) mod support;
