//! Lanes: what jobs and deliveries have in common.

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobId, JobTicket, bounded_error};
use windlass_core::lease::Epoch;
use windlass_core::name::Owner;
use windlass_core::store::SINK_QUEUE_PREFIX;
use windlass_core::time::Timestamp;

use super::{Dead, Model};

/// A lane: one serial key of one queue.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    pub(crate) id: i64,
    pub(crate) queue: String,
    pub(crate) key: String,
    pub(crate) tail: i64,
    pub(crate) done: i64,
    pub(crate) held: i64,
    pub(crate) epoch: Epoch,
    pub(crate) available_at: Timestamp,
    pub(crate) owner: Option<Owner>,
    pub(crate) attempts: u32,
    pub(crate) last_error: Option<String>,
}

impl Lane {
    pub(crate) fn head(&self) -> i64 {
        self.done + 1
    }

    pub(crate) fn is_open(&self) -> bool {
        self.tail > self.done
    }

    pub(crate) fn is_runnable(&self, now: Timestamp) -> bool {
        self.is_open() && self.available_at <= now
    }

    /// Held, and its time has not run out.
    pub(crate) fn is_live(&self, now: Timestamp) -> bool {
        self.owner.is_some() && self.available_at > now
    }

    /// Whether a claim under that epoch still stands.
    pub(crate) fn stands(&self, epoch: Epoch) -> bool {
        self.epoch == epoch && self.owner.is_some()
    }

    pub(crate) fn free(&mut self, available_at: Timestamp) {
        self.owner = None;
        self.available_at = available_at;
    }

    /// Everything up to `seq` is over; the next entry begins without a past.
    pub(crate) fn pass(&mut self, seq: i64) {
        self.done = seq;
        self.attempts = 0;
        self.last_error = None;
    }

    /// Finishes up to `seq`. The last entry that was handed out frees the lane;
    /// before that the next one is under way, as its first attempt.
    pub(crate) fn finish(&mut self, seq: i64, now: Timestamp) {
        self.pass(seq);
        if seq == self.held {
            self.free(now);
        } else {
            self.attempts = 1;
        }
    }

    /// The lane goes up to `tail` from now on; an idle one wakes at `from`.
    pub(crate) fn grow(&mut self, tail: i64, from: Timestamp) {
        if !self.is_open() {
            self.available_at = from;
            self.attempts = 0;
        }
        self.tail = tail;
    }

    pub(crate) fn take(&mut self, owner: &Owner, held: i64, until: Timestamp) {
        self.epoch = self.epoch.next();
        self.owner = Some(owner.clone());
        self.held = held;
        self.available_at = until;
        self.attempts += 1;
    }
}

impl Model {
    /// The lane's number, of a new lane if need be.
    pub(super) fn lane_id(&mut self, queue: &str, key: &str, now: Timestamp) -> i64 {
        let id = *self.lane_ids.entry((queue.to_owned(), key.to_owned())).or_insert_with(|| {
            self.last_lane += 1;
            self.last_lane
        });
        self.lanes.entry(id).or_insert_with(|| Lane {
            id,
            queue: queue.to_owned(),
            key: key.to_owned(),
            tail: 0,
            done: 0,
            held: 0,
            epoch: Epoch(0),
            available_at: now,
            owner: None,
            attempts: 0,
            last_error: None,
        });
        id
    }

    pub(super) fn lane(&mut self, id: i64) -> &mut Lane {
        self.lanes.get_mut(&id).expect("a lane that was just found")
    }

    /// The lanes of a queue that can be taken, the longest waiting first.
    pub(super) fn runnable(&self, queue: &str, now: Timestamp, limit: usize) -> Vec<i64> {
        let mut found: Vec<(Timestamp, i64)> = self
            .lanes
            .values()
            .filter(|lane| lane.queue == queue && lane.is_runnable(now))
            .map(|lane| (lane.available_at, lane.id))
            .collect();
        found.sort_unstable();
        found.into_iter().take(limit).map(|(_, id)| id).collect()
    }

    /// The lane of a ticket whose job is its first open one.
    pub(super) fn fenced_lane(&mut self, ticket: JobTicket) -> StoreResult<&mut Lane> {
        let refusal = StoreError::Fenced { what: format!("job {}", ticket.job), epoch: ticket.epoch.0 };
        self.lanes
            .get_mut(&ticket.job.lane)
            .filter(|lane| lane.stands(ticket.epoch) && lane.head() == ticket.job.seq)
            .ok_or(refusal)
    }

    /// A lane of jobs that has nothing left is no more. Its number is never used again,
    /// and so nobody who held it can write.
    pub(super) fn forget_if_drained(&mut self, id: i64) {
        let is_of_jobs = |lane: &&Lane| !lane.queue.starts_with(SINK_QUEUE_PREFIX);
        if let Some(lane) = self.lanes.get(&id).filter(is_of_jobs).filter(|lane| !lane.is_open()) {
            self.lane_ids.remove(&(lane.queue.clone(), lane.key.clone()));
            self.lanes.remove(&id);
            self.tally.hit("lane worked off");
        }
    }

    /// Sets an entry of a lane aside for a person, and frees the lane.
    pub(super) fn bury(&mut self, id: JobId, reason: Option<&str>, entry: super::OpenJob, now: Timestamp) {
        self.bury_letter(id, reason, entry, None, now);
    }

    pub(super) fn bury_letter(
        &mut self,
        id: JobId,
        reason: Option<&str>,
        entry: super::OpenJob,
        letter: Option<(String, String)>,
        now: Timestamp,
    ) {
        let lane = self.lane(id.lane);
        let silent = format!("given up after {} attempts without an answer", lane.attempts);
        let reason = reason.map(str::to_owned).or(lane.last_error.clone()).unwrap_or(silent);
        let attempts = lane.attempts;
        lane.pass(id.seq);
        lane.free(now);
        let (queue, key) = (lane.queue.clone(), lane.key.clone());
        let dead = Dead {
            queue,
            key,
            payload: entry.payload,
            attempts,
            reason: bounded_error(&reason),
            enqueued_at: entry.enqueued_at,
            died_at: now,
            letter,
        };
        self.dead.insert(id, dead);
    }
}
