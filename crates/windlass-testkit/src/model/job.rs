//! Jobs: in, done, failed, dead and back.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobFailure, JobId, JobTicket, NewJob, bounded_error};
use windlass_core::name::Queue;
use windlass_core::retry::Verdict;
use windlass_core::store::SINK_QUEUE_PREFIX;
use windlass_core::time::Timestamp;

use super::{Dead, Lane, Model, OpenJob};

impl Model {
    pub(super) fn enqueue(&mut self, jobs: &[NewJob], now: Timestamp) -> StoreResult<Written> {
        let mut ids = Vec::with_capacity(jobs.len());
        for job in jobs {
            let lane = self.lane_id(job.queue.as_str(), job.key.as_str(), now);
            if job.unique && self.lane(lane).is_open() {
                self.tally.hit("unique job refused");
                return Err(StoreError::Duplicate { queue: job.queue.to_string(), key: job.key.to_string() });
            }
            let not_before = job.not_before;
            let open = OpenJob { payload: job.payload.clone(), enqueued_at: now, not_before };
            ids.push(self.append(lane, open, now));
        }
        Ok(Written::Jobs(ids))
    }

    pub(super) fn append(&mut self, lane: i64, job: OpenJob, now: Timestamp) -> JobId {
        let row = self.lane(lane);
        let id = JobId { lane, seq: row.tail + 1 };
        row.grow(id.seq, job.not_before.map_or(now, |due| due.max(now)));
        self.jobs.insert(id, job);
        id
    }

    pub(super) fn drop_queue(&mut self, queue: &Queue) -> Written {
        let is_of = |lane: &Lane| lane.queue == queue.as_str();
        let gone: BTreeSet<i64> =
            self.lanes.values().filter(|lane| is_of(lane)).map(|lane| lane.id).collect();
        let held = self.lanes.values().any(|lane| is_of(lane) && lane.owner.is_some());
        let before = self.jobs.len() + self.dead.len();
        self.lanes.retain(|id, _| !gone.contains(id));
        self.lane_ids.retain(|_, id| !gone.contains(id));
        self.jobs.retain(|id, _| !gone.contains(&id.lane));
        self.dead.retain(|_, dead| dead.queue != queue.as_str());
        if held {
            self.tally.hit("queue dropped under its holder");
        }
        Written::Rows((before - self.jobs.len() - self.dead.len()) as u64)
    }

    pub(super) fn complete_job(&mut self, ticket: JobTicket, now: Timestamp) -> StoreResult<Written> {
        match self.fenced_lane(ticket) {
            Ok(lane) => {
                let late = lane.available_at <= now;
                lane.finish(ticket.job.seq, now);
                self.jobs.remove(&ticket.job);
                self.forget_if_drained(ticket.job.lane);
                self.tally.hit(if late { "late holder completed" } else { "job completed" });
                Ok(Written::Done)
            }
            Err(error) => {
                self.tally.hit("zombie completion refused");
                Err(error)
            }
        }
    }

    pub(crate) fn complete_jobs(&mut self, tickets: &[JobTicket], now: Timestamp) -> Vec<JobTicket> {
        let mut lanes: BTreeMap<i64, Vec<JobTicket>> = BTreeMap::new();
        for ticket in tickets {
            lanes.entry(ticket.job.lane).or_default().push(*ticket);
        }
        let mut refused = Vec::new();
        for (lane, mut group) in lanes {
            group.sort_unstable();
            if self.is_run(lane, &group) {
                for ticket in group {
                    self.complete_job(ticket, now).expect("the whole run was checked");
                }
            } else {
                self.tally.hit("zombie completion refused");
                refused.extend(group);
            }
        }
        refused
    }

    /// Whether tickets are of one claim that stands, from the lane's first open job on without a gap.
    fn is_run(&self, lane: i64, tickets: &[JobTicket]) -> bool {
        let Some(lane) = self.lanes.get(&lane) else { return false };
        tickets.iter().all(|ticket| lane.stands(ticket.epoch))
            && tickets.iter().zip(lane.head()..).all(|(ticket, seq)| ticket.job.seq == seq)
    }

    pub(crate) fn extend_jobs(&mut self, tickets: &[JobTicket], until: Timestamp) -> Vec<JobTicket> {
        let mut refused = Vec::new();
        for ticket in tickets {
            match self.lanes.get_mut(&ticket.job.lane).filter(|lane| lane.stands(ticket.epoch)) {
                Some(lane) => lane.available_at = until,
                None => refused.push(*ticket),
            }
        }
        if !refused.is_empty() {
            self.tally.hit("zombie extension refused");
        }
        refused
    }

    pub(crate) fn fail_job(&mut self, failure: &JobFailure, now: Timestamp) -> StoreResult<()> {
        let id = failure.ticket.job;
        let lane = match self.fenced_lane(failure.ticket) {
            Ok(lane) => lane,
            Err(error) => {
                self.tally.hit("zombie failure refused");
                return Err(error);
            }
        };
        match failure.verdict {
            Verdict::RetryAfter(delay) => {
                lane.last_error = Some(bounded_error(&failure.error));
                lane.free(now.after(delay));
                self.tally.hit("retry put off");
            }
            Verdict::Dead => {
                let job = self.jobs.remove(&id).expect("the head of an open lane is a job");
                self.bury(id, Some(&failure.error), job, now);
                self.tally.hit("dead by verdict");
            }
        }
        Ok(())
    }

    pub(crate) fn release_jobs(&mut self, tickets: &[JobTicket], now: Timestamp) {
        for ticket in tickets {
            if let Some(lane) = self.lanes.get_mut(&ticket.job.lane).filter(|lane| lane.stands(ticket.epoch))
            {
                lane.attempts = lane.attempts.saturating_sub(1);
                lane.free(now);
                self.tally.hit("lane given back");
            }
        }
    }

    pub(crate) fn requeue_dead_jobs(&mut self, ids: &[JobId], now: Timestamp) -> Vec<JobId> {
        let mut requeued = Vec::new();
        for id in ids {
            let is_job = |dead: &&Dead| !dead.queue.starts_with(SINK_QUEUE_PREFIX);
            if let Some(dead) = self.dead.get(id).filter(is_job).cloned() {
                self.dead.remove(id);
                let lane = self.lane_id(&dead.queue, &dead.key, now);
                let job = OpenJob { payload: dead.payload, enqueued_at: now, not_before: None };
                requeued.push(self.append(lane, job, now));
                self.tally.hit("dead job requeued");
            }
        }
        requeued
    }
}
