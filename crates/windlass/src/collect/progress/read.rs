//! A look at the store.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use windlass_core::block_set::BlockSet;
use windlass_core::chain::ChainId;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobFilter, MAX_LISTED_JOBS, QueueCounts};
use windlass_core::lease::Lease;
use windlass_core::name::{LeaseName, NameError, Queue, StateKey};
use windlass_core::plan::Plan;
use windlass_core::range::BlockRange;
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::Identifier;
use windlass_core::time::Timestamp;
use windlass_engine::collect::chain::Halt;
use windlass_engine::collect::doubts::Doubts;
use windlass_engine::collect::health::ChainHealth;
use windlass_engine::collect::names::{ChainNames, paused_key};
use windlass_engine::collect::sight::Sight;
use windlass_engine::collect::verify::Verified;

use super::coverage::{Ledger, Ranges};
use super::health::HealthLook;
use super::known::Known;
use super::look::IndexLook;
use super::proven::Trust;
use super::{ChainView, HaltView, Overview};

/// No more ranges of a campaign are looked at.
const MAX_LISTED_RANGES: usize = 10_000;
/// A plan that changes while it is looked at is looked at again, so many times.
const MAX_LOOKS: usize = 5;

/// Looks how far everything is.
pub(crate) async fn read(store: &dyn Store, known: &Known) -> StoreResult<Overview> {
    let tables = store.list_tables().await?;
    let shared = Shared {
        known,
        leases: store.list_leases().await?,
        abandoned: store.list_abandoned_leases().await?,
        now: store.now().await?,
    };
    let configured = known.chains.iter().map(|chain| chain.id);
    let ids: BTreeSet<ChainId> = configured.chain(tables.iter().map(|info| info.spec.chain)).collect();
    let mut overview = Overview::default();
    let mut ledgers = BTreeMap::new();
    for id in ids {
        let (view, ledger, trust) = chain(store, &shared, id).await?;
        overview.chains.push(view);
        ledgers.insert(id, (ledger, trust));
    }
    // Rows are counted behind the ledgers: of what is told to be collected none is missing.
    let tables = store.list_tables().await?;
    for (name, chain) in index_names(known, &tables) {
        let Some(((ledger, trust), view)) =
            ledgers.get(&chain).zip(overview.chains.iter().find(|v| v.id == chain))
        else {
            continue;
        };
        let is_paused = store.state(&paused_key(name.as_str()).map_err(unnamed)?).await?.is_some();
        let look = IndexLook { known, tables: &tables, ledger, chain: view, trust, is_paused };
        overview.indexes.push(look.view(name));
    }
    Ok(overview)
}

/// Every index that is configured or has a table, in the order of names.
fn index_names(known: &Known, tables: &[TableInfo]) -> BTreeSet<(Identifier, ChainId)> {
    let configured = known.indexes.iter().map(|index| (index.name.clone(), index.chain));
    configured.chain(tables.iter().map(|info| (info.spec.index.clone(), info.spec.chain))).collect()
}

/// What is the same for all chains.
struct Shared<'a> {
    known: &'a Known,
    leases: Vec<Lease>,
    /// Those whose holder is known to have died.
    abandoned: Vec<LeaseName>,
    now: Timestamp,
}

