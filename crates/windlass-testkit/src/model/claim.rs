//! Claiming jobs.

use windlass_core::error::StoreResult;
use windlass_core::job::{ClaimedJob, JobClaim, JobId, JobTicket, MAX_CLAIMED_JOBS};
use windlass_core::name::{LaneKey, Queue};
use windlass_core::time::Timestamp;

use super::Model;

impl Model {
    pub(crate) fn claim_jobs(&mut self, claim: &JobClaim, now: Timestamp) -> StoreResult<Vec<ClaimedJob>> {
        claim.validate()?;
        let room = claim.max_jobs.min(MAX_CLAIMED_JOBS) as usize;
        let mut claimed = Vec::new();
        for lane in self.runnable(claim.queue.as_str(), now, room) {
            let left = room - claimed.len();
            if left == 0 {
                break;
            }
            if self.lane(lane).attempts >= claim.max_attempts {
                self.give_up(lane, now);
                continue;
            }
            let last = self.run_end(lane, left.min(claim.max_per_lane as usize), now);
            claimed.extend(self.hand_out(lane, last, claim, now));
        }
        Ok(claimed)
    }

    /// The first job of a lane dies of its attempts; the next one is for a later claim.
    fn give_up(&mut self, lane: i64, now: Timestamp) {
        let id = JobId { lane, seq: self.lane(lane).head() };
        let job = self.jobs.remove(&id).expect("the head of an open lane is a job");
        self.bury(id, None, job, now);
        self.tally.hit("dead by attempts");
    }

    /// The last of up to `most` jobs from the head on that are all due; the one
    /// before the head when the head itself is not.
    fn run_end(&mut self, lane: i64, most: usize, now: Timestamp) -> i64 {
        let (head, tail) = (self.lane(lane).head(), self.lane(lane).tail);
        let wanted = (head + most as i64 - 1).min(tail);
        let due = |seq: &i64| self.jobs[&JobId { lane, seq: *seq }].not_before.is_none_or(|at| at <= now);
        let last = (head..=wanted).take_while(due).last().unwrap_or(head - 1);
        if last < head {
            let at = self.jobs[&JobId { lane, seq: head }].not_before;
            self.lane(lane).available_at = at.expect("only a job with an instant is not due");
            self.tally.hit("first job not due");
        } else if last < wanted {
            self.tally.hit("run cut before a job not due");
        }
        last
    }

    fn hand_out(&mut self, id: i64, last: i64, claim: &JobClaim, now: Timestamp) -> Vec<ClaimedJob> {
        let lane = self.lane(id);
        let head = lane.head();
        if last < head {
            return Vec::new();
        }
        let stolen = lane.owner.is_some();
        lane.take(&claim.owner, last, now.after(claim.ttl));
        let (epoch, attempts, lease_until) = (lane.epoch, lane.attempts, lane.available_at);
        let (queue, key) = (lane.queue.clone(), lane.key.clone());
        self.tally.hit(if stolen { "expired lane stolen" } else { "lane claimed" });
        let one = |seq: i64| ClaimedJob {
            ticket: JobTicket { job: JobId { lane: id, seq }, epoch },
            queue: Queue::new(queue.clone()).expect("it came from a queue"),
            key: LaneKey::new(key.clone()).expect("it came from a key"),
            payload: self.jobs[&JobId { lane: id, seq }].payload.clone(),
            attempt: if seq == head { attempts } else { 1 },
            lease_until,
        };
        (head..=last).map(one).collect()
    }

    /// The job that a range claim creates, held from the start.
    pub(super) fn hand_out_new(&mut self, job: JobId, claim: &JobClaim, now: Timestamp) -> ClaimedJob {
        self.hand_out(job.lane, job.seq, claim, now).pop().expect("its lane holds just this job")
    }
}
