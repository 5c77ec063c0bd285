//! What an answer would change about what is stored of one block.

use std::collections::BTreeMap;

use alloy_primitives::{Bloom, BloomInput};
use windlass_core::bloom::has_room;
use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, ChainId};
use windlass_core::event::LogEvent;
use windlass_core::range::BlockRange;
use windlass_core::route::Sorted;
use windlass_core::store::Store;
use windlass_core::table::{EventRow, Identifier, RowHead, RowKey, Rows};

use crate::collect::compare;
use crate::collect::error::CollectError;
use crate::collect::routing::Routing;

/// What an answer would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::collect) struct Change {
    /// Something would come that is not stored.
    pub(in crate::collect) adds: bool,
    /// Something that is stored would go, or become something else.
    pub(in crate::collect) takes: bool,
    /// Something that is stored would get another time and stay the same otherwise.
    pub(in crate::collect) retimes: bool,
    /// What is stored is of a block of another hash.
    pub(in crate::collect) is_of_another_block: bool,
    /// The header's bloom has room for everything that would come.
    pub(in crate::collect) additions_fit_bloom: bool,
}

impl Change {
    /// Whether nothing would change.
    pub(in crate::collect) const fn is_none(&self) -> bool {
        !self.adds && !self.takes && !self.retimes
    }
}

/// What is stored of a block for some sources.
pub(in crate::collect) struct StoredBlock {
    tables: BTreeMap<Identifier, BTreeMap<RowKey, EventRow>>,
    /// Logs that are kept as they came, and are these sources'.
    raw: BTreeMap<RowKey, LogEvent>,
}

impl StoredBlock {
    /// Reads it.
    pub(in crate::collect) async fn read(
        store: &dyn Store,
        chain: ChainId,
        routing: &Routing,
        number: u64,
    ) -> Result<Self, CollectError> {
        let blocks = BlockRange { from: number, to: number };
        let mut tables = BTreeMap::new();
        for (table, contracts) in &routing.tables {
            let mut rows = compare::stored(store, &table.name, blocks).await?;
            rows.retain(|_, row| contracts.contains(&row.head.address));
            tables.insert(table.name.clone(), rows);
        }
        let kept = compare::kept(store, chain, blocks).await?;
        let own = kept.into_iter().filter(|log| routing.keeps(log) || routing.outgrows(log));
        let raw = own.map(|log| (log_key(&log), log)).collect();
        Ok(Self { tables, raw })
    }

    /// What logs of the block, with the header's time, would change.
    pub(in crate::collect) fn change(
        &self,
        block: &BlockHeader,
        bloom: &Bloom,
        (logs, sorted): (&[LogEvent], &Sorted),
    ) -> Change {
        let mut tally = Tally { block, missing: Vec::new(), takes: false, retimes: false };
        for (name, stored) in &self.tables {
            tally.table(stored, sorted.tables.iter().filter(|rows| rows.table().name == *name));
        }
        tally.raw(&self.raw, sorted, logs);
        let mut added = logs.iter().filter(|log| tally.missing.contains(&log_key(log)));
        Change {
            adds: !tally.missing.is_empty(),
            takes: tally.takes,
            retimes: tally.retimes,
            is_of_another_block: self.is_of_another_block(block),
            additions_fit_bloom: added.all(|log| has_room(bloom, log)),
        }
    }

    /// The transaction that is stored for a log's place.
    pub(in crate::collect) fn transaction_of(&self, log: &LogEvent) -> Option<B256> {
        let key = log_key(log);
        let row = self.tables.values().find_map(|rows| rows.get(&key)).map(|row| row.head.transaction_hash);
        row.or_else(|| self.raw.get(&key).map(|kept| kept.transaction_hash))
    }

    /// Whether nothing is stored.
    pub(in crate::collect) fn is_empty(&self) -> bool {
        self.places().next().is_none()
    }

    /// Whether everything that is stored has the block's hash and time.
    pub(in crate::collect) fn is_of(&self, block: &BlockHeader) -> bool {
        self.places().all(|(stored, time_s, _)| (stored, time_s) == (block.block_ref(), block.timestamp_s))
    }

    /// Whether a bloom has room for the contracts of everything that is stored.
    pub(in crate::collect) fn has_room_in(&self, bloom: &Bloom) -> bool {
        self.places().all(|(_, _, contract)| bloom.contains_input(BloomInput::Raw(&contract[..])))
    }

    fn is_of_another_block(&self, block: &BlockHeader) -> bool {
        self.places().any(|(stored, _, _)| stored != block.block_ref())
    }

    /// Block, time and contract of everything that is stored.
    fn places(&self) -> impl Iterator<Item = (BlockRef, u64, Address)> {
        let rows = self.tables.values().flat_map(BTreeMap::values).map(|row| row.head);
        let rows = rows.map(|head| (head.block, head.timestamp_s, head.address));
        rows.chain(self.raw.values().map(|log| (log.block, log.timestamp_s, log.address)))
    }
}

/// What differs, counted while the tables are gone through.
struct Tally<'a> {
    block: &'a BlockHeader,
    missing: Vec<RowKey>,
    takes: bool,
    retimes: bool,
}

impl Tally<'_> {
    fn table<'r>(&mut self, stored: &BTreeMap<RowKey, EventRow>, found: impl Iterator<Item = &'r Rows>) {
        let mut left = stored.len();
        for (head, values) in found.flat_map(Rows::iter) {
            let Some(row) = stored.get(&head.key()) else {
                self.missing.push(head.key());
                continue;
            };
            left -= 1;
            let at_time = RowHead { timestamp_s: self.block.timestamp_s, ..row.head };
            self.takes |= at_time != *head || row.values != values;
            self.retimes |= row.head.timestamp_s != self.block.timestamp_s;
        }
        self.takes |= left > 0;
    }

    /// A log that is kept as it came and is on the chain only changes its place, if that.
    fn raw(&mut self, stored: &BTreeMap<RowKey, LogEvent>, sorted: &Sorted, logs: &[LogEvent]) {
        for log in &sorted.raw {
            if !stored.contains_key(&log_key(log)) {
                self.missing.push(log_key(log));
            }
        }
        for (key, kept) in stored {
            let at_time = LogEvent { timestamp_s: self.block.timestamp_s, ..kept.clone() };
            self.retimes |= kept.timestamp_s != self.block.timestamp_s;
            self.takes |= !logs.iter().any(|log| log_key(log) == *key && *log == at_time);
        }
    }
}

fn log_key(log: &LogEvent) -> RowKey {
    RowKey { block: log.block.number, log_index: log.log_index }
}