async fn chain(
    store: &dyn Store,
    shared: &Shared<'_>,
    id: ChainId,
) -> StoreResult<(ChainView, Ledger, Trust)> {
    let names = ChainNames::new(id).map_err(unnamed)?;
    let (ledger, counts) = steady_ledger(store, &names).await?;
    let sight: Option<Sight> = kept(store, &names.sight).await?;
    let halt: Option<Halt> = kept(store, &names.halt).await?;
    let name = shared.known.chain(id).map(|chain| chain.name.as_str());
    let halt = halt.map(|halt| HaltView::of(halt, name));
    let record = ChainHealth::read(store, &names).await?;
    let lease = shared.leases.iter().find(|lease| lease.name == names.lease);
    let is_abandoned = shared.abandoned.contains(&names.lease);
    let configured = shared.known.chain(id);
    let health = HealthLook {
        now: shared.now,
        lease,
        is_abandoned,
        record: record.as_ref(),
        halt: halt.as_ref(),
        is_wanted: shared.known.has_index_on(id),
        grace: configured.map(|chain| chain.grace).unwrap_or_default(),
    };
    let health = health.view();
    // The record has the newest block as the endpoints know it; what was seen when the last
    // block was stored is older. Where nothing is known, nothing is said: where the head
    // begins is not where the chain ends.
    let fresh = record.as_ref().filter(|record| record.is_fresh(shared.now)).and_then(|record| record.head);
    let recorded = record.as_ref().and_then(|record| record.head).map(|head| head.number);
    let seen = fresh.map(|head| head.number);
    let seen = seen.or(sight.map(|sight| sight.latest.number).max(recorded));
    let head_age_ms = record
        .as_ref()
        .and_then(|record| record.head?.seen_at)
        .map(|seen| u64::try_from(shared.now.as_ms().saturating_sub(seen.as_ms())).unwrap_or(0));
    let head = seen.map(|seen| ledger.followed.map_or(seen, |followed| followed.max(seen)));
    let finalized = sight.map(|sight| sight.finalized.number);
    let final_followed = ledger.followed.zip(finalized).map(|(followed, finalized)| followed.min(finalized));
    let trust = trust(store, &names, &ledger, final_followed).await?;
    let start = ledger.plan.collected().map(|(_, source)| source.start).min();
    let view = ChainView {
        name: configured.map(|chain| chain.name.clone()),
        id,
        head,
        head_age_ms,
        finalized,
        followed: ledger.followed,
        lag_blocks: head.zip(ledger.followed).map(|(head, followed)| head.saturating_sub(followed)),
        follower: lease
            .filter(|lease| lease.expires_at > shared.now && !is_abandoned)
            .map(|lease| lease.owner.to_string()),
        reorgs: kept(store, &names.reorgs).await?.unwrap_or(0),
        open_ranges: counts.iter().map(|counts| counts.open).sum(),
        dead_ranges: counts.iter().map(|counts| counts.dead).sum(),
        misfits: store.count_events(id).await?,
        proven: trust.proven(start),
        false_endpoints: trust.false_endpoints(shared.now),
        halt,
        health,
    };
    Ok((view, ledger, trust))
}

/// What was verified of a chain, and what is in doubt.
async fn trust(
    store: &dyn Store,
    names: &ChainNames,
    ledger: &Ledger,
    final_followed: Option<u64>,
) -> StoreResult<Trust> {
    let verified = Verified::read(store, &names.verified).await?;
    let doubts = Doubts::read(store, &names.doubts).await?;
    let rechecked = store.cursor(&names.recheck).await?;
    let rechecked = rechecked.and_then(|cursor| u64::try_from(cursor.primary()).ok());
    let compared = kept(store, &names.compared).await?.unwrap_or_default();
    Ok(Trust::new(verified, doubts, &ledger.plan, (final_followed, rechecked), compared))
}

/// A chain's ledger, and how many ranges its campaigns have. A plan that was changed in
/// between would make nonsense of what was read before and behind it, so it is read
/// again: a plan changes rarely, and then once or twice in a row.
async fn steady_ledger(store: &dyn Store, names: &ChainNames) -> StoreResult<(Ledger, Vec<QueueCounts>)> {
    let mut looks = 1;
    loop {
        let ledger = ledger(store, names).await?;
        let mut counts = store.count_jobs().await?;
        let plan: Plan = kept(store, &names.plan).await?.unwrap_or_default();
        if plan.version == ledger.plan.version || looks == MAX_LOOKS {
            // Ranges of a campaign that is no more, as of an index that was dropped, are nobody's.
            let queues: Vec<Queue> =
                ledger.ranges.keys().filter_map(|id| names.campaign_queue(*id).ok()).collect();
            counts.retain(|counts| queues.contains(&counts.queue));
            return Ok((ledger, counts));
        }
        looks += 1;
    }
}

