//! Range claims.

use windlass_core::cursor::Cursor;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{ClaimedJob, DeletedJobs, JobClaim};
use windlass_core::range::{BlockRange, RANGE_CURSOR_SECONDARY, RangeClaim};
use windlass_core::store::check_job_queue;
use windlass_core::time::Timestamp;

use super::{Model, OpenJob};

impl Model {
    pub(crate) fn claim_range(
        &mut self,
        claim: &RangeClaim,
        now: Timestamp,
    ) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
        check_job_queue(&claim.queue)?;
        let next = self.required_cursor(&claim.cursor)?.primary();
        let Some(range) = BlockRange::next(next.unsigned_abs(), claim.size, claim.max_block) else {
            self.tally.hit("no range left");
            return Ok(None);
        };
        let key = range.lane_key();
        let lane = self.lane_id(claim.queue.as_str(), &key, now);
        if self.lane(lane).is_open() {
            self.tally.hit("range refused while its job is open");
            return Err(StoreError::Duplicate { queue: claim.queue.to_string(), key });
        }
        let after = Cursor::new(range.to as i64 + 1, RANGE_CURSOR_SECONDARY).expect("a valid secondary");
        self.cursors.insert(claim.cursor.clone(), after);
        let payload = serde_json::to_string(&range).expect("a range is plain data");
        let job = self.append(lane, OpenJob { payload, enqueued_at: now, not_before: None }, now);
        let hold = JobClaim {
            queue: claim.queue.clone(),
            owner: claim.owner.clone(),
            ttl: claim.ttl,
            max_jobs: 1,
            max_per_lane: 1,
            max_attempts: 1,
            deleted: DeletedJobs::Skip,
        };
        self.tally.hit("range claimed");
        Ok(Some((range, self.hand_out_new(job, &hold, now))))
    }
}
