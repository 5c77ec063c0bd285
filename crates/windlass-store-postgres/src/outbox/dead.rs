//! Messages that a sink has given up, and those written again for it.

use std::collections::HashMap;

use tokio_postgres::Row;
use windlass_core::job::{JobId, bounded_error};
use windlass_core::name::Sink;
use windlass_core::outbox::{DeadMessage, Message};
use windlass_core::store::{SINK_QUEUE_PREFIX, sink_queue};

use super::deliver::next_for;
use super::publish::{Entry, append};
use crate::error::Outcome;
use crate::lane::Lane;
use crate::row::{damaged, get, name, timestamp, unsigned};
use crate::tx::Tx;

/// The most dead messages a listing returns.
const MAX_LISTED_MESSAGES: u32 = 1_000;

/// Sets the first message for a locked lane's sink aside; returns its number, to
/// which the caller moves the lane (to the end, when there is none).
pub(super) async fn bury(tx: &Tx, lane: &Lane, reason: &str) -> Outcome<i64> {
    let Some(seq) = next_for(tx, lane, lane.done_seq, lane.tail_seq).await? else {
        return Ok(lane.tail_seq);
    };
    tx.execute(
        "INSERT INTO dead (lane_id, seq, queue, key, payload, attempts, reason, enqueued_at_ms, died_at_ms,
             idempotency_key, topic)
         SELECT lane.id, seq, queue, key, payload, attempts, $3, created_at_ms, $4, idempotency_key, topic
         FROM lane JOIN message USING (partition_id) WHERE lane.id = $1 AND seq = $2",
        &[&lane.id, &seq, &bounded_error(reason), &lane.now.as_ms()],
    )
    .await?;
    Ok(seq)
}

/// Dead messages of one sink or all, by lane and number.
pub(super) async fn list(tx: &Tx, sink: Option<&Sink>, limit: u32) -> Outcome<Vec<DeadMessage>> {
    let rows = tx
        .query(
            "SELECT lane_id, seq, queue, key, attempts, reason, died_at_ms, idempotency_key, topic, payload,
                 enqueued_at_ms
             FROM dead WHERE topic IS NOT NULL AND ($1::TEXT IS NULL OR queue = $1)
             ORDER BY lane_id, seq LIMIT $2",
            &[&sink.map(sink_queue), &i64::from(limit.clamp(1, MAX_LISTED_MESSAGES))],
        )
        .await?;
    rows.iter().map(read).collect()
}

fn read(row: &Row) -> Outcome<DeadMessage> {
    let queue: &str = get(row, 2)?;
    let sink = queue.strip_prefix(SINK_QUEUE_PREFIX).and_then(|sink| sink.parse().ok());
    Ok(DeadMessage {
        id: JobId { lane: get(row, 0)?, seq: get(row, 1)? },
        sink: sink.ok_or_else(|| damaged(format!("{queue} is not a sink's queue")))?,
        partition: name(row, 3)?,
        attempts: unsigned(row, 4)?,
        reason: get(row, 5)?,
        died_at: timestamp(row, 6)?,
        message: Message {
            seq: get(row, 1)?,
            idempotency_key: get(row, 7)?,
            topic: get(row, 8)?,
            payload: get(row, 9)?,
            created_at: timestamp(row, 10)?,
        },
    })
}

impl<'a> From<&'a DeadMessage> for Entry<'a> {
    fn from(dead: &'a DeadMessage) -> Self {
        Self {
            partition: dead.partition.as_str(),
            idempotency_key: &dead.message.idempotency_key,
            topic: &dead.message.topic,
            payload: &dead.message.payload,
            only_sink: Some(dead.sink.as_str()),
        }
    }
}

/// Writes dead messages again, in the order of the ids; returns how many of them were dead.
pub(super) async fn requeue(tx: &Tx, ids: &[JobId]) -> Outcome<u64> {
    let (lanes, seqs): (Vec<i64>, Vec<i64>) = ids.iter().map(|id| (id.lane, id.seq)).unzip();
    let rows = tx
        .query(
            "DELETE FROM dead USING unnest($1::BIGINT[], $2::BIGINT[]) AS given (lane_id, seq)
             WHERE dead.lane_id = given.lane_id AND dead.seq = given.seq AND topic IS NOT NULL
             RETURNING dead.lane_id, dead.seq, queue, key, attempts, reason, died_at_ms, idempotency_key, topic,
                 payload, enqueued_at_ms",
            &[&lanes, &seqs],
        )
        .await?;
    let mut dead: HashMap<JobId, DeadMessage> = HashMap::new();
    for row in &rows {
        let message = read(row)?;
        dead.insert(message.id, message);
    }
    let wanted: Vec<DeadMessage> = ids.iter().filter_map(|id| dead.remove(id)).collect();
    let entries: Vec<Entry<'_>> = wanted.iter().map(Entry::from).collect();
    Ok(append(tx, &entries).await?.len() as u64)
}