/// Cursors are read before ranges: what is claimed in between is not taken for stored.
async fn ledger(store: &dyn Store, names: &ChainNames) -> StoreResult<Ledger> {
    let plan: Plan = kept(store, &names.plan).await?.unwrap_or_default();
    let position = |cursor: windlass_core::cursor::Cursor| u64::try_from(cursor.primary()).ok();
    let mut ranges = BTreeMap::new();
    for campaign in &plan.campaigns {
        let cursor = names.campaign_cursor(campaign.id).map_err(unnamed)?;
        let queue = names.campaign_queue(campaign.id).map_err(unnamed)?;
        let next = store.cursor(&cursor).await?.and_then(position);
        let last = campaign.blocks.to;
        let mut open = listed(store, &queue, last, false).await?;
        let dead = listed(store, &queue, last, true).await?;
        if !dead.blocks.is_empty() {
            // One that was given up may have been tried again meanwhile.
            open.extend(listed(store, &queue, last, false).await?);
        }
        let Listed { blocks: mut open, unlisted } = open;
        let (dead, not_listed) = (dead.blocks.minus(&open), unlisted.into_iter().chain(dead.unlisted));
        for from in not_listed {
            open.extend(&BlockSet::from(BlockRange { from, to: u64::MAX }).minus(&dead));
        }
        ranges.insert(campaign.id, Ranges { next, open, dead });
    }
    let followed = store.cursor(&names.head).await?.and_then(position);
    Ok(Ledger { plan, ranges, followed })
}

/// The blocks of a campaign's ranges, as far as they were listed.
#[derive(Default)]
struct Listed {
    blocks: BlockSet,
    /// There are more ranges than were listed. Nobody knows where they are: perhaps anywhere
    /// from the lowest that is known on.
    unlisted: Option<u64>,
}

impl Listed {
    fn extend(&mut self, other: Self) {
        self.blocks.extend(&other.blocks);
        self.unlisted = self.unlisted.into_iter().chain(other.unlisted).min();
    }
}

/// The ranges of a campaign up to its last block that are open, or were given up.
async fn listed(store: &dyn Store, queue: &Queue, last_block: u64, dead: bool) -> StoreResult<Listed> {
    let mut jobs = Vec::new();
    let mut filter = JobFilter { queue: Some(queue.clone()), dead, after: None, limit: MAX_LISTED_JOBS };
    let mut unlisted = None;
    loop {
        let page = store.list_jobs(&filter).await?;
        let Some(last) = page.last() else { break };
        if jobs.len() >= MAX_LISTED_RANGES {
            let told = BlockRange::of_jobs(&jobs, last_block);
            unlisted = told.iter().flatten().map(|range| range.from).min();
            break;
        }
        filter.after = Some(last.id);
        let is_last = page.len() < MAX_LISTED_JOBS as usize;
        jobs.extend(page.into_iter().map(|job| (job.key, job.payload)));
        if is_last {
            break;
        }
    }
    let mut ranges: Vec<BlockRange> = BlockRange::of_jobs(&jobs, last_block).into_iter().flatten().collect();
    ranges.sort_unstable_by_key(|range| range.from);
    Ok(Listed { blocks: BlockSet::from(ranges), unlisted })
}

/// Something that was kept as JSON.
async fn kept<T: DeserializeOwned>(store: &dyn Store, key: &StateKey) -> StoreResult<Option<T>> {
    store.state(key).await?.map(|text| parse(key, &text)).transpose()
}

fn parse<T: DeserializeOwned>(what: &impl std::fmt::Display, text: &str) -> StoreResult<T> {
    serde_json::from_str(text)
        .map_err(|error| StoreError::Other(format!("what is stored as {what} makes no sense: {error}")))
}

fn unnamed(error: NameError) -> StoreError {
    StoreError::Invalid(error.to_string())
}

#[cfg(test)]
mod tests;
