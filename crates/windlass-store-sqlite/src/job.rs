//! Jobs in lanes: put in, taken, finished, failed.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::OptionalExtension;
use windlass_core::commit::{Durability, Written};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{
    ClaimedJob, DeletedJobs, JobClaim, JobFailure, JobFilter, JobId, JobRow, JobTicket, MAX_CLAIMED_JOBS,
    NO_PAYLOAD, NewJob, QueueCounts,
};
use windlass_core::name::Queue;
use windlass_core::retry::Verdict;
use windlass_core::store::Jobs;
use windlass_core::time::Timestamp;

use crate::dead::Entry;
use crate::error::Translate;
use crate::lane::{self, Lane, fenced};
use crate::row::{get, timestamp};
use crate::writer::Tx;
use crate::{SqliteStore, dead, instance, job_list, unless_busy};

#[async_trait]
impl Jobs for SqliteStore {
    async fn claim_jobs(&self, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>> {
        claim.validate()?;
        let mut claim = claim.clone();
        claim.max_jobs = claim.max_jobs.min(MAX_CLAIMED_JOBS);
        let queue = claim.queue.to_string();
        // Most looks at a queue of ranges find nothing: they neither write nor sync.
        let is_there = move |tx: &Tx<'_>| Ok(lane::is_runnable(tx, &queue)? || instance::is_any_dead(tx)?);
        let work = move |tx: &Tx<'_>| instance::claim_or_free(tx, |tx| claim_lanes(tx, &claim));
        Ok(unless_busy(self.inner.writer.run_claim_if(is_there, work).await)?.unwrap_or_default())
    }

    async fn extend_jobs(&self, tickets: &[JobTicket], ttl: Duration) -> StoreResult<Vec<JobTicket>> {
        let tickets = tickets.to_vec();
        self.write(Durability::Relaxed, move |tx| {
            let until = tx.now.after(ttl);
            keep_failing(tickets, |ticket| lane::extend(tx, ticket.job.lane, ticket.epoch, until))
        })
        .await
    }

    async fn complete_jobs(&self, tickets: &[JobTicket]) -> StoreResult<Vec<JobTicket>> {
        let tickets = tickets.to_vec();
        self.write(Durability::Full, move |tx| {
            let mut refused = Vec::new();
            for (lane_id, tickets) in by_lane(tickets) {
                if !complete_run(tx, lane_id, &tickets)? {
                    refused.extend(tickets);
                }
            }
            Ok(refused)
        })
        .await
    }

    async fn fail_job(&self, failure: &JobFailure) -> StoreResult<()> {
        let failure = failure.clone();
        self.write(Durability::Full, move |tx| {
            let lane = require_head(tx, failure.ticket)?;
            match failure.verdict {
                Verdict::RetryAfter(delay) => lane::postpone(tx, &lane, &failure.error, tx.now.after(delay)),
                Verdict::Dead => bury_head(tx, &lane, &failure.error),
            }
        })
        .await
    }

    async fn release_jobs(&self, tickets: &[JobTicket]) -> StoreResult<()> {
        let tickets = tickets.to_vec();
        self.write(Durability::Relaxed, move |tx| {
            tickets.iter().try_for_each(|ticket| lane::release(tx, ticket.job.lane, ticket.epoch))
        })
        .await
    }

    async fn requeue_dead_jobs(&self, ids: &[JobId]) -> StoreResult<Vec<JobId>> {
        let ids = ids.to_vec();
        self.write(Durability::Full, move |tx| {
            let requeued = ids.into_iter().map(|id| requeue(tx, id)).collect::<StoreResult<Vec<_>>>()?;
            Ok(requeued.into_iter().flatten().collect())
        })
        .await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> StoreResult<Vec<JobRow>> {
        let filter = filter.clone();
        self.read(move |tx| job_list::list(tx, &filter)).await
    }

    async fn show_job(&self, id: JobId) -> StoreResult<Option<JobRow>> {
        self.read(move |tx| job_list::show(tx, id)).await
    }

    async fn count_jobs(&self) -> StoreResult<Vec<QueueCounts>> {
        self.read(job_list::count).await
    }
}

/// The tickets for which an operation said no.
fn keep_failing(
    tickets: Vec<JobTicket>,
    mut operation: impl FnMut(&JobTicket) -> StoreResult<bool>,
) -> StoreResult<Vec<JobTicket>> {
    let mut refused = Vec::new();
    for ticket in tickets {
        if !operation(&ticket)? {
            refused.push(ticket);
        }
    }
    Ok(refused)
}

fn by_lane(mut tickets: Vec<JobTicket>) -> BTreeMap<i64, Vec<JobTicket>> {
    tickets.sort();
    let mut lanes: BTreeMap<i64, Vec<JobTicket>> = BTreeMap::new();
    for ticket in tickets {
        lanes.entry(ticket.job.lane).or_default().push(ticket);
    }
    lanes
}

/// Puts jobs into their lanes.
pub(crate) fn enqueue(tx: &Tx<'_>, jobs: &[NewJob]) -> StoreResult<Written> {
    jobs.iter().map(|job| enqueue_one(tx, job)).collect::<StoreResult<_>>().map(Written::Jobs)
}

/// Puts one job into its lane.
pub(crate) fn enqueue_one(tx: &Tx<'_>, job: &NewJob) -> StoreResult<JobId> {
    let available_at = job.not_before.unwrap_or(tx.now).max(tx.now);
    let (lane_id, done_seq, seq) = append(tx, job.queue.as_str(), job.key.as_str(), available_at)?;
    if job.unique && done_seq + 1 < seq {
        return Err(StoreError::Duplicate { queue: job.queue.to_string(), key: job.key.to_string() });
    }
    insert(tx, JobId { lane: lane_id, seq }, &job.payload, job.not_before)
}

fn insert(tx: &Tx<'_>, id: JobId, payload: &str, not_before: Option<Timestamp>) -> StoreResult<JobId> {
    tx.execute(
        "INSERT INTO job (lane_id, seq, payload, enqueued_at_ms, not_before_ms) VALUES (?1, ?2, ?3, ?4, ?5)",
        (id.lane, id.seq, payload, tx.now.as_ms(), not_before.map(Timestamp::as_ms)),
    )?;
    Ok(id)
}

/// Lengthens a lane by one entry: its number, the last finished entry, the new one.
/// A drained lane becomes available at the given instant; one in use is left alone.
fn append(tx: &Tx<'_>, queue: &str, key: &str, available_at: Timestamp) -> StoreResult<(i64, i64, i64)> {
    tx.prepare(
        "INSERT INTO lane (queue, key, tail_seq, done_seq, available_at_ms) VALUES (?1, ?2, 1, 0, ?3) \
         ON CONFLICT (queue, key) DO UPDATE SET tail_seq = tail_seq + 1, \
             available_at_ms = CASE WHEN tail_seq = done_seq THEN ?3 ELSE available_at_ms END \
         RETURNING id, done_seq, tail_seq",
    )?
    .query_row((queue, key, available_at.as_ms()), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    .translate()
}

fn claim_lanes(tx: &Tx<'_>, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>> {
    let mut claimed = Vec::new();
    for lane in lane::runnable(tx, claim.queue.as_str(), claim.max_jobs)? {
        let room = claim.max_jobs.saturating_sub(claimed.len() as u32);
        if room == 0 {
            break;
        }
        let id = lane.id;
        match claim_lane(tx, lane, claim, room.min(claim.max_per_lane.max(1))) {
            // What is stored of this lane does not hold up the others.
            Err(error @ (StoreError::Corrupt(_) | StoreError::Other(_))) => lane::set_aside(tx, id, &error)?,
            jobs => claimed.extend(jobs?),
        }
    }
    Ok(claimed)
}

/// Takes a lane's first jobs that may start now, or gives up its head.
fn claim_lane(tx: &Tx<'_>, lane: Lane, claim: &JobClaim, limit: u32) -> StoreResult<Vec<ClaimedJob>> {
    if lane.attempts >= claim.max_attempts {
        bury_head(tx, &lane, &lane.exhaustion())?;
        return Ok(Vec::new());
    }
    let jobs = match claim.deleted {
        DeletedJobs::Skip => first_jobs(tx, &lane, limit)?,
        DeletedJobs::Restore => vec![restored_head(tx, &lane)?],
    };
    let first = jobs.first().map(|job| job.seq);
    let lane = match first {
        Some(seq) if seq == lane.head() => lane,
        next => match pass_deleted(tx, lane, next)? {
            Some(lane) => lane,
            None => return Ok(Vec::new()),
        },
    };
    let is_due = |job: &Open| job.not_before.is_none_or(|instant| instant <= tx.now);
    if let Some(instant) = jobs.first().filter(|job| !is_due(job)).and_then(|job| job.not_before) {
        lane::delay(tx, &lane, instant)?;
        return Ok(Vec::new());
    }
    // A run has no gap: behind one, the next claim goes on.
    let in_order = |(job, seq): &(Open, i64)| job.seq == *seq && is_due(job);
    let run: Vec<Open> =
        jobs.into_iter().zip(lane.head()..).take_while(in_order).map(|(job, _)| job).collect();
    let held_seq = run.last().map_or(lane.done_seq, |job| job.seq);
    let lane = lane::take(tx, lane, &claim.owner, held_seq, tx.now.after(claim.ttl))?;
    run.into_iter().map(|job| claimed(&lane, job.seq, job.payload)).collect()
}

/// A job as a claim reads it.
struct Open {
    seq: i64,
    payload: String,
    not_before: Option<Timestamp>,
}

/// The first jobs of a lane that are there.
fn first_jobs(tx: &Tx<'_>, lane: &Lane, limit: u32) -> StoreResult<Vec<Open>> {
    let mut statement = tx.prepare(
        "SELECT seq, payload, not_before_ms FROM job WHERE lane_id = ?1 AND seq > ?2 AND seq <= ?3 \
         ORDER BY seq LIMIT ?4",
    )?;
    let mut rows = statement.query((lane.id, lane.done_seq, lane.tail_seq, limit)).translate()?;
    let mut jobs = Vec::new();
    while let Some(row) = rows.next().translate()? {
        let not_before = get::<Option<i64>>(row, 2)?.map(Timestamp::from_ms);
        jobs.push(Open { seq: get(row, 0)?, payload: get(row, 1)?, not_before });
    }
    Ok(jobs)
}

/// The first job of a lane; one that is gone or cannot be read is put back without its payload.
/// Whoever held it is fenced by the claim.
fn restored_head(tx: &Tx<'_>, lane: &Lane) -> StoreResult<Open> {
    let head = lane.head();
    match first_jobs(tx, lane, 1) {
        Ok(mut jobs) => {
            if let Some(job) = jobs.pop().filter(|job| job.seq == head) {
                return Ok(job);
            }
        }
        Err(StoreError::Corrupt(_) | StoreError::Other(_)) => {}
        Err(error) => return Err(error),
    }
    tracing::warn!(
        queue = lane.queue,
        key = lane.key,
        "a job was deleted from the database or made unreadable; it is put back"
    );
    tx.execute("DELETE FROM job WHERE lane_id = ?1 AND seq = ?2", (lane.id, head))?;
    insert(tx, JobId { lane: lane.id, seq: head }, NO_PAYLOAD, None)?;
    Ok(Open { seq: head, payload: NO_PAYLOAD.to_owned(), not_before: None })
}

/// Moves a lane past jobs whose rows are gone, up to the next one that is there. Nobody holds it
/// then, so that who held one of them is fenced; a lane without any job left goes with them.
fn pass_deleted(tx: &Tx<'_>, lane: Lane, next: Option<i64>) -> StoreResult<Option<Lane>> {
    tracing::error!(
        queue = lane.queue,
        key = lane.key,
        "jobs were deleted from the database, and what they stood for is not done; payouts are taken up again"
    );
    let done_seq = next.map_or(lane.tail_seq, |seq| seq - 1);
    lane::pass(tx, &lane, done_seq)?;
    lane::forget_drained(tx, lane.id)?;
    Ok(next.map(|_| Lane {
        done_seq,
        attempts: 0,
        last_error: None,
        owner: None,
        available_at: tx.now,
        ..lane
    }))
}

/// A job that a lane's holder has been given.
pub(crate) fn claimed(lane: &Lane, seq: i64, payload: String) -> StoreResult<ClaimedJob> {
    let named = |error: windlass_core::name::NameError| StoreError::Corrupt(error.to_string());
    Ok(ClaimedJob {
        ticket: JobTicket { job: JobId { lane: lane.id, seq }, epoch: lane.epoch },
        queue: lane.queue.parse().map_err(named)?,
        key: lane.key.parse().map_err(named)?,
        payload,
        attempt: if seq == lane.head() { lane.attempts } else { 1 },
        lease_until: lane.available_at,
    })
}

/// The lane of a ticket, if it is still held under it and the job is its first open one.
pub(crate) fn require_head(tx: &Tx<'_>, ticket: JobTicket) -> StoreResult<Lane> {
    lane::held_under(tx, ticket.job.lane, ticket.epoch)?
        .filter(|lane| lane.head() == ticket.job.seq && ticket.job.seq <= lane.held_seq)
        .ok_or_else(|| fenced(format!("job {}", ticket.job), ticket.epoch))
}

/// Finishes a job.
pub(crate) fn complete(tx: &Tx<'_>, ticket: JobTicket) -> StoreResult<Written> {
    if complete_run(tx, ticket.job.lane, &[ticket])? {
        Ok(Written::Done)
    } else {
        Err(fenced(format!("job {}", ticket.job), ticket.epoch))
    }
}

/// Takes a queue away with everything in it; says how many jobs that were.
pub(crate) fn drop_queue(tx: &Tx<'_>, queue: &Queue) -> StoreResult<Written> {
    let lanes = "SELECT id FROM lane WHERE queue = ?1";
    let open = tx.execute(&format!("DELETE FROM job WHERE lane_id IN ({lanes})"), [queue.as_str()])?;
    let dead = tx.execute("DELETE FROM dead WHERE queue = ?1", [queue.as_str()])?;
    tx.execute("DELETE FROM lane WHERE queue = ?1", [queue.as_str()])?;
    Ok(Written::Rows((open + dead) as u64))
}

/// Finishes a run of one lane's jobs, sorted by number; `false` leaves them untouched. A
/// lane that has nothing left goes with them.
fn complete_run(tx: &Tx<'_>, lane_id: i64, tickets: &[JobTicket]) -> StoreResult<bool> {
    let (Some(first), Some(last)) = (tickets.first(), tickets.last()) else { return Ok(true) };
    let in_order = (first.job.seq..).zip(tickets).all(|(seq, ticket)| ticket.job.seq == seq);
    let one_claim = tickets.iter().all(|ticket| ticket.epoch == first.epoch);
    if !in_order || !one_claim || !lane::finish(tx, lane_id, first.epoch, first.job.seq, last.job.seq)? {
        return Ok(false);
    }
    tx.execute(
        "DELETE FROM job WHERE lane_id = ?1 AND seq BETWEEN ?2 AND ?3",
        (lane_id, first.job.seq, last.job.seq),
    )?;
    lane::forget_drained(tx, lane_id)?;
    Ok(true)
}

/// Moves a lane's head aside. One that is gone is passed over, and the next claim goes on behind it.
fn bury_head(tx: &Tx<'_>, lane: &Lane, reason: &str) -> StoreResult<()> {
    let head = JobId { lane: lane.id, seq: lane.head() };
    let entry = tx
        .prepare("SELECT payload, enqueued_at_ms FROM job WHERE lane_id = ?1 AND seq = ?2")?
        .query_row((head.lane, head.seq), |row| {
            Ok((|| {
                Ok::<_, StoreError>(Entry {
                    seq: head.seq,
                    payload: get(row, 0)?,
                    enqueued_at: timestamp(row, 1)?,
                    idempotency_key: None,
                    topic: None,
                })
            })())
        })
        .optional()
        .translate()?;
    let Some(entry) = entry.transpose()? else {
        lane::pass(tx, lane, head.seq)?;
        return lane::forget_drained(tx, lane.id);
    };
    dead::bury(tx, lane, &entry, reason)?;
    tx.execute("DELETE FROM job WHERE lane_id = ?1 AND seq = ?2", (head.lane, head.seq))?;
    lane::pass(tx, lane, head.seq)
}

fn requeue(tx: &Tx<'_>, id: JobId) -> StoreResult<Option<JobId>> {
    let Some(dead) = dead::find(tx, id)?.filter(|dead| dead.topic.is_none()) else { return Ok(None) };
    dead::remove(tx, id)?;
    let (lane_id, _, seq) = append(tx, &dead.queue, &dead.key, tx.now)?;
    insert(tx, JobId { lane: lane_id, seq }, &dead.payload, None).map(Some)
}
