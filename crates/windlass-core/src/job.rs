//! Jobs in lanes.
//!
//! A lane is the serial key of a queue: its jobs are numbered from 1, run in that
//! order, and have one holder at a time. Claiming a lane raises its epoch;
//! whatever the holder writes afterwards carries it. Only the first open job of a
//! lane can be under way or waiting for a retry, so attempts, delay and last
//! error belong to the lane, and a finished job leaves nothing but its number.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{StoreError, StoreResult};
use crate::lease::Epoch;
use crate::name::{LaneKey, Owner, Queue};
use crate::retry::Verdict;
use crate::store::check_job_queue;
use crate::time::Timestamp;

/// The most jobs one claim hands out.
pub const MAX_CLAIMED_JOBS: u32 = 10_000;
/// The most rows a listing returns.
pub const MAX_LISTED_JOBS: u32 = 1_000;
/// The payload of a job that was restored: what it said is not known any more.
pub const NO_PAYLOAD: &str = "null";
/// The largest payload, in bytes.
pub const MAX_PAYLOAD_BYTES: usize = 1 << 20;
/// An error text is cut to this many bytes before it is stored.
pub const MAX_ERROR_BYTES: usize = 4_096;

/// Where a job stands: the lane's number and its number in the lane. Never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId {
    /// The lane.
    pub lane: i64,
    /// The job's number in it.
    pub seq: i64,
}

/// The text is not `lane-seq`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a job id has the form `12-3`, not `{0}`")]
pub struct JobIdError(String);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.lane, self.seq)
    }
}

impl FromStr for JobId {
    type Err = JobIdError;
    fn from_str(text: &str) -> Result<Self, JobIdError> {
        let part = |text: &str| text.parse().ok().filter(|number: &i64| *number > 0);
        text.split_once('-')
            .and_then(|(lane, seq)| Some(Self { lane: part(lane)?, seq: part(seq)? }))
            .ok_or_else(|| JobIdError(text.to_owned()))
    }
}

impl TryFrom<String> for JobId {
    type Error = JobIdError;
    fn try_from(text: String) -> Result<Self, JobIdError> {
        text.parse()
    }
}

impl From<JobId> for String {
    fn from(id: JobId) -> String {
        id.to_string()
    }
}

/// A job to be put into a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewJob {
    /// The kind of work.
    pub queue: Queue,
    /// The lane: jobs of one key run one after another.
    pub key: LaneKey,
    /// What to do, as JSON text.
    pub payload: String,
    /// Not to be started earlier.
    pub not_before: Option<Timestamp>,
    /// Refuse the job when its lane has an open one.
    pub unique: bool,
}

impl NewJob {
    /// A job that may start at once, behind whatever its lane holds.
    pub fn new(queue: Queue, key: LaneKey, payload: impl Into<String>) -> Self {
        Self { queue, key, payload: payload.into(), not_before: None, unique: false }
    }
}

/// A wish for work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobClaim {
    /// Of which kind.
    pub queue: Queue,
    /// For whom.
    pub owner: Owner,
    /// For how long, unless extended.
    pub ttl: Duration,
    /// At most this many jobs in all.
    pub max_jobs: u32,
    /// At most this many of one lane.
    pub max_per_lane: u32,
    /// A lane whose first job was begun this often without an end gives it up.
    pub max_attempts: u32,
    /// What becomes of jobs whose rows somebody deleted.
    pub deleted: DeletedJobs,
}

/// What a claim does about jobs whose rows were deleted from the database, or cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeletedJobs {
    /// The lane goes on behind those that were deleted; one that cannot be read is set aside.
    #[default]
    Skip,
    /// They are put back with [`NO_PAYLOAD`] and handed out: the lane's key says what is to be done.
    Restore,
}

impl JobClaim {
    /// Refuses a claim on the outbox's queues, and one that would give up every job unseen.
    pub fn validate(&self) -> StoreResult<()> {
        check_job_queue(&self.queue)?;
        check_attempts(self.max_attempts)
    }
}

