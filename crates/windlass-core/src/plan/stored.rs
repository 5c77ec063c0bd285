//! The form in which a plan is kept. Tables are named once, and campaigns name sources by
//! their numbers: the size grows with the number of sources, not with its square.
//!
//! Plans of the first form, whose campaigns list their sources by name, are read as well.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Campaign, Plan, Source, SourceId, SourceSet};
use crate::block_set::BlockSet;
use crate::chain::Address;
use crate::range::BlockRange;
use crate::table::Identifier;

/// A plan as text has it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredPlan {
    version: u64,
    #[serde(default)]
    tables: Vec<Identifier>,
    #[serde(default)]
    rows: Vec<Row>,
    campaigns: Vec<StoredCampaign>,
    next_campaign: u64,
    #[serde(default)]
    next_source: u32,
    /// Only in the first form.
    #[serde(default, skip_serializing)]
    sources: BTreeMap<SourceId, FirstSource>,
}

/// Number, place of the table, contract, first block, claimed blocks, first block of the head.
#[derive(Serialize, Deserialize)]
struct Row(u32, usize, Option<Address>, u64, Vec<(u64, u64)>, Option<u64>);

#[derive(Serialize, Deserialize)]
struct StoredCampaign {
    id: u64,
    blocks: BlockRange,
    #[serde(default)]
    numbers: SourceSet,
    /// Only in the first form.
    #[serde(default, skip_serializing)]
    sources: BTreeSet<SourceId>,
}

#[derive(Deserialize)]
struct FirstSource {
    start: u64,
    claimed: BlockSet,
    head_from: Option<u64>,
}

/// A source of a table that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("source {0} is of a table that is not there")]
pub struct PlanError(u32);

impl From<Plan> for StoredPlan {
    fn from(plan: Plan) -> Self {
        let tables: BTreeSet<Identifier> = plan.sources.keys().map(|id| id.table.clone()).collect();
        let places: BTreeMap<&Identifier, usize> =
            tables.iter().enumerate().map(|(place, table)| (table, place)).collect();
        let row = |(id, source): (&SourceId, &Source)| {
            let claimed = source.claimed.ranges().iter().map(|range| (range.from, range.to)).collect();
            let table = places.get(&id.table).copied().unwrap_or(usize::MAX);
            Row(source.number, table, id.contract, source.start, claimed, source.head_from)
        };
        let rows = plan.sources.iter().map(row).collect();
        let campaigns = plan.campaigns.into_iter().map(|Campaign { id, blocks, sources }| StoredCampaign {
            id,
            blocks,
            numbers: sources,
            sources: BTreeSet::new(),
        });
        Self {
            version: plan.version,
            rows,
            campaigns: campaigns.collect(),
            next_campaign: plan.next_campaign,
            next_source: plan.next_source,
            sources: BTreeMap::new(),
            tables: tables.into_iter().collect(),
        }
    }
}

impl TryFrom<StoredPlan> for Plan {
    type Error = PlanError;
    fn try_from(stored: StoredPlan) -> Result<Self, PlanError> {
        let mut plan = Self {
            version: stored.version,
            next_campaign: stored.next_campaign,
            next_source: stored.next_source,
            ..Self::default()
        };
        for Row(number, table, contract, start, claimed, head_from) in stored.rows {
            let table = stored.tables.get(table).ok_or(PlanError(number))?.clone();
            let claimed = claimed.into_iter().map(|(from, to)| BlockRange { from, to }).collect::<Vec<_>>();
            let source = Source { number, start, claimed: BlockSet::from(claimed), head_from };
            plan.sources.insert(SourceId { table, contract }, source);
        }
        let first = stored.sources.iter().map(|(id, source)| (id.clone(), source.start)).collect();
        plan.number(&first);
        for (id, FirstSource { start, claimed, head_from }) in stored.sources {
            if let Some(source) = plan.sources.get_mut(&id) {
                *source = Source { number: source.number, start, claimed, head_from };
            }
        }
        plan.campaigns = stored
            .campaigns
            .into_iter()
            .map(|campaign| {
                let named = campaign.sources.iter().filter_map(|id| plan.sources.get(id));
                let numbers = campaign.numbers.iter().chain(named.map(|source| source.number)).collect();
                Campaign { id: campaign.id, blocks: campaign.blocks, sources: numbers }
            })
            .collect();
        Ok(plan)
    }
}
