//! Writing messages: their partitions grow first, in one fixed order, and so give
//! the numbers; then every sink's lanes learn of it.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::join;
use windlass_core::outbox::NewMessage;
use windlass_core::store::SINK_QUEUE_PREFIX;

use crate::error::{Outcome, together};
use crate::row::{damaged, get};
use crate::tx::Tx;

/// A message on its way into a partition.
pub(super) struct Entry<'a> {
    pub(super) partition: &'a str,
    pub(super) idempotency_key: &'a str,
    pub(super) topic: &'a str,
    pub(super) payload: &'a str,
    /// For this sink alone.
    pub(super) only_sink: Option<&'a str>,
}

impl<'a> From<&'a NewMessage> for Entry<'a> {
    fn from(message: &'a NewMessage) -> Self {
        let NewMessage { partition, idempotency_key, topic, payload } = message;
        Self { partition: partition.as_str(), idempotency_key, topic, payload, only_sink: None }
    }
}

/// A partition as it has grown.
struct Grown {
    id: i64,
    next_seq: i64,
}

/// Writes messages; their numbers, in order.
pub(crate) async fn publish(tx: &Tx, messages: &[NewMessage]) -> Outcome<Vec<i64>> {
    let entries: Vec<Entry<'_>> = messages.iter().map(Entry::from).collect();
    append(tx, &entries).await
}

/// Adds messages at the ends of their partitions; their numbers, in order.
pub(super) async fn append(tx: &Tx, entries: &[Entry<'_>]) -> Outcome<Vec<i64>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    // Until the commit no sink can register: it would miss these messages.
    tx.execute("LOCK TABLE sink IN ROW SHARE MODE", &[]).await?;
    let mut partitions = grow(tx, entries).await?;
    let mut ids = Vec::with_capacity(entries.len());
    let mut seqs = Vec::with_capacity(entries.len());
    for entry in entries {
        let grown = partitions.get_mut(entry.partition).ok_or_else(|| damaged("a partition did not grow"))?;
        ids.push(grown.id);
        seqs.push(grown.next_seq);
        grown.next_seq += 1;
    }
    let (inserted, grown) = join(insert(tx, &ids, &seqs, entries), grow_lanes(tx, &partitions)).await;
    together([inserted, grown])?;
    Ok(seqs)
}

/// Lengthens partitions, in the order of their names.
async fn grow<'a>(tx: &Tx, entries: &[Entry<'a>]) -> Outcome<HashMap<&'a str, Grown>> {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for entry in entries {
        *counts.entry(entry.partition).or_default() += 1;
    }
    let (names, growth): (Vec<&str>, Vec<i64>) = counts.iter().map(|(name, count)| (*name, *count)).unzip();
    let rows = tx
        .query(
            "INSERT INTO partition (name, tail_seq)
             SELECT name, count FROM unnest($1::TEXT[], $2::BIGINT[]) WITH ORDINALITY AS new (name, count, place)
             ORDER BY place
             ON CONFLICT (name) DO UPDATE SET tail_seq = partition.tail_seq + EXCLUDED.tail_seq
             RETURNING name, id, tail_seq",
            &[&names, &growth],
        )
        .await?;
    let mut partitions = HashMap::with_capacity(names.len());
    for row in &rows {
        let named = counts.get_key_value(get::<&str>(row, 0)?);
        let (name, count) = named.ok_or_else(|| damaged("another partition grew"))?;
        let next_seq = get::<i64>(row, 2)? - count + 1;
        partitions.insert(*name, Grown { id: get(row, 1)?, next_seq });
    }
    Ok(partitions)
}

async fn insert(tx: &Tx, ids: &[i64], seqs: &[i64], entries: &[Entry<'_>]) -> Outcome<()> {
    let keys: Vec<&str> = entries.iter().map(|entry| entry.idempotency_key).collect();
    let topics: Vec<&str> = entries.iter().map(|entry| entry.topic).collect();
    let payloads: Vec<&str> = entries.iter().map(|entry| entry.payload).collect();
    let only_sinks: Vec<Option<&str>> = entries.iter().map(|entry| entry.only_sink).collect();
    tx.execute(
        "WITH clock AS MATERIALIZED (SELECT windlass_now($1) AS now_ms)
         INSERT INTO message (partition_id, seq, idempotency_key, topic, payload, created_at_ms, only_sink)
         SELECT partition_id, seq, idempotency_key, topic, payload, now_ms, only_sink
         FROM unnest($2::BIGINT[], $3::BIGINT[], $4::TEXT[], $5::TEXT[], $6::TEXT[], $7::TEXT[])
             AS new (partition_id, seq, idempotency_key, topic, payload, only_sink), clock",
        &[&tx.now_ms, &ids, &seqs, &keys, &topics, &payloads, &only_sinks],
    )
    .await?;
    Ok(())
}

/// Tells every sink's lanes how long their partitions are now. A lane that was
/// drained becomes available; one over a new partition begins with its first message.
async fn grow_lanes(tx: &Tx, partitions: &HashMap<&str, Grown>) -> Outcome<()> {
    let ids: Vec<i64> = partitions.values().map(|grown| grown.id).collect();
    tx.execute(
        "INSERT INTO lane (queue, key, partition_id, tail_seq, available_at_ms)
         SELECT $1 || sink.name, partition.name, partition.id, tail_seq, (SELECT windlass_now($2))
         FROM partition, sink WHERE partition.id = ANY ($3) ORDER BY sink.name, partition.name
         ON CONFLICT (queue, key) DO UPDATE SET
             tail_seq = EXCLUDED.tail_seq,
             available_at_ms = CASE WHEN lane.tail_seq = lane.done_seq
                 THEN EXCLUDED.available_at_ms ELSE lane.available_at_ms END",
        &[&SINK_QUEUE_PREFIX, &tx.now_ms, &ids],
    )
    .await?;
    Ok(())
}
