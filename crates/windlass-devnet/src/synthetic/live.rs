//! A synthetic chain that lives: blocks appear one by one, and the newest can be
//! replaced by another branch.
//!
//! Everything about a block is made before it can be seen, as on a real node: what a
//! client waits for from then on is its own work and the wire.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use alloy_primitives::B256;
use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::broadcast;

use super::{node::SyntheticNode, options::SyntheticOptions};
use crate::node::{Announcement, MAX_ANNOUNCEMENTS, Node, RpcError};

/// A chain whose head moves on demand.
#[derive(Debug)]
pub struct LiveNode {
    /// The chain as it is now; a reorg puts another in its place.
    now: RwLock<Arc<SyntheticNode>>,
    announcements: broadcast::Sender<Arc<Announcement>>,
}

/// A head that has just become visible.
#[derive(Debug, Clone, Copy)]
pub struct NewHead {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: B256,
    /// The last moment at which nobody could see it.
    pub since: Instant,
}

impl LiveNode {
    /// A chain with this shape, to begin with.
    pub fn new(options: SyntheticOptions) -> Self {
        let now = RwLock::new(Arc::new(SyntheticNode::new(options)));
        Self { now, announcements: broadcast::channel(MAX_ANNOUNCEMENTS).0 }
    }

    /// The chain as it is now.
    pub fn now(&self) -> Arc<SyntheticNode> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a block and announces it.
    pub fn append(&self) -> NewHead {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let number = now.head() + 1;
        let options = SyntheticOptions { blocks: number, ..now.options().clone() };
        self.replace(&mut now, options, number)
    }

    /// Replaces the newest blocks, this many, by a branch that is one block longer.
    pub fn reorganise(&self, depth: u64) -> NewHead {
        let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
        let from_block = now.head() + 1 - depth.min(now.head());
        let longer = SyntheticOptions { blocks: now.head() + 1, ..now.options().clone() };
        self.replace(&mut now, longer.forked(from_block), from_block)
    }
}
