//! An open job as a listing shows it: what its lane says about it, and what follows.

use crate::job::{JobId, JobRow, JobState};
use crate::lease::Epoch;
use crate::name::{LaneKey, Owner, Queue};
use crate::time::Timestamp;

/// No epoch and no number of an entry is as large: a lane with one was altered, and is never taken.
pub const MAX_LANE_NUMBER: i64 = 1 << 62;

/// When a job can be claimed that its lane never comes to: the end of the year 9999.
pub const NEVER: Timestamp = Timestamp::from_ms(253_402_300_799_999);

/// An open job with its lane's columns, as a store reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenJob {
    /// Which job.
    pub id: JobId,
    /// The lane's queue.
    pub queue: Queue,
    /// The lane's key.
    pub key: LaneKey,
    /// How often the lane was taken.
    pub epoch: Epoch,
    /// The lane's last entry.
    pub tail_seq: i64,
    /// The lane's last finished entry.
    pub done_seq: i64,
    /// The lane's last entry that was handed out.
    pub held_seq: i64,
    /// Who holds the lane, or held it last without an end.
    pub owner: Option<Owner>,
    /// When the lane can be taken.
    pub available_at: Timestamp,
    /// How often the lane's first open entry was begun.
    pub attempts: u32,
    /// What went wrong with it last.
    pub last_error: Option<String>,
    /// When the job came in.
    pub enqueued_at: Timestamp,
    /// Not to be started earlier.
    pub not_before: Option<Timestamp>,
    /// What to do, as JSON text.
    pub payload: String,
}

impl OpenJob {
    /// Whether its lane ever comes to it. One that does not was altered in the database.
    fn is_in_reach(&self) -> bool {
        self.done_seq < self.id.seq
            && self.id.seq <= self.tail_seq
            && self.epoch.0.max(self.done_seq) < MAX_LANE_NUMBER
    }

    /// The job as it stands at `now`. Attempts and errors are the first open job's;
    /// those behind it have none of their own.
    pub fn into_row(self, now: Timestamp) -> JobRow {
        let is_head = self.id.seq == self.done_seq + 1;
        let running = self.owner.is_some() && self.available_at > now && self.id.seq <= self.held_seq;
        let tried = is_head && (self.attempts > 0 || self.last_error.is_some());
        let is_in_reach = self.is_in_reach();
        let waits_for_lane = is_head || running;
        JobRow {
            id: self.id,
            queue: self.queue,
            key: self.key,
            state: match (running, tried) {
                (true, _) => JobState::Running,
                (false, true) => JobState::Retrying,
                (false, false) => JobState::Waiting,
            },
            attempts: if is_head { self.attempts } else { 0 },
            error: self.last_error.filter(|_| is_head),
            owner: self.owner.filter(|_| running),
            at: match waits_for_lane {
                _ if !is_in_reach => NEVER,
                true => self.available_at,
                false => self.not_before.unwrap_or(self.enqueued_at),
            },
            enqueued_at: self.enqueued_at,
            payload: self.payload,
        }
    }
}

/// Why a claim gives up a lane's first entry: its last error, or that nobody ever answered.
pub fn exhaustion(last_error: Option<&str>, attempts: u32) -> String {
    last_error.map_or_else(|| format!("given up after {attempts} attempts without an answer"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(seq: i64) -> OpenJob {
        OpenJob {
            id: JobId { lane: 1, seq },
            queue: Queue::new("q").expect("a name"),
            key: LaneKey::new("k").expect("a name"),
            epoch: Epoch(3),
            tail_seq: 7,
            done_seq: 4,
            held_seq: 6,
            owner: Some(Owner::new("w").expect("a name")),
            available_at: Timestamp::from_ms(100),
            attempts: 2,
            last_error: Some("it broke".into()),
            enqueued_at: Timestamp::from_ms(10),
            not_before: None,
            payload: "{}".into(),
        }
    }

    #[test]
    fn what_is_held_runs_until_the_hold_is_over() {
        let states = |now| [5, 6, 7].map(|seq| job(seq).into_row(Timestamp::from_ms(now)).state);
        assert_eq!(states(99), [JobState::Running, JobState::Running, JobState::Waiting]);
        assert_eq!(states(100), [JobState::Retrying, JobState::Waiting, JobState::Waiting]);
    }

    #[test]
    fn a_job_that_its_lane_never_comes_to_is_never_due() {
        let out_of_reach = |altered: OpenJob| altered.into_row(Timestamp::from_ms(99)).at == NEVER;
        assert!(!out_of_reach(job(5)));
        assert!(out_of_reach(OpenJob { done_seq: 5, ..job(5) }));
        assert!(out_of_reach(OpenJob { tail_seq: 4, ..job(5) }));
        assert!(out_of_reach(OpenJob { epoch: Epoch(i64::MAX), ..job(5) }));
    }

    #[test]
    fn only_the_first_open_job_has_a_past() {
        let rows = [5, 6].map(|seq| job(seq).into_row(Timestamp::from_ms(100)));
        assert_eq!((rows[0].attempts, rows[0].error.as_deref()), (2, Some("it broke")));
        assert_eq!((rows[1].attempts, rows[1].error.as_deref()), (0, None));
        assert_eq!((rows[0].at, rows[1].at), (Timestamp::from_ms(100), Timestamp::from_ms(10)));
    }
}
