//! From when on a block is final.

use serde::{Deserialize, Serialize};

/// Which blocks are taken for final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finality {
    /// Those that the chain calls finalized.
    #[default]
    Finalized,
    /// Those that the chain calls safe.
    Safe,
    /// Those with so many blocks on top.
    Depth(u64),
}
