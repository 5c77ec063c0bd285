//! What was given up: a lane's head, moved aside with the reason.

use rusqlite::{OptionalExtension, Row};
use windlass_core::error::StoreResult;
use windlass_core::job::{JobId, bounded_error};
use windlass_core::time::Timestamp;

use crate::error::Translate;
use crate::lane::Lane;
use crate::row::{get, saturated, timestamp};
use crate::writer::Tx;

/// An entry of a lane that was given up.
#[derive(Debug, Clone)]
pub(crate) struct Dead {
    pub(crate) id: JobId,
    pub(crate) queue: String,
    pub(crate) key: String,
    pub(crate) payload: String,
    pub(crate) attempts: u32,
    pub(crate) reason: String,
    pub(crate) enqueued_at: Timestamp,
    pub(crate) died_at: Timestamp,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) topic: Option<String>,
}

/// What a lane's entry says, whatever table it comes from.
pub(crate) struct Entry {
    pub(crate) seq: i64,
    pub(crate) payload: String,
    pub(crate) enqueued_at: Timestamp,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) topic: Option<String>,
}

/// Keeps an entry of a lane for a person.
pub(crate) fn bury(tx: &Tx<'_>, lane: &Lane, entry: &Entry, reason: &str) -> StoreResult<()> {
    tx.execute(
        "INSERT INTO dead (lane_id, seq, queue, key, payload, attempts, reason, enqueued_at_ms, died_at_ms, \
             idempotency_key, topic) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        (
            lane.id,
            entry.seq,
            &lane.queue,
            &lane.key,
            &entry.payload,
            lane.attempts,
            bounded_error(reason),
            entry.enqueued_at.as_ms(),
            tx.now.as_ms(),
            &entry.idempotency_key,
            &entry.topic,
        ),
    )?;
    Ok(())
}

/// The dead entry with that id.
pub(crate) fn find(tx: &Tx<'_>, id: JobId) -> StoreResult<Option<Dead>> {
    tx.prepare(
        "SELECT lane_id, seq, queue, key, payload, attempts, reason, enqueued_at_ms, died_at_ms, \
             idempotency_key, topic FROM dead WHERE lane_id = ?1 AND seq = ?2",
    )?
    .query_row((id.lane, id.seq), |row| Ok(read(row)))
    .optional()
    .translate()?
    .transpose()
}

/// Dead entries behind `after` whose queue lies within the given bounds, in order.
pub(crate) fn list(
    tx: &Tx<'_>,
    wanted: impl Fn(&str) -> bool,
    after: Option<JobId>,
    limit: u32,
) -> StoreResult<Vec<Dead>> {
    let mut statement = tx.prepare(
        "SELECT lane_id, seq, queue, key, payload, attempts, reason, enqueued_at_ms, died_at_ms, \
             idempotency_key, topic FROM dead WHERE (lane_id, seq) > (?1, ?2) ORDER BY lane_id, seq",
    )?;
    let after = after.unwrap_or(JobId { lane: 0, seq: 0 });
    let mut rows = statement.query((after.lane, after.seq)).translate()?;
    let mut found = Vec::new();
    while found.len() < limit as usize
        && let Some(row) = rows.next().translate()?
    {
        let dead = read(row)?;
        if wanted(&dead.queue) {
            found.push(dead);
        }
    }
    Ok(found)
}

/// Takes a dead entry away.
pub(crate) fn remove(tx: &Tx<'_>, id: JobId) -> StoreResult<()> {
    tx.execute("DELETE FROM dead WHERE lane_id = ?1 AND seq = ?2", (id.lane, id.seq))?;
    Ok(())
}

fn read(row: &Row<'_>) -> StoreResult<Dead> {
    Ok(Dead {
        id: JobId { lane: get(row, 0)?, seq: get(row, 1)? },
        queue: get(row, 2)?,
        key: get(row, 3)?,
        payload: get(row, 4)?,
        attempts: saturated(row, 5)?,
        reason: get(row, 6)?,
        enqueued_at: timestamp(row, 7)?,
        died_at: timestamp(row, 8)?,
        idempotency_key: get(row, 9)?,
        topic: get(row, 10)?,
    })
}
