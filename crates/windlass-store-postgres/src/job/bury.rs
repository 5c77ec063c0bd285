//! Jobs that are given up, and put in again.

use std::collections::HashMap;

use windlass_core::job::{JobId, bounded_error};
use windlass_core::name::{LaneKey, Queue};

use super::enqueue::{Entry, append};
use crate::error::Outcome;
use crate::lane::Lane;
use crate::row::{get, name};
use crate::tx::Tx;

/// Moves the first jobs of locked lanes aside. The lanes themselves are for the caller to move.
pub(super) async fn bury(tx: &Tx, lanes: &[Lane], reason: Option<&str>) -> Outcome<()> {
    let Some(now) = lanes.first().map(|lane| lane.now.as_ms()) else { return Ok(()) };
    let ids: Vec<i64> = lanes.iter().map(|lane| lane.id).collect();
    let why = |lane: &Lane| reason.map_or_else(|| lane.exhaustion(), bounded_error);
    let reasons: Vec<String> = lanes.iter().map(why).collect();
    tx.execute(
        "WITH gone AS (
             DELETE FROM job USING lane, unnest($1::BIGINT[], $2::TEXT[]) AS given (id, reason)
             WHERE lane.id = given.id AND lane_id = lane.id AND seq = done_seq + 1
             RETURNING lane_id, seq, queue, key, payload, attempts, reason, enqueued_at_ms)
         INSERT INTO dead (lane_id, seq, queue, key, payload, attempts, reason, enqueued_at_ms, died_at_ms)
         SELECT gone.*, $3 FROM gone",
        &[&ids, &reasons, &now],
    )
    .await?;
    Ok(())
}

/// Puts dead jobs at the end of their lanes again, in the order of the ids.
pub(super) async fn requeue(tx: &Tx, ids: &[JobId]) -> Outcome<Vec<JobId>> {
    let (lanes, seqs): (Vec<i64>, Vec<i64>) = ids.iter().map(|id| (id.lane, id.seq)).unzip();
    let rows = tx
        .query(
            "DELETE FROM dead USING unnest($1::BIGINT[], $2::BIGINT[]) AS given (lane_id, seq)
             WHERE dead.lane_id = given.lane_id AND dead.seq = given.seq AND topic IS NULL
             RETURNING dead.lane_id, dead.seq, queue, key, payload",
            &[&lanes, &seqs],
        )
        .await?;
    let mut dead: HashMap<JobId, (Queue, LaneKey, String)> = HashMap::new();
    for row in &rows {
        let id = JobId { lane: get(row, 0)?, seq: get(row, 1)? };
        dead.insert(id, (name(row, 2)?, name(row, 3)?, get(row, 4)?));
    }
    let wanted: Vec<_> = ids.iter().filter_map(|id| dead.remove(id)).collect();
    let entries: Vec<Entry<'_>> = wanted
        .iter()
        .map(|(queue, key, payload)| Entry { queue, key, payload, not_before: None, unique: false })
        .collect();
    append(tx, &entries).await
}
