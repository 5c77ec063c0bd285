//! A synthetic chain that lives: blocks appear one by one, and the newest can be
//! replaced by another branch.
//!
//! Everything about a block is made before it can be seen, as on a real node: what a
//! client waits for from then on is its own work and the wire.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
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
    /// Held while the head moves: calls go on meanwhile.
    moving: Mutex<()>,
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
        Self { now, moving: Mutex::new(()), announcements: broadcast::channel(MAX_ANNOUNCEMENTS).0 }
    }

    /// The chain as it is now.
    pub fn now(&self) -> Arc<SyntheticNode> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a block and announces it.
    pub fn append(&self) -> NewHead {
        let _alone = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.now();
        let number = now.head() + 1;
        let announcement = now.joined(number, number);
        let since = Instant::now();
        now.set_head(number);
        self.announce(announcement);
        NewHead { number, hash: now.block_hash(number), since }
    }

    /// Replaces the newest blocks, this many, by a branch that is one block longer,
    /// and announces what left and what joined.
    pub fn reorganise(&self, depth: u64) -> NewHead {
        let _alone = self.moving.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.now();
        let (from_block, number) = (old.head() + 1 - depth.min(old.head()), old.head() + 1);
        let new = old.forked(from_block, number);
        let mut announcement = new.joined(from_block, number);
        let mut logs = old.left(from_block, old.head());
        logs.append(&mut announcement.logs);
        announcement.logs = logs;
        let hash = new.block_hash(number);
        let since = Instant::now();
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        self.announce(announcement);
        NewHead { number, hash, since }
    }

    fn announce(&self, announcement: Announcement) {
        // An error means that nobody has subscribed.
        let _ = self.announcements.send(Arc::new(announcement));
    }
}

impl Node for LiveNode {
    fn call(&self, method: &str, params: Option<&RawValue>) -> Result<Bytes, RpcError> {
        self.now().call(method, params)
    }

    fn announcements(&self) -> broadcast::Receiver<Arc<Announcement>> {
        self.announcements.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use alloy_rpc_types_eth::{Block, Log};
    use serde::de::DeserializeOwned;
    use serde_json::{Value, json, value::to_raw_value};

    use super::*;
    use crate::synthetic::{Density, SyntheticLog};

    const HEAD: u64 = 50;

    fn live() -> LiveNode {
        let density = Density::PerBlock(3);
        LiveNode::new(SyntheticOptions { density, blocks: HEAD, ..SyntheticOptions::default() })
    }

    fn ask<T: DeserializeOwned>(node: &LiveNode, method: &str, params: Value) -> T {
        let params = to_raw_value(&params).unwrap();
        serde_json::from_slice(&node.call(method, Some(&params)).unwrap()).unwrap()
    }

    fn block(node: &LiveNode, tag: &str) -> Block {
        ask::<Option<Block>>(node, "eth_getBlockByNumber", json!([tag, false])).unwrap()
    }

    fn assert_linked(node: &LiveNode) {
        let mut parent = B256::ZERO;
        for number in 0..=node.now().head() {
            let header = block(node, &format!("{number:#x}")).header;
            assert_eq!(header.inner.parent_hash, parent, "of block {number}");
            parent = header.hash;
        }
    }

    /// Every log on the wire is what the fields say.
    fn assert_logs(node: &LiveNode) {
        let wire: Vec<Log> = ask(node, "eth_getLogs", json!([{"fromBlock": "0x0", "toBlock": "latest"}]));
        let now = node.now();
        let truth: Vec<SyntheticLog> = (0..now.log_count()).map(|log| now.log(log)).collect();
        let told = |log: &Log| (log.block_hash, log.log_index, log.transaction_hash);
        let meant =
            |log: &SyntheticLog| (Some(log.block_hash), Some(log.log_index), Some(log.transaction_hash));
        assert_eq!(wire.iter().map(told).collect::<Vec<_>>(), truth.iter().map(meant).collect::<Vec<_>>());
    }

    #[test]
    fn a_block_that_is_added_is_seen_and_announced() {
        let node = live();
        let mut announcements = node.announcements();
        let head = node.append();
        assert_eq!((head.number, head.hash), (HEAD + 1, block(&node, "latest").header.hash));
        let told = announcements.try_recv().unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&told.heads[0]).unwrap()["hash"], json!(head.hash));
        assert_eq!(told.logs.len(), 3);
        assert_linked(&node);
        assert_logs(&node);
    }

    #[test]
    fn the_newest_block_is_served_by_number_hash_and_range() {
        let node = live();
        for depth in [0, 0, 2, 0] {
            let head = if depth == 0 { node.append() } else { node.reorganise(depth) };
            let tag = format!("{:#x}", head.number);
            assert_eq!(block(&node, &tag), block(&node, "latest"));
            assert_eq!(block(&node, &tag).header.hash, head.hash);
            let by_hash: Vec<Log> = ask(&node, "eth_getLogs", json!([{"blockHash": head.hash}]));
            let by_range: Vec<Log> = ask(&node, "eth_getLogs", json!([{"fromBlock": tag, "toBlock": tag}]));
            assert_eq!((by_hash.len(), &by_hash), (3, &by_range));
            assert!(by_hash.iter().all(|log| log.block_hash == Some(head.hash)));
        }
    }

    #[test]
    fn a_reorg_replaces_the_newest_blocks_and_nothing_else() {
        let node = live();
        let (kept, left) = (node.now().block_hash(HEAD - 2), node.now().block_hash(HEAD - 1));
        let mut announcements = node.announcements();
        let head = node.reorganise(2);
        assert_eq!(head.number, HEAD + 1);
        assert_eq!(node.now().block_hash(HEAD - 2), kept);
        assert_ne!(node.now().block_hash(HEAD - 1), left);
        assert_eq!(ask::<Option<Block>>(&node, "eth_getBlockByHash", json!([left, false])), None);
        let told = announcements.try_recv().unwrap();
        let removed: Vec<u64> =
            told.logs.iter().filter(|log| log.removed).filter_map(|log| log.block_number).collect();
        assert_eq!(removed, [HEAD, HEAD, HEAD, HEAD - 1, HEAD - 1, HEAD - 1]);
        assert_eq!((told.heads.len(), told.logs.len()), (3, 6 + 9));
        assert_linked(&node);
        assert_logs(&node);
    }

    #[test]
    fn reorgs_may_follow_each_other() {
        let node = live();
        let mut heads = vec![node.now().block_hash(HEAD)];
        for depth in [3, 1, 5, 200, 2] {
            node.append();
            heads.push(node.reorganise(depth).hash);
            assert_linked(&node);
            assert_logs(&node);
        }
        heads.sort_unstable();
        heads.dedup();
        assert_eq!(heads.len(), 6);
    }
}
