//! What was taken back after a message was written.
//!
//! A message says that the rows of some blocks were added. When a stream comes to
//! it, some of these blocks may have been reorganised, and the table has the rows of
//! the new branch in their place: rows that a later message will announce. The rule
//! is: **of a message's rows only those are sent that stand below every block from
//! which on a later message of the partition took rows back.** Such rows have never
//! been taken back since, so they are the very rows that the message spoke of; what
//! was taken back is not sent at all, and what replaced it is sent once, by its own
//! message. A single block that was collected anew is another matter: only its own rows
//! went, and came again, so only they are left to the later message.
//!
//! The partition is looked through *after* rows were read: a retraction is committed
//! together with its message, so rows of a new branch cannot be seen without it.

use std::collections::VecDeque;

use windlass_core::error::StoreResult;
use windlass_core::name::Partition;
use windlass_core::store::Outbox;

use super::message::{News, Removed};
use crate::limits::{MAX_STREAM_REMOVALS, STREAM_LOOKAHEAD};

/// The retractions ahead of a stream, as far as they matter: one that reaches less
/// far down than a later one is covered by it. So blocks rise from front to back.
#[derive(Debug, Default)]
pub(super) struct Removals {
    ahead: VecDeque<(i64, u64)>,
    /// Those of some blocks alone.
    mends: VecDeque<(i64, u64, Removed)>,
    seen_to: i64,
}

/// There are more retractions ahead than a stream keeps in view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

impl Removals {
    /// Looks through the messages behind `seq` that were not looked at yet, to the end.
    pub(super) async fn look_ahead(
        &mut self,
        outbox: &dyn Outbox,
        partition: &Partition,
        seq: i64,
    ) -> StoreResult<Result<(), TooMany>> {
        self.seen_to = self.seen_to.max(seq);
        loop {
            let messages = outbox.messages(partition, self.seen_to, STREAM_LOOKAHEAD).await?;
            for message in &messages {
                if let News::Removed(removed) = News::of(message) {
                    match removed.to_block {
                        None => self.add(message.seq, removed.from_block),
                        Some(to) => self.mends.push_back((message.seq, to, removed)),
                    }
                }
                self.seen_to = message.seq;
            }
            if self.ahead.len() + self.mends.len() > MAX_STREAM_REMOVALS {
                return Ok(Err(TooMany));
            }
            if messages.len() < STREAM_LOOKAHEAD as usize {
                return Ok(Ok(()));
            }
        }
    }

    fn add(&mut self, seq: i64, from_block: u64) {
        while self.ahead.back().is_some_and(|(_, block)| *block >= from_block) {
            self.ahead.pop_back();
        }
        self.ahead.push_back((seq, from_block));
    }

    /// The lowest block that a message behind `seq` took back. Forgets those before it,
    /// so the numbers must not go down from call to call.
    pub(super) fn lowest_after(&mut self, seq: i64) -> Option<u64> {
        while self.ahead.front().is_some_and(|(removed, _)| *removed <= seq) {
            self.ahead.pop_front();
        }
        self.ahead.front().map(|(_, block)| *block)
    }

    /// Whether a message behind `seq` took back a table's rows of this block alone, and
    /// told them anew. Forgets as [`Removals::lowest_after`] does.
    pub(super) fn is_mended_after(&mut self, seq: i64, block: u64, table: &str) -> bool {
        while self.mends.front().is_some_and(|(removed, ..)| *removed <= seq) {
            self.mends.pop_front();
        }
        let is_meant = |to: u64, removed: &Removed| {
            (removed.from_block..=to).contains(&block) && removed.speaks_of(table)
        };
        self.mends.iter().any(|(_, to, removed)| is_meant(*to, removed))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lowest_block_ahead_is_the_lowest_of_all_ahead(
            removed in prop::collection::vec(prop::option::of(0u64..100), 0..60),
        ) {
            let mut removals = Removals::default();
            for (seq, block) in removed.iter().enumerate() {
                if let Some(block) = block {
                    removals.add(seq as i64, *block);
                }
            }
            for seq in 0..removed.len() {
                let expected = removed.iter().skip(seq + 1).flatten().min().copied();
                prop_assert_eq!(removals.lowest_after(seq as i64), expected);
            }
        }
    }
}
