//! A chain's ledger as it stands in the store.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use windlass_core::chain::{B256, BlockRef};
use windlass_core::commit::Write;
use windlass_core::cursor::Cursor;
use windlass_core::name::{CursorName, StateKey};
use windlass_core::plan::Plan;
use windlass_core::range::RANGE_CURSOR_SECONDARY;
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

/// What turns one plan into another: campaigns that were cut can be claimed no
/// further, new ones from their first block on. Refused if a range was claimed
/// since the cursors were read.
pub(super) fn change(
    names: &ChainNames,
    (old, new): (&Plan, &Plan),
    next_blocks: &BTreeMap<u64, u64>,
) -> Result<Vec<Write>, CollectError> {
    let mut writes = vec![put_plan(names, new)?];
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
