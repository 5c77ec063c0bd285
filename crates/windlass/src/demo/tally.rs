//! What the store has, against what the chain knows from the inside.

use std::collections::BTreeMap;

use alloy_primitives::B256;
use windlass_core::abi::Decoder;
use windlass_core::event::Topics;
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::EventRow;

use super::collector;
use super::world::World;
use crate::failure::Failure;

/// The count of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    /// The chain's height.
    pub(super) blocks: u64,
    /// Fee events on the canonical chain.
    pub(super) on_chain: u64,
    /// Fee events in the store.
    pub(super) stored: u64,
    /// How often the chain was reorganised.
    pub(super) reorgs: u64,
    /// How many blocks the deepest reorg replaced.
    pub(super) deepest_reorg: u64,
    /// On the chain and not in the store.
    pub(super) lost: u64,
    /// In the store and not, or not so often, on the chain.
    pub(super) duplicated: u64,
}

/// Everything that identifies an event and all that it says.
type Identity = (B256, u64, B256, String);

impl Tally {
    /// Compares the two, event by event.
    pub(super) async fn of(world: &World, store: &dyn Store) -> Result<Self, Failure> {
        let mut balance: BTreeMap<Identity, i64> = BTreeMap::new();
        let truth = world.fee_logs();
        let decoder = Decoder::new(&collector::event()?);
        for log in &truth {
            let topics = Topics::new(log.topics()).unwrap_or_default();
            let mut values = Vec::new();
            decoder.decode(&topics, &log.data().data, &mut values).map_err(super::world::devnet_failed)?;
            let identity = (
                log.block_hash.unwrap_or_default(),
                log.log_index.unwrap_or_default(),
                log.transaction_hash.unwrap_or_default(),
                format!("{values:?}"),
            );
            *balance.entry(identity).or_default() += 1;
        }
        let stored = stored_events(world, store).await?;
        for EventRow { head, values } in &stored {
            let identity =
                (head.block.hash, u64::from(head.log_index), head.transaction_hash, format!("{values:?}"));
            *balance.entry(identity).or_default() -= 1;
        }
        let total =
            |wanted: fn(&i64) -> bool| balance.values().copied().filter(wanted).sum::<i64>().unsigned_abs();
        let stats = world.chain.stats();
        Ok(Self {
            blocks: world.chain.head().number(),
            on_chain: truth.len() as u64,
            stored: stored.len() as u64,
            reorgs: stats.reorgs,
            deepest_reorg: stats.deepest_reorg,
            lost: total(|count| *count > 0),
            duplicated: total(|count| *count < 0),
        })
    }
}

async fn stored_events(world: &World, store: &dyn Store) -> Result<Vec<EventRow>, Failure> {
    let mut query = RowQuery {
        table: collector::table(world)?.name,
        conditions: Vec::new(),
        order: RowOrder::OldestFirst,
        after: None,
        limit: MAX_ROW_PAGE,
    };
    let mut all = Vec::new();
    loop {
        let page = store.rows(&query).await?;
        let Some(last) = page.last() else { return Ok(all) };
        query.after = Some(last.head.key());
        all.extend(page);
    }
}
