//! Logs, headers and state.

use windlass_core::chain::{Address, BlockHeader, ChainId};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::event::LogEvent;
use windlass_core::name::StateKey;
use windlass_core::range::BlockRange;
use windlass_core::store::{MAX_COUNTED_EVENTS, MAX_EVENT_PAGE};

use super::Model;

impl Model {
    pub(super) fn add_events(&mut self, events: &[LogEvent]) -> StoreResult<Written> {
        let mut new = 0;
        let mut contradicted = Vec::new();
        for event in events {
            let stored = self.events.entry((event.chain, event.block.number, event.log_index));
            match stored {
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(event.clone());
                    new += 1;
                }
                std::collections::btree_map::Entry::Occupied(stored) => {
                    if stored.get().block.hash != event.block.hash {
                        contradicted.push(event.chain);
                    }
                }
            }
        }
        self.settle(contradicted.iter().min().copied(), new, contradicted.len() as u64)
    }

    pub(super) fn add_blocks(&mut self, chain: ChainId, headers: &[BlockHeader]) -> StoreResult<Written> {
        let (mut new, mut contradictions) = (0, 0);
        for header in headers {
            match self.blocks.get(&(chain, header.number)) {
                Some(stored) => contradictions += u64::from(stored.hash != header.hash),
                None => {
                    self.blocks.insert((chain, header.number), *header);
                    new += 1;
                }
            }
        }
        self.settle(Some(chain), new, contradictions)
    }

    fn settle(&mut self, chain: Option<ChainId>, new: u64, contradictions: u64) -> StoreResult<Written> {
        match (contradictions, chain) {
            (1.., Some(chain)) => {
                self.tally.hit("fork refused");
                Err(StoreError::EventConflict { chain: chain.as_i64(), count: contradictions })
            }
            _ => Ok(Written::Rows(new)),
        }
    }

    pub(super) fn retract(&mut self, chain: ChainId, from_block: u64) -> Written {
        let before = self.events.len();
        self.events.retain(|(of, number, _), _| *of != chain || *number < from_block);
        self.blocks.retain(|(of, number), _| *of != chain || *number < from_block);
        let gone = before - self.events.len();
        if gone > 0 {
            self.tally.hit("logs retracted");
        }
        Written::Rows(gone as u64 + self.retract_rows(chain, from_block))
    }

    pub(super) fn erase_events(
        &mut self,
        chain: ChainId,
        blocks: BlockRange,
        contracts: &[Address],
    ) -> Written {
        let before = self.events.len();
        self.events.retain(|(of, number, _), event| {
            let is_meant = contracts.is_empty() || contracts.contains(&event.address);
            *of != chain || !(blocks.from..=blocks.to).contains(number) || !is_meant
        });
        Written::Rows((before - self.events.len()) as u64)
    }

    pub(super) fn forget_blocks(&mut self, chain: ChainId, below: u64) -> Written {
        let before = self.blocks.len();
        self.blocks.retain(|(of, number), _| *of != chain || *number >= below);
        let gone = before - self.blocks.len();
        if gone > 0 {
            self.tally.hit("headers forgotten");
        }
        Written::Rows(gone as u64)
    }

    pub(super) fn put_state(&mut self, key: &StateKey, value: Option<&str>) -> Written {
        match value {
            Some(value) => self.state.insert(key.clone(), value.to_owned()),
            None => self.state.remove(key),
        };
        Written::Done
    }

    pub(crate) fn events(&self, chain: ChainId, from: (u64, u32), limit: u32) -> Vec<LogEvent> {
        let limit = limit.min(MAX_EVENT_PAGE) as usize;
        let page = self.events.range((chain, from.0, from.1)..=(chain, u64::MAX, u32::MAX));
        page.take(limit).map(|(_, event)| event.clone()).collect()
    }

    pub(crate) fn count_events(&self, chain: ChainId) -> u64 {
        (self.events.keys().filter(|(of, _, _)| *of == chain).count() as u64).min(MAX_COUNTED_EVENTS)
    }

    pub(crate) fn blocks(&self, chain: ChainId, from_block: u64, limit: u32) -> Vec<BlockHeader> {
        let limit = limit.min(MAX_EVENT_PAGE) as usize;
        let page = self.blocks.range((chain, from_block)..=(chain, u64::MAX));
        page.take(limit).map(|(_, header)| *header).collect()
    }

    pub(crate) fn state(&self, key: &StateKey) -> Option<String> {
        self.state.get(key).cloned()
    }
}
