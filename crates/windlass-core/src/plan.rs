//! The ledger of a chain: who wants which blocks, who has claimed them, what is left.
//!
//! A **source** is one thing that logs are collected for: a table and a contract
//! that fills it. The blocks it needs come from two sides: the head, which is
//! followed block by block from `head_from` on, and **campaigns**, which go over
//! everything below in ranges. Blocks that several sources need are in one
//! campaign, so that one question to the chain serves them all.
//!
//! Changing one's mind is one operation, [`Plan::replan`]: campaigns are cut where
//! their cursors stand, and what is still missing is dealt out anew. It is pure:
//! the loop that calls it commits the new plan together with the cut cursors.
//!
//! Invariants: a block that a source needs is claimed, in a campaign of that
//! source, or left to the head, and only one of them; what was claimed stays so
//! for as long as the source is collected.

mod source_set;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::source_set::{SourceSet, SourceSetError};
pub use self::stored::PlanError;
use self::stored::StoredPlan;
use crate::block_set::BlockSet;
use crate::chain::{Address, ChainId};
use crate::name::{NameError, StateKey};
use crate::range::BlockRange;
use crate::table::Identifier;

/// The most sources of one chain: each contract of an index that is named once for each of
/// its events. Those that a factory has created are one for each event, however many they are.
pub const MAX_SOURCES: usize = 10_000;

/// The most bytes of a plan as it is kept. One of [`MAX_SOURCES`] that has just begun takes
/// an eighth of it; blocks that were claimed in pieces take more.
pub const MAX_PLAN_BYTES: usize = 8 << 20;

/// Under which key a chain's plan is kept.
pub fn key(chain: ChainId) -> Result<StateKey, NameError> {
    StateKey::new(format!("{KEY_BEGINS}{chain}{KEY_ENDS}"))
}

/// Whether this is such a key.
pub(crate) fn is_kept_at(key: &StateKey) -> bool {
    key.as_str().starts_with(KEY_BEGINS) && key.as_str().ends_with(KEY_ENDS)
}

const KEY_BEGINS: &str = "collect/";
const KEY_ENDS: &str = "/plan";

/// A table and who fills it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceId {
    /// The table.
    pub table: Identifier,
    /// The contract; `None` for those that a factory has created.
    pub contract: Option<Address>,
}

/// The text is not `table@0x…` or `table@created`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a source has the form `table@0x…` or `table@created`, not `{0}`")]
pub struct SourceIdError(String);

/// Stands for the contracts that a factory has created.
const CREATED: &str = "created";

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.contract {
            Some(contract) => write!(f, "{}@{contract}", self.table),
            None => write!(f, "{}@{CREATED}", self.table),
        }
    }
}

impl TryFrom<String> for SourceId {
    type Error = SourceIdError;
    fn try_from(text: String) -> Result<Self, SourceIdError> {
        let read = || {
            let (table, contract) = text.split_once('@')?;
            let contract = if contract == CREATED { None } else { Some(contract.parse().ok()?) };
            Some(Self { table: Identifier::new(table).ok()?, contract })
        };
        read().ok_or_else(|| SourceIdError(text.clone()))
    }
}

impl From<SourceId> for String {
    fn from(id: SourceId) -> Self {
        id.to_string()
    }
}

/// What is known of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its number, by which campaigns name it; never used again.
    pub number: u32,
    /// The first block of interest.
    pub start: u64,
    /// Blocks that were claimed for it, by campaigns or by the head before it moved on.
    pub claimed: BlockSet,
    /// The head stores its logs from this block on; `None` while it is not collected.
    pub head_from: Option<u64>,
}

/// Blocks that are gone over in ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Campaign {
    /// Its number; never used again.
    pub id: u64,
    /// Which blocks.
    pub blocks: BlockRange,
    /// For which sources, by number.
    pub sources: SourceSet,
}

/// The ledger.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "StoredPlan", into = "StoredPlan")]
pub struct Plan {
    /// How often it was changed.
    pub version: u64,
    /// The sources there are, or were.
    pub sources: BTreeMap<SourceId, Source>,
    /// The campaigns that are not over.
    pub campaigns: Vec<Campaign>,
    /// The number of the next campaign.
    pub next_campaign: u64,
    /// The number of the next source.
    pub next_source: u32,
}

/// Where the head and the campaigns stand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Standing {
    /// The last block that the head has behind it.
    pub head: u64,
    /// The last block that is final and was looked at again: what was stored above it
    /// may yet go away, or not be whole.
    pub settled: u64,
    /// For each campaign the next block that nobody has claimed; the first, if it is missing.
    pub next_blocks: BTreeMap<u64, u64>,
    /// For each campaign the blocks that were claimed and are not stored; all of them, if
    /// it is missing.
    pub open: BTreeMap<u64, BlockSet>,
    /// For a source of which not every contract is known: the first block at which there
    /// may be one of those that are not.
    pub unknown_from: BTreeMap<SourceId, u64>,
}

