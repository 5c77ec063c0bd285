//! A chain's ledger as it stands in the store.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use windlass_core::block_set::BlockSet;
use windlass_core::chain::{B256, BlockRef};
use windlass_core::commit::Write;
use windlass_core::cursor::Cursor;
use windlass_core::job::{JobFilter, JobRow, MAX_LISTED_JOBS, NO_PAYLOAD};
use windlass_core::name::{CursorName, LaneKey, Queue, StateKey};
use windlass_core::plan::{Campaign, MAX_PLAN_BYTES, Plan};
use windlass_core::range::{BlockRange, RANGE_CURSOR_SECONDARY};
use windlass_core::store::Store;

use super::error::CollectError;
use super::names::ChainNames;

/// The plan, if there is one yet.
pub async fn plan(store: &dyn Store, names: &ChainNames) -> Result<Plan, CollectError> {
    Ok(read(store, &names.plan).await?.unwrap_or_default())
}

/// Keeps a plan.
pub(super) fn put_plan(names: &ChainNames, plan: &Plan) -> Result<Write, CollectError> {
    let text = serde_json::to_string(plan).map_err(|error| CollectError::strange(&names.plan, error))?;
    if text.len() > MAX_PLAN_BYTES {
        return Err(CollectError::PlanTooLarge { sources: plan.sources.len(), bytes: text.len() });
    }
    Ok(Write::PutState { key: names.plan.clone(), value: Some(text) })
}

/// Something that was kept as JSON.
pub(super) async fn read<T: DeserializeOwned>(
    store: &dyn Store,
    key: &StateKey,
) -> Result<Option<T>, CollectError> {
    let Some(text) = store.state(key).await? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| CollectError::strange(key, error))
}

/// The block that a cursor stands at.
pub(super) async fn block(store: &dyn Store, name: &CursorName) -> Result<Option<BlockRef>, CollectError> {
    let Some(cursor) = store.cursor(name).await? else { return Ok(None) };
    let number = u64::try_from(cursor.primary()).ok();
    let hash = cursor.secondary().parse::<B256>().ok();
    match number.zip(hash) {
        Some((number, hash)) => Ok(Some(BlockRef { number, hash })),
        None => Err(CollectError::strange(name, format!("{cursor} is not a block"))),
    }
}

/// A cursor at a block.
pub(super) fn at(block: BlockRef) -> Cursor {
    Cursor::new(signed(block.number), block.hash.to_string()).expect("a hash is a fit secondary")
}

