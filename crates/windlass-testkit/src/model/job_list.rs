//! Listings and counts of jobs.

use std::collections::BTreeMap;

use windlass_core::job::{JobFilter, JobId, JobRow, JobState, MAX_LISTED_JOBS, QueueCounts};
use windlass_core::name::{LaneKey, Queue};
use windlass_core::store::SINK_QUEUE_PREFIX;
use windlass_core::time::Timestamp;

use super::Model;

impl Model {
    pub(crate) fn list_jobs(&self, filter: &JobFilter, now: Timestamp) -> Vec<JobRow> {
        let ids: Vec<JobId> = if filter.dead {
            self.dead.keys().copied().collect()
        } else {
            self.jobs.keys().copied().collect()
        };
        let wanted = |row: &JobRow| filter.queue.as_ref().is_none_or(|queue| *queue == row.queue);
        ids.into_iter()
            .filter(|id| filter.after.is_none_or(|after| *id > after))
            .filter_map(|id| self.show_job(id, now))
            .filter(wanted)
            .take(filter.limit.clamp(1, MAX_LISTED_JOBS) as usize)
            .collect()
    }

    pub(crate) fn show_job(&self, id: JobId, now: Timestamp) -> Option<JobRow> {
        self.open_row(id, now).or_else(|| self.dead_row(id))
    }

    fn open_row(&self, id: JobId, now: Timestamp) -> Option<JobRow> {
        let (job, lane) = (self.jobs.get(&id)?, self.lanes.get(&id.lane)?);
        let is_head = id.seq == lane.head();
        let is_running = lane.is_live(now) && id.seq <= lane.held;
        let is_tried = is_head && (lane.last_error.is_some() || lane.attempts > 0);
        Some(JobRow {
            id,
            queue: Queue::new(lane.queue.clone()).expect("it came from a queue"),
            key: LaneKey::new(lane.key.clone()).expect("it came from a key"),
            state: match (is_running, is_tried) {
                (true, _) => JobState::Running,
                (false, true) => JobState::Retrying,
                (false, false) => JobState::Waiting,
            },
            attempts: if is_head { lane.attempts } else { 0 },
            error: lane.last_error.clone().filter(|_| is_head),
            owner: lane.owner.clone().filter(|_| is_running),
            at: match is_head || is_running {
                true => lane.available_at,
                false => job.not_before.unwrap_or(job.enqueued_at),
            },
            enqueued_at: job.enqueued_at,
            payload: job.payload.clone(),
        })
    }

    fn dead_row(&self, id: JobId) -> Option<JobRow> {
        let dead = self.dead.get(&id).filter(|dead| dead.letter.is_none())?;
        Some(JobRow {
            id,
            queue: Queue::new(dead.queue.clone()).expect("it came from a queue"),
            key: LaneKey::new(dead.key.clone()).expect("it came from a key"),
            state: JobState::Dead,
            attempts: dead.attempts,
            error: Some(dead.reason.clone()),
            owner: None,
            at: dead.died_at,
            enqueued_at: dead.enqueued_at,
            payload: dead.payload.clone(),
        })
    }

    pub(crate) fn count_jobs(&self, now: Timestamp) -> Vec<QueueCounts> {
        let mut queues: BTreeMap<&str, QueueCounts> = BTreeMap::new();
        for lane in self.lanes.values().filter(|lane| is_of_jobs(&lane.queue) && lane.is_open()) {
            let counts = queues.entry(&lane.queue).or_insert_with(|| nothing(&lane.queue));
            counts.open += (lane.tail - lane.done) as u64;
            counts.running_lanes += u64::from(lane.is_live(now));
            counts.retrying_lanes += u64::from(lane.owner.is_none() && lane.attempts > 0);
        }
        for dead in self.dead.values().filter(|dead| is_of_jobs(&dead.queue)) {
            queues.entry(&dead.queue).or_insert_with(|| nothing(&dead.queue)).dead += 1;
        }
        queues.into_values().collect()
    }
}

fn is_of_jobs(queue: &str) -> bool {
    !queue.starts_with(SINK_QUEUE_PREFIX)
}

fn nothing(queue: &str) -> QueueCounts {
    let queue = Queue::new(queue.to_owned()).expect("it came from a queue");
    QueueCounts { queue, open: 0, running_lanes: 0, retrying_lanes: 0, dead: 0 }
}
