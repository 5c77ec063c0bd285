//! Claimed ranges: the cursor moves and the job comes into being in one
//! transaction, so no crash can leave a range that nobody has.

use async_trait::async_trait;
use windlass_core::cursor::Cursor;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{ClaimedJob, JobId, JobTicket, NewJob};
use windlass_core::lease::Epoch;
use windlass_core::name::LaneKey;
use windlass_core::range::{BlockRange, RANGE_CURSOR_SECONDARY, RangeClaim};
use windlass_core::store::{Ranges, check_job_queue};
use windlass_core::time::duration_ms;

use crate::error::Outcome;
use crate::row::{damaged, get, signed, timestamp, unsigned};
use crate::tx::Tx;
use crate::{PostgresStore, cursor, job};

#[async_trait]
impl Ranges for PostgresStore {
    async fn claim_range(&self, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
        check_job_queue(&claim.queue)?;
        Ok(self.claim(claim, |tx, claim| Box::pin(claim_next(tx, claim))).await?.flatten())
    }
}

async fn claim_next(tx: &Tx, claim: &RangeClaim) -> Outcome<Option<(BlockRange, ClaimedJob)>> {
    let stored = cursor::lock(tx, &claim.cursor).await?;
    let next = u64::try_from(stored.primary())
        .map_err(|_| StoreError::Invalid(format!("cursor {} is not at a block", claim.cursor)))?;
    let Some(range) = BlockRange::next(next, claim.size, claim.max_block) else { return Ok(None) };
    let behind = Cursor::new(signed("block", range.to.saturating_add(1))?, RANGE_CURSOR_SECONDARY)
        .map_err(|error| invalid(&error))?;
    cursor::put(tx, &claim.cursor, &behind).await?;
    let payload = serde_json::to_string(&range).map_err(|error| invalid(&error))?;
    let key = LaneKey::new(range.lane_key()).map_err(|error| invalid(&error))?;
    let job = NewJob { unique: true, ..NewJob::new(claim.queue.clone(), key, payload) };
    let ids = job::enqueue(tx, std::slice::from_ref(&job)).await?;
    let id = ids.first().ok_or_else(|| damaged("a lane did not grow"))?;
    Ok(Some((range, hold(tx, *id, job, claim).await?)))
}

/// Gives a lane's only job to the claimant from the start.
async fn hold(tx: &Tx, id: JobId, job: NewJob, claim: &RangeClaim) -> Outcome<ClaimedJob> {
    let row = tx
        .query_one(
            "UPDATE lane SET epoch = epoch + 1, owner = $3, held_seq = $2, attempts = attempts + 1,
                 available_at_ms = windlass_after(windlass_now($4), $5), instance_id = $6
             WHERE id = $1 RETURNING epoch, attempts, available_at_ms",
            &[&id.lane, &id.seq, &claim.owner.as_str(), &tx.now_ms, &duration_ms(claim.ttl), &tx.instance],
        )
        .await?;
    Ok(ClaimedJob {
        ticket: JobTicket { job: id, epoch: Epoch(get(&row, 0)?) },
        queue: job.queue,
        key: job.key,
        payload: job.payload,
        attempt: unsigned(&row, 1)?,
        lease_until: timestamp(&row, 2)?,
    })
}

fn invalid(error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Invalid(error.to_string())
}