/// A cursor at the next block that nobody has claimed.
pub(super) fn next(block: u64) -> Cursor {
    Cursor::new(signed(block), RANGE_CURSOR_SECONDARY).expect("a word is a fit secondary")
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// For each campaign of a plan the next block that nobody has claimed.
pub(super) async fn next_blocks(
    store: &dyn Store,
    names: &ChainNames,
    plan: &Plan,
) -> Result<BTreeMap<u64, u64>, CollectError> {
    let mut next_blocks = BTreeMap::new();
    for campaign in &plan.campaigns {
        if let Some(cursor) = store.cursor(&names.campaign_cursor(campaign.id)?).await? {
            let next = u64::try_from(cursor.primary())
                .map_err(|_| CollectError::strange(&names.plan, format!("campaign at {cursor}")))?;
            next_blocks.insert(campaign.id, next);
        }
    }
    Ok(next_blocks)
}

/// For each campaign of a plan the blocks that were claimed and are not stored.
pub(super) async fn open_blocks(
    store: &dyn Store,
    names: &ChainNames,
    plan: &Plan,
) -> Result<BTreeMap<u64, BlockSet>, CollectError> {
    let mut open_blocks = BTreeMap::new();
    for campaign in &plan.campaigns {
        // Twice, with those that were given up in between: whichever way a range moves
        // from one list to the other meanwhile, it is seen.
        let open = ranges(store, names, campaign, &[false, true, false]).await?;
        open_blocks.insert(campaign.id, BlockSet::from(open));
    }
    Ok(open_blocks)
}

/// The blocks of a plan's campaigns whose ranges were given up.
pub(super) async fn dead_blocks(
    store: &dyn Store,
    names: &ChainNames,
    plan: &Plan,
) -> Result<BlockSet, CollectError> {
    let mut dead = Vec::new();
    for campaign in &plan.campaigns {
        dead.extend(ranges(store, names, campaign, &[true]).await?);
    }
    Ok(BlockSet::from(dead))
}

/// The range of a job whose payload was lost, as the ranges that are known bound it: those that
/// are open or were given up, and the first that nobody has claimed.
pub(super) async fn restored_range(
    store: &dyn Store,
    names: &ChainNames,
    campaign: &Campaign,
    key: &LaneKey,
) -> Result<BlockRange, CollectError> {
    let next = store.cursor(&names.campaign_cursor(campaign.id)?).await?;
    let next = next.and_then(|cursor| u64::try_from(cursor.primary()).ok()).unwrap_or(u64::MAX);
    let last = campaign.blocks.to.min(next.saturating_sub(1));
    let mut jobs = vec![(key.clone(), NO_PAYLOAD.to_owned())];
    for dead in [false, true] {
        jobs.extend(jobs_of(store, &names.campaign_queue(campaign.id)?, dead).await?);
    }
    BlockRange::of_jobs(&jobs, last)[0].ok_or_else(|| CollectError::strange("a range", key))
}

/// The jobs of a campaign that are listed as open.
pub(super) async fn open_jobs(
    store: &dyn Store,
    names: &ChainNames,
    campaign: &Campaign,
) -> Result<Vec<JobRow>, CollectError> {
    listed(store, &names.campaign_queue(campaign.id)?, false).await
}

/// Lane keys and payloads of all jobs of a queue, dead ones among them. Whichever way a job moves from one
/// list to the other meanwhile, it is seen.
pub(super) async fn all_jobs(
    store: &dyn Store,
    queue: &Queue,
) -> Result<BTreeMap<LaneKey, String>, CollectError> {
    let mut jobs = BTreeMap::new();
    for dead in [false, true, false] {
        jobs.extend(jobs_of(store, queue, dead).await?);
    }
    Ok(jobs)
}

/// The ranges of a campaign, as lists of its jobs tell them.
async fn ranges(
    store: &dyn Store,
    names: &ChainNames,
    campaign: &Campaign,
    lists: &[bool],
) -> Result<Vec<BlockRange>, CollectError> {
    let queue = names.campaign_queue(campaign.id)?;
    let mut jobs = Vec::new();
    for dead in lists {
        jobs.extend(jobs_of(store, &queue, *dead).await?);
    }
    let told = BlockRange::of_jobs(&jobs, campaign.blocks.to).into_iter().zip(&jobs);
    told.map(|(range, (key, _))| range.ok_or_else(|| CollectError::strange("a range", key))).collect()
}

/// Lane keys and payloads of a queue's jobs.
async fn jobs_of(
    store: &dyn Store,
    queue: &Queue,
    dead: bool,
) -> Result<Vec<(LaneKey, String)>, CollectError> {
    let jobs = listed(store, queue, dead).await?;
    Ok(jobs.into_iter().map(|job| (job.key, job.payload)).collect())
}

async fn listed(store: &dyn Store, queue: &Queue, dead: bool) -> Result<Vec<JobRow>, CollectError> {
    let (mut jobs, mut after) = (Vec::new(), None);
    loop {
        let filter = JobFilter { queue: Some(queue.clone()), dead, after, limit: MAX_LISTED_JOBS };
        let page = store.list_jobs(&filter).await?;
        let Some(last) = page.last() else { return Ok(jobs) };
        after = Some(last.id);
        jobs.extend(page);
    }
}

/// What ends a campaign: it loses its ranges, so that whoever is at one can no longer store
/// it, and no more can be claimed.
pub async fn end_campaign(
    store: &dyn Store,
    names: &ChainNames,
    campaign: &Campaign,
) -> Result<Vec<Write>, CollectError> {
    let name = names.campaign_cursor(campaign.id)?;
    let mut writes = vec![Write::DropQueue(names.campaign_queue(campaign.id)?)];
    if let Some(stood) = store.cursor(&name).await? {
        let to = next(campaign.blocks.to.saturating_add(1));
        writes.push(Write::ResetCursor { name, expected: stood, to });
    }
    Ok(writes)
}

/// What turns one plan into another: campaigns that were cut can be claimed no
/// further, those that are gone lose their ranges, and whoever is at one can no longer
/// store it; new ones begin at their first block. Refused if a range was claimed since
/// the cursors were read. To be written before anything is taken back: what such a
/// range has stored until then is taken back with the rest.
pub(super) fn change(
    names: &ChainNames,
    (old, new): (&Plan, &Plan),
    next_blocks: &BTreeMap<u64, u64>,
) -> Result<Vec<Write>, CollectError> {
    let mut writes = Vec::new();
    for gone in old.campaigns.iter().filter(|campaign| !new.has_campaign(campaign.id)) {
        writes.push(Write::DropQueue(names.campaign_queue(gone.id)?));
    }
    writes.push(put_plan(names, new)?);
    for campaign in &old.campaigns {
        let stood = next_blocks.get(&campaign.id).copied().unwrap_or(campaign.blocks.from);
        let kept = new.campaigns.iter().find(|other| other.id == campaign.id);
        if stood <= campaign.blocks.to && kept != Some(campaign) {
            writes.push(Write::ResetCursor {
                name: names.campaign_cursor(campaign.id)?,
                expected: next(stood),
                to: next(campaign.blocks.to + 1),
            });
        }
    }
    for campaign in new.campaigns.iter().filter(|campaign| campaign.id >= old.next_campaign) {
        let (name, start) = (names.campaign_cursor(campaign.id)?, next(campaign.blocks.from));
        writes.push(Write::SeedCursor { name, start });
    }
    Ok(writes)
}
