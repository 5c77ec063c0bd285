//! Block ranges: the cursor moves and the job exists, or neither.

use async_trait::async_trait;
use windlass_core::cursor::Cursor;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{ClaimedJob, NewJob};
use windlass_core::name::LaneKey;
use windlass_core::range::{BlockRange, RANGE_CURSOR_SECONDARY, RangeClaim};
use windlass_core::store::{Ranges, check_job_queue};

use crate::row::signed;
use crate::writer::Tx;
use crate::writing::Mode;
use crate::{SqliteStore, cursor, job, lane, unless_busy};

#[async_trait]
impl Ranges for SqliteStore {
    async fn claim_range(&self, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
        check_job_queue(&claim.queue)?;
        let claim = claim.clone();
        // What a range's blocks hold can be read again, so its claim need not outlive a loss of power.
        let claimed = self.inner.writer.run(Mode::RelaxedClaim, move |tx| claim_next(tx, &claim)).await;
        Ok(unless_busy(claimed)?.flatten())
    }
}

fn claim_next(tx: &Tx<'_>, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
    let stored = cursor::require(tx, &claim.cursor)?;
    let next = u64::try_from(stored.primary())
        .map_err(|_| StoreError::Invalid(format!("cursor {} is not at a block", claim.cursor)))?;
    let Some(range) = BlockRange::next(next, claim.size, claim.max_block) else { return Ok(None) };
    let invalid = |error: &dyn std::fmt::Display| StoreError::Invalid(error.to_string());
    let behind = Cursor::new(signed("block", range.to.saturating_add(1))?, RANGE_CURSOR_SECONDARY)
        .map_err(|error| invalid(&error))?;
    cursor::put(tx, &claim.cursor, &behind)?;
    let payload = serde_json::to_string(&range).map_err(|error| invalid(&error))?;
    let key = LaneKey::new(range.lane_key()).map_err(|error| invalid(&error))?;
    let new = NewJob { unique: true, ..NewJob::new(claim.queue.clone(), key, payload.clone()) };
    let id = job::enqueue_one(tx, &new)?;
    let found = lane::find(tx, id.lane)?;
    let lane = found.ok_or_else(|| StoreError::Corrupt(format!("lane {} is missing", id.lane)))?;
    let lane = lane::take(tx, lane, &claim.owner, id.seq, tx.now.after(claim.ttl))?;
    Ok(Some((range, job::claimed(&lane, id.seq, payload)?)))
}
