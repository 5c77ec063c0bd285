//! Who has which block, and who is asked about heads.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;
use windlass_core::chain::{B256, BlockRef};

/// How many blocks are remembered with who has them.
const MAX_BLOCKS: usize = 256;

/// What answers have shown. Members are known by their place in the pool.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    /// Blocks, the newest last, a member that has them, and whether its header hashes to the hash.
    blocks: VecDeque<(B256, usize, bool)>,
    /// Whether headers of the chain hash to their hashes: one did to a hash that another member has.
    pub(super) is_provable: bool,
    /// Who is asked about heads, as long as it is well.
    pub(super) favourite: Option<usize>,
    /// Who told the newest block last.
    pub(super) told_newest: Option<usize>,
    /// The highest head that anybody told, and when it was told first.
    pub(super) highest: Option<(u64, Instant)>,
    /// When heads were last compared.
    pub(super) compared: Option<Instant>,
    /// How far blocks are apart, as they are seen.
    block_time: Option<Duration>,
}

/// The weight of a new distance between two blocks.
const BLOCK_TIME_WEIGHT: f64 = 0.2;

impl Knowledge {
    /// A member has shown that it has a block, by a header that hashes to the block's hash or not.
    /// Nobody can make up one that does for a hash that another member tells.
    pub(super) fn has(&mut self, member: usize, block: BlockRef, is_proven: bool) {
        if self.blocks.back() == Some(&(block.hash, member, is_proven)) {
            return;
        }
        self.is_provable |= self.blocks.iter().any(|(hash, other, was_proven)| {
            *hash == block.hash && *other != member && (is_proven || *was_proven)
        });
        self.blocks.push_back((block.hash, member, is_proven));
        if self.blocks.len() > MAX_BLOCKS {
            self.blocks.pop_front();
        }
    }

    /// A head that is higher than all before.
    pub(super) fn moved(&mut self, number: u64, now: Instant) {
        if let Some((before, at)) = self.highest {
            let blocks = u32::try_from(number.saturating_sub(before)).unwrap_or(u32::MAX).max(1);
            let apart = (now - at) / blocks;
            let known = self.block_time.unwrap_or(apart);
            self.block_time = Some(known.mul_f64(1.0 - BLOCK_TIME_WEIGHT) + apart.mul_f64(BLOCK_TIME_WEIGHT));
        }
        self.highest = Some((number, now));
    }

    /// How long a head usually takes to move by so many blocks.
    pub(super) fn still_for(&self, blocks: u32) -> Duration {
        self.block_time.map_or(Duration::MAX, |apart| apart * blocks)
    }

    /// Who has shown last to have a block.
    pub(super) fn who_has(&self, hash: B256) -> Option<usize> {
        self.blocks.iter().rev().find(|(known, ..)| *known == hash).map(|(_, member, _)| *member)
    }
}
