//! Jobs as people see them: pages, single ones, counts. Reads only.

use tokio_postgres::Row;
use windlass_core::job::{JobFilter, JobId, JobRow, JobState, MAX_LISTED_JOBS, NO_PAYLOAD, QueueCounts};
use windlass_core::lease::Epoch;
use windlass_core::open_job::OpenJob;
use windlass_core::time::Timestamp;

use crate::error::Outcome;
use crate::row::{get, name, optional_name, saturated, timestamp, unsigned};
use crate::tx::Tx;

/// Begins a query whose rows [`open_row`] takes; `$1` is the caller's clock.
macro_rules! select_open {
    ($rest:literal) => {
        concat!(
            "SELECT lane_id, seq, queue, key, done_seq, held_seq, owner, available_at_ms, attempts, last_error, ",
            "enqueued_at_ms, not_before_ms, payload, windlass_now($1), epoch, tail_seq FROM job JOIN lane ON lane.id = lane_id ",
            $rest
        )
    };
}

/// Begins a query whose rows [`dead_row`] takes; an entry without a topic is a job.
macro_rules! select_dead {
    ($rest:literal) => {
        concat!(
            "SELECT lane_id, seq, queue, key, attempts, reason, died_at_ms, enqueued_at_ms, payload ",
            "FROM dead WHERE topic IS NULL ",
            $rest
        )
    };
}

/// A page of open or dead jobs, by id. A lane whose first job was deleted is listed with
/// [`NO_PAYLOAD`].
pub(super) async fn page(tx: &Tx, filter: &JobFilter) -> Outcome<Vec<JobRow>> {
    let limit = i64::from(filter.limit.clamp(1, MAX_LISTED_JOBS));
    let after = filter.after.unwrap_or(JobId { lane: 0, seq: 0 });
    let queue = filter.queue.as_ref().map(|queue| queue.as_str());
    if filter.dead {
        let sql = select_dead!(
            "AND (lane_id, seq) > ($1, $2) AND ($3::TEXT IS NULL OR queue = $3)
             ORDER BY lane_id, seq LIMIT $4"
        );
        let rows = tx.query(sql, &[&after.lane, &after.seq, &queue, &limit]).await?;
        return rows.iter().map(dead_row).collect();
    }
    let sql = select_open!(
        "WHERE (lane_id, seq) > ($2, $3) AND ($4::TEXT IS NULL OR queue = $4)
         UNION ALL
         SELECT id, done_seq + 1, queue, key, done_seq, held_seq, owner, available_at_ms, attempts, last_error,
             available_at_ms, NULL, $6, windlass_now($1), epoch, tail_seq
         FROM lane WHERE tail_seq > done_seq AND partition_id IS NULL
             AND (id, done_seq + 1) > ($2, $3) AND ($4::TEXT IS NULL OR queue = $4)
             AND NOT EXISTS (SELECT 1 FROM job WHERE lane_id = lane.id AND seq = done_seq + 1)
         ORDER BY 1, 2 LIMIT $5"
    );
    let (mut jobs, mut after) = (Vec::new(), after);
    // A page is full whatever cannot be read, so that a short one is the last one.
    loop {
        let room = limit - jobs.len() as i64;
        let rows = tx.query(sql, &[&tx.now_ms, &after.lane, &after.seq, &queue, &room, &NO_PAYLOAD]).await?;
        for row in &rows {
            match open_row(row) {
                Ok(job) => jobs.push(job),
                Err(error) => tracing::debug!(%error, "a job cannot be read; it is left out"),
            }
        }
        let Some(last) = rows.last().filter(|_| rows.len() as i64 == room) else { return Ok(jobs) };
        after = JobId { lane: get(last, 0)?, seq: get(last, 1)? };
        if jobs.len() as i64 == limit {
            return Ok(jobs);
        }
    }
}

/// One job, open or dead.
pub(super) async fn show(tx: &Tx, id: JobId) -> Outcome<Option<JobRow>> {
    let open = select_open!("WHERE lane_id = $2 AND seq = $3");
    if let Some(row) = tx.query_opt(open, &[&tx.now_ms, &id.lane, &id.seq]).await? {
        return open_row(&row).map(Some);
    }
    let dead = select_dead!("AND lane_id = $1 AND seq = $2");
    tx.query_opt(dead, &[&id.lane, &id.seq]).await?.as_ref().map(dead_row).transpose()
}

fn open_row(row: &Row) -> Outcome<JobRow> {
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
        epoch: Epoch(get(row, 14)?),
        tail_seq: get(row, 15)?,
    };
    Ok(open.into_row(timestamp(row, 13)?))
}

fn dead_row(row: &Row) -> Outcome<JobRow> {
    Ok(JobRow {
        id: JobId { lane: get(row, 0)?, seq: get(row, 1)? },
        queue: name(row, 2)?,
        key: name(row, 3)?,
        state: JobState::Dead,
        attempts: saturated(row, 4)?,
        error: get(row, 5)?,
        owner: None,
        at: timestamp(row, 6)?,
        enqueued_at: timestamp(row, 7)?,
        payload: get(row, 8)?,
    })
}

/// How every job queue stands that has a job. Only open lanes are read, by their own index:
/// this is asked for every second.
pub(super) async fn count(tx: &Tx) -> Outcome<Vec<QueueCounts>> {
    let rows = tx
        .query(
            "WITH clock AS MATERIALIZED (SELECT windlass_now($1) AS now_ms),
             counted AS (
                 SELECT queue, sum(tail_seq - done_seq)::BIGINT AS open, 0::BIGINT AS dead,
                     count(*) FILTER (WHERE owner IS NOT NULL AND available_at_ms > now_ms) AS running,
                     count(*) FILTER (WHERE owner IS NULL AND attempts > 0) AS retrying
                 FROM lane, clock WHERE tail_seq > done_seq AND partition_id IS NULL GROUP BY queue
                 UNION ALL
                 SELECT queue, 0, count(*), 0, 0 FROM dead WHERE topic IS NULL GROUP BY queue)
             SELECT queue, sum(open)::BIGINT, sum(running)::BIGINT, sum(retrying)::BIGINT, sum(dead)::BIGINT
             FROM counted GROUP BY queue ORDER BY queue",
            &[&tx.now_ms],
        )
        .await?;
    let read = |row| {
        Ok(QueueCounts {
            queue: name(row, 0)?,
            open: unsigned(row, 1)?,
            running_lanes: unsigned(row, 2)?,
            retrying_lanes: unsigned(row, 3)?,
            dead: unsigned(row, 4)?,
        })
    };
    rows.iter().map(read).collect()
}
