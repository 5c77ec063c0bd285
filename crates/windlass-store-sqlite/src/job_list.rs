//! Jobs as people see them: pages, single ones, counts. Reads only.

use rusqlite::{OptionalExtension, Row};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobFilter, JobId, JobRow, JobState, MAX_LISTED_JOBS, NO_PAYLOAD, QueueCounts};
use windlass_core::lease::Epoch;
use windlass_core::open_job::OpenJob;
use windlass_core::store::SINK_QUEUE_PREFIX;
use windlass_core::time::Timestamp;

use crate::dead::{self, Dead};
use crate::error::Translate;
use crate::row::{get, name, optional_name, saturated, timestamp, unsigned};
use crate::writer::Tx;

/// A page of open or dead jobs, by id. A lane whose first job was deleted is listed with
/// [`NO_PAYLOAD`].
pub(crate) fn list(tx: &Tx<'_>, filter: &JobFilter) -> StoreResult<Vec<JobRow>> {
    let limit = filter.limit.clamp(1, MAX_LISTED_JOBS);
    if filter.dead {
        let wanted = |queue: &str| {
            let asked_for = filter.queue.as_ref().is_none_or(|only| queue == only.as_str());
            asked_for && !queue.starts_with(SINK_QUEUE_PREFIX)
        };
        return dead::list(tx, wanted, filter.after, limit)?.into_iter().map(dead_row).collect();
    }
    let after = filter.after.unwrap_or(JobId { lane: 0, seq: 0 });
    let mut statement = tx.prepare(
        "SELECT job.lane_id, job.seq, queue, key, done_seq, held_seq, owner, available_at_ms, attempts, \
             last_error, enqueued_at_ms, not_before_ms, payload, epoch, tail_seq \
         FROM job JOIN lane ON lane.id = job.lane_id \
         WHERE (job.lane_id, job.seq) > (?1, ?2) AND (?3 IS NULL OR queue = ?3) \
         UNION ALL \
         SELECT id, done_seq + 1, queue, key, done_seq, held_seq, owner, available_at_ms, attempts, \
             last_error, available_at_ms, NULL, ?4, epoch, tail_seq \
         FROM lane WHERE tail_seq > done_seq AND partition_id IS NULL \
             AND (id, done_seq + 1) > (?1, ?2) AND (?3 IS NULL OR queue = ?3) \
             AND NOT EXISTS (SELECT 1 FROM job WHERE lane_id = lane.id AND seq = done_seq + 1) \
         ORDER BY 1, 2",
    )?;
    let queue = filter.queue.as_ref().map(|queue| queue.as_str());
    let mut rows = statement.query((after.lane, after.seq, queue, NO_PAYLOAD)).translate()?;
    let mut jobs = Vec::new();
    // A page is full whatever cannot be read, so that a short one is the last one.
    while jobs.len() < limit as usize
        && let Some(row) = rows.next().translate()?
    {
        match open_row(row, tx.now) {
            Ok(job) => jobs.push(job),
            Err(error) => tracing::debug!(%error, "a job cannot be read; it is left out"),
        }
    }
    Ok(jobs)
}

/// One job, open or dead.
pub(crate) fn show(tx: &Tx<'_>, id: JobId) -> StoreResult<Option<JobRow>> {
    let mut statement = tx.prepare(
        "SELECT job.lane_id, job.seq, queue, key, done_seq, held_seq, owner, available_at_ms, attempts, \
             last_error, enqueued_at_ms, not_before_ms, payload, epoch, tail_seq \
         FROM job JOIN lane ON lane.id = job.lane_id WHERE job.lane_id = ?1 AND job.seq = ?2",
    )?;
    let open = statement.query_row((id.lane, id.seq), |row| Ok(open_row(row, tx.now)));
    match open.optional().translate()? {
        Some(job) => job.map(Some),
        None => dead::find(tx, id)?.filter(|dead| dead.topic.is_none()).map(dead_row).transpose(),
    }
}

fn open_row(row: &Row<'_>, now: Timestamp) -> StoreResult<JobRow> {
    let open = OpenJob {
        id: JobId { lane: get(row, 0)?, seq: get(row, 1)? },
        queue: name(row, 2)?,
        key: name(row, 3)?,
        done_seq: get(row, 4)?,
        held_seq: get(row, 5)?,
        owner: optional_name(row, 6)?,
        available_at: timestamp(row, 7)?,
        attempts: saturated(row, 8)?,
        last_error: get(row, 9)?,
        enqueued_at: timestamp(row, 10)?,
        not_before: get::<Option<i64>>(row, 11)?.map(Timestamp::from_ms),
        payload: get(row, 12)?,
        epoch: Epoch(get(row, 13)?),
        tail_seq: get(row, 14)?,
    };
    Ok(open.into_row(now))
}

fn dead_row(dead: Dead) -> StoreResult<JobRow> {
    let named = |error: windlass_core::name::NameError| StoreError::Corrupt(error.to_string());
    Ok(JobRow {
        id: dead.id,
        queue: dead.queue.parse().map_err(named)?,
        key: dead.key.parse().map_err(named)?,
        state: JobState::Dead,
        attempts: dead.attempts,
        error: Some(dead.reason),
        owner: None,
        at: dead.died_at,
        enqueued_at: dead.enqueued_at,
        payload: dead.payload,
    })
}

/// How every job queue stands that has a job. Only open lanes are read, by their own index:
/// this is asked for every second.
pub(crate) fn count(tx: &Tx<'_>) -> StoreResult<Vec<QueueCounts>> {
    let mut statement = tx.prepare(
        "SELECT queue, sum(open), sum(is_running), sum(is_retrying), sum(is_dead) FROM ( \
             SELECT queue, tail_seq - done_seq AS open, 0 AS is_dead, \
                 owner IS NOT NULL AND available_at_ms > ?1 AS is_running, \
                 owner IS NULL AND attempts > 0 AS is_retrying \
             FROM lane INDEXED BY lane_runnable WHERE tail_seq > done_seq AND partition_id IS NULL \
             UNION ALL \
             SELECT queue, 0, 1, 0, 0 FROM dead WHERE topic IS NULL) \
         GROUP BY queue ORDER BY queue",
    )?;
    let mut rows = statement.query([tx.now.as_ms()]).translate()?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next().translate()? {
        counts.push(QueueCounts {
            queue: name(row, 0)?,
            open: unsigned(row, 1)?,
            running_lanes: unsigned(row, 2)?,
            retrying_lanes: unsigned(row, 3)?,
            dead: unsigned(row, 4)?,
        });
    }
    Ok(counts)
}