impl Standing {
    fn next_block(&self, campaign: &Campaign) -> u64 {
        self.next_blocks.get(&campaign.id).copied().unwrap_or(campaign.blocks.from)
    }

    fn open(&self, campaign: u64, blocks: BlockRange) -> BlockSet {
        self.open.get(&campaign).cloned().unwrap_or_else(|| BlockSet::from(blocks))
    }
}

impl Plan {
    /// A plan for exactly these sources, each with its first block, from where things
    /// stand. `self` if nothing is to change.
    #[must_use]
    pub fn replan(&self, wanted: &BTreeMap<SourceId, u64>, standing: &Standing) -> Self {
        if self.serves(wanted) {
            return self.clone();
        }
        let mut plan = self.cut(standing);
        for (id, source) in &mut plan.sources {
            match wanted.get(id) {
                Some(start) => source.start = *start,
                None => source.leave(id, standing),
            }
        }
        plan.part(wanted, standing);
        plan.number(wanted);
        for (_, source) in plan.sources.iter_mut().filter(|(id, _)| wanted.contains_key(id)) {
            source.head_from.get_or_insert(standing.head + 1);
        }
        plan.deal_out();
        plan
    }

    /// A plan in which the head goes on from a later block: what lies between is left
    /// to a campaign.
    #[must_use]
    pub fn jump(&self, standing: &Standing, to: u64) -> Self {
        let mut plan = self.cut(standing);
        for source in plan.sources.values_mut().filter(|source| source.head_from.is_some()) {
            source.pass(standing.head);
            source.head_from = Some(to + 1);
        }
        plan.deal_out();
        plan
    }

    /// A plan in which nothing from a block on was ever claimed, and the head goes on behind
    /// another: the one below it, or a later one below which nothing is collected.
    /// A campaign that reached higher is gone, so that nobody who is still at one of its
    /// ranges can store it; what it has left open is dealt out anew.
    #[must_use]
    pub fn rewind(&self, standing: &Standing, to: u64, from_block: u64) -> Self {
        let mut plan = self.cut(standing);
        let removed = BlockRange { from: from_block, to: u64::MAX };
        for campaign in std::mem::take(&mut plan.campaigns) {
            if campaign.blocks.to >= from_block {
                plan.unclaim(&campaign.sources, &standing.open(campaign.id, campaign.blocks));
            } else {
                plan.campaigns.push(campaign);
            }
        }
        for source in plan.sources.values_mut() {
            let is_collected = source.head_from.is_some();
            source.pass(standing.head);
            source.claimed.remove(removed);
            source.head_from = is_collected.then_some(to.saturating_add(1));
        }
        plan.deal_out();
        plan
    }

    /// The plan without a campaign that is over.
    #[must_use]
    pub fn without(&self, campaign: u64) -> Self {
        let mut plan = Self { version: self.version + 1, ..self.clone() };
        let over = plan.campaigns.iter().position(|other| other.id == campaign);
        if let Some(over) = over.map(|place| plan.campaigns.remove(place)) {
            plan.claim(&over.sources, over.blocks);
        }
        plan
    }

    /// Whether these sources are the ones that are collected, from these blocks on.
    pub fn serves(&self, wanted: &BTreeMap<SourceId, u64>) -> bool {
        let collected = self.collected().map(|(id, source)| (id, source.start));
        collected.eq(wanted.iter().map(|(id, start)| (id, *start)))
    }

    /// Whether a campaign is not over.
    pub fn has_campaign(&self, id: u64) -> bool {
        self.campaigns.iter().any(|campaign| campaign.id == id)
    }

    /// Those of a set of sources.
    pub fn sources_of<'a>(&'a self, set: &'a SourceSet) -> impl Iterator<Item = &'a SourceId> + Clone {
        self.sources.iter().filter(|(_, source)| set.contains(source.number)).map(|(id, _)| id)
    }

    /// The campaigns of a source.
    pub fn campaigns_of(&self, id: &SourceId) -> impl Iterator<Item = &Campaign> {
        let number = self.sources.get(id).map(|source| source.number);
        self.campaigns.iter().filter(move |campaign| number.is_some_and(|it| campaign.sources.contains(it)))
    }

    /// The sources that are collected.
    pub fn collected(&self) -> impl Iterator<Item = (&SourceId, &Source)> + Clone {
        self.sources.iter().filter(|(_, source)| source.head_from.is_some())
    }

