//! Sinks: made known, counted, and what all of them are past forgotten.

use windlass_core::name::Sink;
use windlass_core::outbox::{SinkDepth, SinkStart};
use windlass_core::store::{SINK_QUEUE_PREFIX, sink_queue};

use crate::error::Outcome;
use crate::row::{get, name, unsigned};
use crate::tx::Tx;

/// Makes a sink known, with a lane over every partition there is. No message is
/// written meanwhile, so none is missed between the two.
pub(super) async fn register(tx: &Tx, sink: &Sink, start: SinkStart) -> Outcome<bool> {
    tx.execute("LOCK TABLE sink IN EXCLUSIVE MODE", &[]).await?;
    let sql = "INSERT INTO sink (name) VALUES ($1) ON CONFLICT DO NOTHING";
    if tx.execute(sql, &[&sink.as_str()]).await? == 0 {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO lane (queue, key, partition_id, tail_seq, done_seq, available_at_ms)
         SELECT $1, name, id, tail_seq, CASE WHEN $2 THEN floor_seq ELSE tail_seq END, (SELECT windlass_now($3))
         FROM partition ORDER BY name",
        &[&sink_queue(sink), &(start == SinkStart::Beginning), &tx.now_ms],
    )
    .await?;
    Ok(true)
}

/// Forgets messages that every sink is past, up to `limit`, and touches only the
/// partitions that they are in. A partition that is being written to is left for
/// the next time, and while no sink is known nothing is forgotten. No sink can
/// register meanwhile: it might want these messages.
pub(super) async fn prune(tx: &Tx, limit: u32) -> Outcome<u64> {
    tx.execute("LOCK TABLE sink IN ROW SHARE MODE", &[]).await?;
    let rows = tx.query(LOCK_PRUNABLE, &[&i64::from(limit)]).await?;
    let mut room = i64::from(limit);
    let (mut ids, mut floors) = (Vec::new(), Vec::new());
    for row in &rows {
        let (id, floor, passed): (i64, i64, i64) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
        let moved = room.min(passed - floor);
        if moved > 0 {
            ids.push(id);
            floors.push(floor + moved);
            room -= moved;
        }
    }
    if ids.is_empty() {
        return Ok(0);
    }
    tx.execute(
        "WITH moved AS (
             UPDATE partition SET floor_seq = new.floor_seq
             FROM unnest($1::BIGINT[], $2::BIGINT[]) AS new (id, floor_seq) WHERE partition.id = new.id
             RETURNING partition.id, new.floor_seq)
         DELETE FROM message USING moved WHERE partition_id = id AND seq <= floor_seq",
        &[&ids, &floors],
    )
    .await
}

/// Locks the first partitions that together have `$1` messages to forget. Each has at
/// least one, so no more than `$1` of them are looked at; of those, the ones that
/// begin within the first `$1` messages are needed.
const LOCK_PRUNABLE: &str = "
    WITH prunable AS MATERIALIZED (
        SELECT id, passed_seq, passed_seq - floor_seq AS count
        FROM partition, LATERAL (
            SELECT min(done_seq) AS passed_seq FROM lane WHERE partition_id = partition.id) AS sinks
        WHERE passed_seq > floor_seq ORDER BY id LIMIT $1),
    needed AS MATERIALIZED (
        SELECT id, passed_seq
        FROM (SELECT id, passed_seq, sum(count) OVER (ORDER BY id) - count AS before FROM prunable) AS summed
        WHERE before < $1)
    SELECT id, floor_seq, passed_seq FROM partition JOIN needed USING (id)
    ORDER BY id FOR UPDATE OF partition SKIP LOCKED";

/// How far each sink is.
pub(super) async fn depth(tx: &Tx) -> Outcome<Vec<SinkDepth>> {
    let rows = tx
        .query(
            "SELECT name,
                 (SELECT COALESCE(sum(tail_seq - done_seq), 0)::BIGINT FROM lane WHERE queue = $1 || name),
                 (SELECT count(*) FROM dead WHERE queue = $1 || name)
             FROM sink ORDER BY name",
            &[&SINK_QUEUE_PREFIX],
        )
        .await?;
    let read =
        |row| Ok(SinkDepth { sink: name(row, 0)?, waiting: unsigned(row, 1)?, dead: unsigned(row, 2)? });
    rows.iter().map(read).collect()
}
