//! Who has which block, and who is asked about heads.

use std::collections::VecDeque;

use tokio::time::Instant;
use windlass_core::chain::{B256, BlockRef};

/// How many blocks are remembered with who has them.
const MAX_BLOCKS: usize = 256;

/// What answers have shown. Members are known by their place in the pool.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    /// Blocks, the newest last, and a member that has them.
    blocks: VecDeque<(B256, usize)>,
    /// Who is asked about heads, as long as it is well.
    pub(super) favourite: Option<usize>,
    /// The highest head that anybody told, and when it was told first.
    pub(super) highest: Option<(u64, Instant)>,
    /// When heads were last compared.
    pub(super) compared: Option<Instant>,
}

impl Knowledge {
    /// A member has shown that it has a block.
    pub(super) fn has(&mut self, member: usize, block: BlockRef) {
        if self.blocks.back() == Some(&(block.hash, member)) {
            return;
        }
        self.blocks.push_back((block.hash, member));
        if self.blocks.len() > MAX_BLOCKS {
            self.blocks.pop_front();
        }
    }

    /// Who has shown last to have a block.
    pub(super) fn who_has(&self, hash: B256) -> Option<usize> {
        self.blocks.iter().rev().find(|(known, _)| *known == hash).map(|(_, member)| *member)
    }
}