/// Refuses a limit under which nothing could ever be tried.
pub(crate) fn check_attempts(max_attempts: u32) -> StoreResult<()> {
    if max_attempts == 0 {
        return Err(StoreError::Invalid("a claim allows at least one attempt".to_owned()));
    }
    Ok(())
}

/// A job that its claimant now holds, together with its lane.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimedJob {
    /// The right to finish it.
    pub ticket: JobTicket,
    /// The kind of work.
    pub queue: Queue,
    /// The lane's key.
    pub key: LaneKey,
    /// What to do, as JSON text.
    pub payload: String,
    /// 1 for the first try. Counted for the lane's first open job.
    pub attempt: u32,
    /// When the lane is free for others again.
    pub lease_until: Timestamp,
}

/// The right to finish a job, as long as nobody else has taken its lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct JobTicket {
    /// Which job.
    pub job: JobId,
    /// Under which taking of the lane.
    pub epoch: Epoch,
}

/// A failed try, and what is to become of the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFailure {
    /// Which job.
    pub ticket: JobTicket,
    /// What went wrong.
    pub error: String,
    /// Again later, or never.
    pub verdict: Verdict,
}

/// Where an open or dead job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Can be claimed, or waits for its turn in the lane.
    Waiting,
    /// Failed, and waits for its next try.
    Retrying,
    /// Somebody works on it.
    Running,
    /// Given up; waits for a person.
    Dead,
}

impl fmt::Display for JobState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Waiting => "waiting",
            Self::Retrying => "retrying",
            Self::Running => "running",
            Self::Dead => "dead",
        })
    }
}

/// A job as listings show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRow {
    /// Which job.
    pub id: JobId,
    /// The kind of work.
    pub queue: Queue,
    /// The lane's key.
    pub key: LaneKey,
    /// Where it stands.
    pub state: JobState,
    /// Tries so far.
    pub attempts: u32,
    /// The last thing that went wrong.
    pub error: Option<String>,
    /// Who works on it.
    pub owner: Option<Owner>,
    /// When it can be claimed (waiting, retrying), is free again (running) or died (dead).
    pub at: Timestamp,
    /// When it came in.
    pub enqueued_at: Timestamp,
    /// What to do, as JSON text.
    pub payload: String,
}

/// Which jobs to list: those after `after`, in the order of their ids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JobFilter {
    /// Only this kind of work.
    pub queue: Option<Queue>,
    /// Only dead ones, or only open ones (the default).
    pub dead: bool,
    /// The last id of the page before.
    pub after: Option<JobId>,
    /// At most so many, up to [`MAX_LISTED_JOBS`].
    pub limit: u32,
}

/// How a queue stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueCounts {
    /// The kind of work.
    pub queue: Queue,
    /// Open jobs, whoever holds them.
    pub open: u64,
    /// Lanes somebody holds.
    pub running_lanes: u64,
    /// Lanes that wait for a retry.
    pub retrying_lanes: u64,
    /// Jobs given up.
    pub dead: u64,
}

/// An error text as it is stored: cut to a limit, and without NUL, which PostgreSQL cannot keep.
pub fn bounded_error(error: &str) -> String {
    let mut end = error.len().min(MAX_ERROR_BYTES);
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    error[..end].replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_ids_read_back_strictly() {
        let id = JobId { lane: 12, seq: 3 };
        assert_eq!(id.to_string().parse(), Ok(id));
        for text in ["", "12", "12-", "-3", "0-1", "1-0", "1-2-3", "a-b", "1--2"] {
            assert!(text.parse::<JobId>().is_err(), "{text}");
        }
    }

    #[test]
    fn errors_are_cut_between_characters() {
        let long = "é".repeat(MAX_ERROR_BYTES);
        assert_eq!(bounded_error(&long).len(), MAX_ERROR_BYTES);
        assert_eq!(bounded_error(&format!("x{long}")).len(), MAX_ERROR_BYTES - 1);
        assert_eq!(bounded_error("short"), "short");
        assert_eq!(bounded_error("a\0b"), "a\u{fffd}b");
    }
}
