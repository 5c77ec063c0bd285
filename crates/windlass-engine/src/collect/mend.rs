//! How a block is collected anew: what some sources have of it goes, and comes again.

use windlass_core::chain::BlockRef;
use windlass_core::commit::Write;
use windlass_core::range::BlockRange;
use windlass_core::route::Sorted;

use super::chain::{ADDED, CollectedChain, Fact};
use super::error::CollectError;
use super::routing::{self, Routing};

/// Blocks that are collected anew, for one reason.
pub(super) struct Mend<'a> {
    chain: &'a CollectedChain,
    routing: &'a Routing,
    generation: u64,
    by: String,
}

impl<'a> Mend<'a> {
    /// `by` tells the messages of this mending from those of others.
    pub(super) async fn new(
        chain: &'a CollectedChain,
        routing: &'a Routing,
        by: String,
    ) -> Result<Self, CollectError> {
        Ok(Self { chain, routing, generation: chain.generation().await?, by })
    }

    /// What replaces the rows of a block.
    pub(super) fn block(&self, block: BlockRef, sorted: Sorted) -> Vec<Write> {
        let events = sorted.row_count();
        let fact = Fact {
            by: format!("{}-{events}", self.by),
            generation: self.generation,
            from_block: block.number,
            head: block,
            events,
            tables: Vec::new(),
        };
        let mut writes = vec![Write::Publish(vec![self.chain.message(ADDED, &fact)])];
        writes.extend(self.routing.erasing(BlockRange { from: block.number, to: block.number }));
        writes.extend(routing::writes(sorted));
        writes
    }
}
