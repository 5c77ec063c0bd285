//! How a block is collected anew: what some sources have of it goes, and comes again.

use windlass_core::chain::BlockRef;
use windlass_core::commit::Write;
use windlass_core::range::BlockRange;
use windlass_core::route::Sorted;

use super::chain::{ADDED, CollectedChain, Fact, REMOVED};
use super::compare;
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
    /// `by` tells the messages of this mending from those of others. The same block may
    /// be mended again at another time, so the time is a part of it.
    pub(super) async fn new(
        chain: &'a CollectedChain,
        routing: &'a Routing,
        by: &str,
    ) -> Result<Self, CollectError> {
        let by = format!("{by}-{}", chain.store.now().await?.as_ms());
        Ok(Self { chain, routing, generation: chain.generation().await?, by })
    }

    /// What replaces the rows of a block. Whoever follows the messages is told that
    /// everything in it went, and what there is now. What others keep of it stays.
    pub(super) async fn block(&self, block: BlockRef, sorted: Sorted) -> Result<Vec<Write>, CollectError> {
        let (chain, span) = (self.chain.options.chain, BlockRange { from: block.number, to: block.number });
        let kept = compare::kept(&*self.chain.store, chain, span).await?;
        let of_others = Some(self.routing.taken_along(kept)).filter(|logs| !logs.is_empty());
        let events = sorted.row_count() + sorted.raw.len();
        let tables: Vec<&str> = self.routing.tables.iter().map(|(table, _)| table.name.as_str()).collect();
        let fact = |events, to_block| Fact {
            by: self.by.clone(),
            generation: self.generation,
            from_block: block.number,
            to_block,
            head: block,
            events,
            tables: tables.clone(),
        };
        let mut messages = vec![self.chain.message(REMOVED, &fact(0, Some(block.number)))];
        if events > 0 {
            messages.push(self.chain.message(ADDED, &fact(events, None)));
        }
        // The generation is the head's, who may have raised it since: this is told apart by its own mark.
        let mended = Write::PutState { key: self.chain.names.mended.clone(), value: Some(self.by.clone()) };
        let mut writes = vec![Write::Publish(messages), mended];
        writes.extend(self.routing.erasing(chain, span));
        writes.extend(of_others.map(Write::Events));
        writes.extend(routing::writes(sorted, &self.chain.misfit_log));
        Ok(writes)
    }
}
