//! The outbox from the writing side: messages are numbered without gaps per
//! partition, and every sink's lane over the partition grows with it.

use std::collections::BTreeMap;

use windlass_core::commit::Written;
use windlass_core::error::StoreResult;
use windlass_core::name::Sink;
use windlass_core::outbox::{NewMessage, SinkStart};
use windlass_core::store::sink_queue;

use crate::error::Translate;
use crate::row::name;
use crate::writer::Tx;

/// Writes messages; returns their numbers.
pub(crate) fn publish(tx: &Tx<'_>, messages: &[NewMessage]) -> StoreResult<Written> {
    let mut grown = BTreeMap::new();
    let mut numbers = Vec::with_capacity(messages.len());
    for message in messages {
        let (partition_id, seq) = append(tx, message.partition.as_str(), message, None)?;
        grown.insert(partition_id, (message.partition.as_str(), seq));
        numbers.push(seq);
    }
    for (partition_id, (partition, tail_seq)) in grown {
        grow_lanes(tx, partition_id, partition, tail_seq)?;
    }
    Ok(Written::Messages(numbers))
}

/// Adds a message at the end of a partition, for everybody or for one sink alone.
pub(crate) fn append(
    tx: &Tx<'_>,
    partition: &str,
    message: &NewMessage,
    only_sink: Option<&str>,
) -> StoreResult<(i64, i64)> {
    let (partition_id, seq): (i64, i64) = tx
        .prepare(
            "INSERT INTO partition (name, tail_seq, floor_seq) VALUES (?1, 1, 0) \
             ON CONFLICT (name) DO UPDATE SET tail_seq = tail_seq + 1 RETURNING id, tail_seq",
        )?
        .query_row([partition], |row| Ok((row.get(0)?, row.get(1)?)))
        .translate()?;
    tx.execute(
        "INSERT INTO message (partition_id, seq, idempotency_key, topic, payload, created_at_ms, only_sink) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (
            partition_id,
            seq,
            &message.idempotency_key,
            &message.topic,
            &message.payload,
            tx.now.as_ms(),
            only_sink,
        ),
    )?;
    Ok((partition_id, seq))
}

/// Tells every sink's lane that its partition has grown.
pub(crate) fn grow_lanes(tx: &Tx<'_>, partition_id: i64, partition: &str, tail_seq: i64) -> StoreResult<()> {
    for sink in sinks(tx)? {
        tx.execute(
            "INSERT INTO lane (queue, key, partition_id, tail_seq, done_seq, available_at_ms) \
             VALUES (?1, ?2, ?3, ?4, 0, ?5) \
             ON CONFLICT (queue, key) DO UPDATE SET tail_seq = ?4, \
                 available_at_ms = CASE WHEN tail_seq = done_seq THEN ?5 ELSE available_at_ms END",
            (sink_queue(&sink), partition, partition_id, tail_seq, tx.now.as_ms()),
        )?;
    }
    Ok(())
}

/// Makes a sink known, with a lane over every partition there is.
pub(crate) fn register(tx: &Tx<'_>, sink: &Sink, start: SinkStart) -> StoreResult<bool> {
    if tx.execute("INSERT INTO sink (name) VALUES (?1) ON CONFLICT DO NOTHING", [sink.as_str()])? == 0 {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO lane (queue, key, partition_id, tail_seq, done_seq, available_at_ms) \
         SELECT ?1, name, id, tail_seq, CASE WHEN ?2 THEN floor_seq ELSE tail_seq END, ?3 FROM partition",
        (sink_queue(sink), start == SinkStart::Beginning, tx.now.as_ms()),
    )?;
    Ok(true)
}

/// Every sink, by name.
pub(crate) fn sinks(tx: &Tx<'_>) -> StoreResult<Vec<Sink>> {
    let mut statement = tx.prepare("SELECT name FROM sink ORDER BY name")?;
    let mut rows = statement.query([]).translate()?;
    let mut sinks = Vec::new();
    while let Some(row) = rows.next().translate()? {
        sinks.push(name(row, 0)?);
    }
    Ok(sinks)
}

/// Forgets messages that every sink is past; the newest stay while no sink is known.
pub(crate) fn prune(tx: &Tx<'_>, limit: u32) -> StoreResult<u64> {
    let mut passed = Vec::new();
    {
        let mut statement = tx.prepare(
            "SELECT partition.id, partition.floor_seq, min(lane.done_seq) AS passed \
             FROM partition JOIN lane ON lane.partition_id = partition.id \
             GROUP BY partition.id HAVING passed > partition.floor_seq ORDER BY partition.id",
        )?;
        let mut rows = statement.query([]).translate()?;
        while let Some(row) = rows.next().translate()? {
            let bounds: (i64, i64, i64) = row.try_into().translate()?;
            passed.push(bounds);
        }
    }
    let mut room = i64::from(limit);
    for (partition_id, floor, passed) in passed {
        let floor = passed.min(floor + room);
        room -= tx
            .execute("DELETE FROM message WHERE partition_id = ?1 AND seq <= ?2", (partition_id, floor))?
            as i64;
        tx.execute("UPDATE partition SET floor_seq = ?2 WHERE id = ?1", (partition_id, floor))?;
        if room <= 0 {
            break;
        }
    }
    Ok((i64::from(limit) - room).unsigned_abs())
}