    /// Cuts every campaign where its cursor stands. One of which nothing was claimed is gone.
    fn cut(&self, standing: &Standing) -> Self {
        let mut plan = Self { version: self.version + 1, ..self.clone() };
        for campaign in std::mem::take(&mut plan.campaigns) {
            let next = standing.next_block(&campaign);
            if next <= campaign.blocks.from {
                continue;
            }
            let blocks = BlockRange { from: campaign.blocks.from, to: campaign.blocks.to.min(next - 1) };
            plan.claim(&campaign.sources, blocks);
            plan.campaigns.push(Campaign { blocks, ..campaign });
        }
        plan
    }

    /// Ends campaigns of sources that are no longer wanted: whoever is at one of their
    /// ranges would store it for those as well. What they have left open is as if it had
    /// not been claimed, and is dealt out anew to those who stay.
    fn part(&mut self, wanted: &BTreeMap<SourceId, u64>, standing: &Standing) {
        let unwanted = self.sources.iter().filter(|(id, _)| !wanted.contains_key(id));
        let leave: SourceSet = unwanted.map(|(_, source)| source.number).collect();
        for campaign in std::mem::take(&mut self.campaigns) {
            if campaign.sources.iter().any(|number| leave.contains(number)) {
                self.unclaim(&campaign.sources, &standing.open(campaign.id, campaign.blocks));
            } else {
                self.campaigns.push(campaign);
            }
        }
    }

    fn unclaim(&mut self, sources: &SourceSet, blocks: &BlockSet) {
        for source in self.sources.values_mut().filter(|source| sources.contains(source.number)) {
            source.claimed = source.claimed.minus(blocks);
        }
    }

    fn claim(&mut self, sources: &SourceSet, blocks: BlockRange) {
        for source in self.sources.values_mut().filter(|source| sources.contains(source.number)) {
            source.claimed.insert(blocks);
        }
    }

    /// Gives numbers to those that have none, in the order of their first blocks: which of
    /// them need a block is then mostly one run of numbers.
    fn number(&mut self, starts: &BTreeMap<SourceId, u64>) {
        let is_new = |(id, _): &(&SourceId, &u64)| !self.sources.contains_key(id);
        let mut new: Vec<(u64, SourceId)> =
            starts.iter().filter(is_new).map(|(id, start)| (*start, id.clone())).collect();
        new.sort_unstable();
        for (start, id) in new {
            let number = self.next_source;
            self.next_source += 1;
            self.sources.insert(id, Source { number, start, claimed: BlockSet::EMPTY, head_from: None });
        }
    }

    /// Makes campaigns of what is missing: one for each run of blocks that the same
    /// sources need, the lowest first.
    fn deal_out(&mut self) {
        let needs: Vec<(u32, BlockSet)> =
            self.collected().map(|(_, source)| (source.number, source.need())).collect();
        let edges: BTreeSet<u64> = needs
            .iter()
            .flat_map(|(_, need)| need.ranges())
            .flat_map(|range| [range.from, range.to.saturating_add(1)])
            .collect();
        let edges: Vec<u64> = edges.into_iter().collect();
        let mut campaigns: Vec<Campaign> = Vec::new();
        for pair in edges.windows(2) {
            let blocks = BlockRange { from: pair[0], to: pair[1] - 1 };
            let needing = needs.iter().filter(|(_, need)| need.contains(blocks.from));
            let sources: SourceSet = needing.map(|(number, _)| *number).collect();
            match campaigns.last_mut() {
                _ if sources.is_empty() => {}
                Some(last) if last.sources == sources && last.blocks.to + 1 == blocks.from => {
                    last.blocks.to = blocks.to;
                }
                _ => {
                    let id = self.next_campaign + campaigns.len() as u64;
                    campaigns.push(Campaign { id, blocks, sources });
                }
            }
        }
        self.next_campaign += campaigns.len() as u64;
        self.campaigns.extend(campaigns);
    }
}

impl Source {
    /// What lies below the head and nobody has claimed.
    fn need(&self) -> BlockSet {
        match self.head_from {
            Some(head_from) if head_from > self.start => {
                BlockSet::from(BlockRange { from: self.start, to: head_from - 1 }).minus(&self.claimed)
            }
            _ => BlockSet::EMPTY,
        }
    }

    /// Notes what the head has stored for it, up to a block, and takes it off the head.
    fn pass(&mut self, head: u64) {
        if let Some(from) = self.head_from.take() {
            self.claimed.insert(BlockRange { from: from.max(self.start), to: head });
        }
    }

    /// It is no longer collected. Nobody looks after what is not settled any more, so it
    /// is as if that had not been claimed.
    fn leave(&mut self, id: &SourceId, standing: &Standing) {
        self.pass(standing.head);
        let unsettled = standing.settled.saturating_add(1);
        let from = standing.unknown_from.get(id).map_or(unsettled, |unknown| unsettled.min(*unknown));
        self.claimed.remove(BlockRange { from, to: u64::MAX });
    }
}

#[cfg(test)]
mod tests;
