//! Collect: what happens on a chain, stored exactly once in effect.
//!
//! [`follow`] walks from block to block behind the head, by parent links, and
//! commits each block's logs together with the cursor, under a lease that one
//! worker per chain holds. A reorg walks back to the common ancestor and takes
//! back what stood above it in one commit.

mod ancestor;
pub mod follow;
