//! The outbox from the side of delivery: each sink moves along its own lanes.

use async_trait::async_trait;
use rusqlite::Row;
use windlass_core::commit::Durability;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::JobId;
use windlass_core::name::{Partition, Sink};
use windlass_core::outbox::{
    ClaimedMessages, DeadMessage, DeliveryFailure, DeliveryHold, MAX_CLAIMED_MESSAGES, Message, MessageClaim,
    NewMessage, SinkDepth, SinkStart,
};
use windlass_core::retry::Verdict;
use windlass_core::store::{Outbox, SINK_QUEUE_PREFIX, sink_queue};

use crate::dead::{Dead, Entry};
use crate::error::Translate;
use crate::lane::{self, Lane, fenced};
use crate::row::{get, name, timestamp, unsigned};
use crate::writer::Tx;
use crate::{SqliteStore, dead, instance, outbox};

/// The most dead messages a listing returns.
const MAX_LISTED_MESSAGES: u32 = 1_000;

#[async_trait]
impl Outbox for SqliteStore {
    async fn register_sink(&self, sink: &Sink, start: SinkStart) -> StoreResult<bool> {
        let sink = sink.clone();
        self.write(Durability::Full, move |tx| outbox::register(tx, &sink, start)).await
    }

    async fn claim_messages(&self, claim: &MessageClaim) -> StoreResult<Vec<ClaimedMessages>> {
        claim.validate()?;
        let mut claim = claim.clone();
        claim.max_messages = claim.max_messages.min(MAX_CLAIMED_MESSAGES);
        Ok(self
            .claim(move |tx| instance::claim_or_free(tx, |tx| claim_lanes(tx, &claim)))
            .await?
            .unwrap_or_default())
    }

    async fn mark_delivered(&self, hold: DeliveryHold, up_to: i64) -> StoreResult<()> {
        self.write(Durability::Full, move |tx| mark_delivered(tx, hold, up_to)).await
    }

    async fn fail_delivery(&self, failure: &DeliveryFailure) -> StoreResult<()> {
        let failure = failure.clone();
        self.write(Durability::Full, move |tx| {
            let lane = require_held(tx, failure.hold)?;
            match failure.verdict {
                Verdict::RetryAfter(delay) => lane::postpone(tx, &lane, &failure.error, tx.now.after(delay)),
                Verdict::Dead => bury_head(tx, &lane, &failure.error),
            }
        })
        .await
    }

    async fn list_dead_messages(&self, sink: Option<&Sink>, limit: u32) -> StoreResult<Vec<DeadMessage>> {
        let queue = sink.map(sink_queue);
        self.read(move |tx| {
            let wanted = |found: &str| match &queue {
                Some(only) => found == only,
                None => found.starts_with(SINK_QUEUE_PREFIX),
            };
            let limit = limit.clamp(1, MAX_LISTED_MESSAGES);
            dead::list(tx, wanted, None, limit)?.into_iter().map(dead_message).collect()
        })
        .await
    }

    async fn requeue_dead_messages(&self, ids: &[JobId]) -> StoreResult<u64> {
        let ids = ids.to_vec();
        self.write(Durability::Full, move |tx| {
            let mut requeued = 0;
            for id in ids {
                requeued += u64::from(requeue(tx, id)?);
            }
            Ok(requeued)
        })
        .await
    }

    async fn prune_outbox(&self, limit: u32) -> StoreResult<u64> {
        self.write(Durability::Relaxed, move |tx| outbox::prune(tx, limit)).await
    }

    async fn messages(&self, partition: &Partition, after: i64, limit: u32) -> StoreResult<Vec<Message>> {
        let partition = partition.clone();
        self.read(move |tx| messages_behind(tx, &partition, after, limit.min(MAX_CLAIMED_MESSAGES))).await
    }

    async fn outbox_depth(&self) -> StoreResult<Vec<SinkDepth>> {
        self.read(depth).await
    }
}

fn claim_lanes(tx: &Tx<'_>, claim: &MessageClaim) -> StoreResult<Vec<ClaimedMessages>> {
    if !outbox::sinks(tx)?.contains(&claim.sink) {
        return Err(StoreError::Invalid(format!("sink {} was never registered", claim.sink)));
    }
    let (mut claimed, mut room) = (Vec::new(), claim.max_messages);
    for lane in lane::runnable(tx, &sink_queue(&claim.sink), claim.max_messages)? {
        if room == 0 {
            break;
        }
        if lane.attempts >= claim.max_attempts {
            bury_head(tx, &lane, &lane.exhaustion())?;
            continue;
        }
        if let Some(run) = claim_run(tx, lane, claim, room.min(claim.max_per_partition.max(1)))? {
            room = room.saturating_sub(run.messages.len() as u32);
            claimed.push(run);
        }
    }
    Ok(claimed)
}

/// Takes the next messages of a partition; those for other sinks alone are passed over.
fn claim_run(
    tx: &Tx<'_>,
    lane: Lane,
    claim: &MessageClaim,
    limit: u32,
) -> StoreResult<Option<ClaimedMessages>> {
    let held_seq = lane.tail_seq.min(lane.done_seq + i64::from(limit));
    let messages = messages_for(tx, &lane, held_seq, limit)?;
    if messages.is_empty() {
        lane::pass(tx, &lane, held_seq)?;
        return Ok(None);
    }
    let lane = lane::take(tx, lane, &claim.owner, held_seq, tx.now.after(claim.ttl))?;
    let named = |error: windlass_core::name::NameError| StoreError::Corrupt(error.to_string());
    Ok(Some(ClaimedMessages {
        hold: DeliveryHold { lane: lane.id, epoch: lane.epoch },
        partition: lane.key.parse().map_err(named)?,
        messages,
        attempt: lane.attempts,
        lease_until: lane.available_at,
    }))
}

/// A lane's first messages behind its position and up to `last` that are meant for its sink.
fn messages_for(tx: &Tx<'_>, lane: &Lane, last: i64, limit: u32) -> StoreResult<Vec<Message>> {
    let mut statement = tx.prepare(
        "SELECT seq, idempotency_key, topic, payload, created_at_ms FROM message \
         WHERE partition_id = ?1 AND seq > ?2 AND seq <= ?3 AND (only_sink IS NULL OR only_sink = ?4) \
         ORDER BY seq LIMIT ?5",
    )?;
    let sink = lane.queue.strip_prefix(SINK_QUEUE_PREFIX).unwrap_or_default();
    let mut rows = statement.query((lane.partition_id, lane.done_seq, last, sink, limit)).translate()?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next().translate()? {
        messages.push(read(row)?);
    }
    Ok(messages)
}

/// A partition's messages for everybody behind a number.
fn messages_behind(tx: &Tx<'_>, partition: &Partition, after: i64, limit: u32) -> StoreResult<Vec<Message>> {
    let mut statement = tx.prepare(
        "SELECT seq, idempotency_key, topic, payload, created_at_ms FROM message \
         WHERE partition_id = (SELECT id FROM partition WHERE name = ?1) AND seq > ?2 AND only_sink IS NULL \
         ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = statement.query((partition.as_str(), after, limit)).translate()?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next().translate()? {
        messages.push(read(row)?);
    }
    Ok(messages)
}

fn read(row: &Row<'_>) -> StoreResult<Message> {
    Ok(Message {
        seq: get(row, 0)?,
        idempotency_key: get(row, 1)?,
        topic: get(row, 2)?,
        payload: get(row, 3)?,
        created_at: timestamp(row, 4)?,
    })
}

fn require_held(tx: &Tx<'_>, hold: DeliveryHold) -> StoreResult<Lane> {
    lane::held_under(tx, hold.lane, hold.epoch)?
        .filter(|lane| lane.partition_id.is_some())
        .ok_or_else(|| fenced(format!("delivery lane {}", hold.lane), hold.epoch))
}

fn mark_delivered(tx: &Tx<'_>, hold: DeliveryHold, up_to: i64) -> StoreResult<()> {
    let lane = require_held(tx, hold)?;
    if !(lane.done_seq..=lane.held_seq).contains(&up_to) {
        return Err(StoreError::Invalid(format!(
            "message {up_to} is not among those held, {} to {}",
            lane.head(),
            lane.held_seq
        )));
    }
    let first = lane.head();
    let behind = Lane { done_seq: up_to, ..lane };
    let more = !messages_for(tx, &behind, behind.held_seq, 1)?.is_empty();
    let last = if more { up_to } else { behind.held_seq };
    lane::finish(tx, hold.lane, hold.epoch, first, last)?;
    Ok(())
}

/// Gives up the first message that is meant for the lane's sink.
fn bury_head(tx: &Tx<'_>, lane: &Lane, reason: &str) -> StoreResult<()> {
    let Some(message) = messages_for(tx, lane, lane.tail_seq, 1)?.pop() else {
        return lane::pass(tx, lane, lane.tail_seq);
    };
    let entry = Entry {
        seq: message.seq,
        payload: message.payload,
        enqueued_at: message.created_at,
        idempotency_key: Some(message.idempotency_key),
        topic: Some(message.topic),
    };
    dead::bury(tx, lane, &entry, reason)?;
    lane::pass(tx, lane, entry.seq)
}

fn requeue(tx: &Tx<'_>, id: JobId) -> StoreResult<bool> {
    let Some(dead) = dead::find(tx, id)?.filter(|dead| dead.topic.is_some()) else { return Ok(false) };
    dead::remove(tx, id)?;
    let only_sink = dead.queue.strip_prefix(SINK_QUEUE_PREFIX);
    let partition = dead.key.clone();
    let message = NewMessage {
        partition: partition
            .parse()
            .map_err(|error: windlass_core::name::NameError| StoreError::Corrupt(error.to_string()))?,
        idempotency_key: dead.idempotency_key.unwrap_or_default(),
        topic: dead.topic.unwrap_or_default(),
        payload: dead.payload,
    };
    let (partition_id, seq) = outbox::append(tx, &partition, &message, only_sink)?;
    outbox::grow_lanes(tx, partition_id, &partition, seq)?;
    Ok(true)
}

fn dead_message(dead: Dead) -> StoreResult<DeadMessage> {
    let named = |error: windlass_core::name::NameError| StoreError::Corrupt(error.to_string());
    Ok(DeadMessage {
        id: dead.id,
        sink: dead.queue.strip_prefix(SINK_QUEUE_PREFIX).unwrap_or_default().parse().map_err(named)?,
        partition: dead.key.parse().map_err(named)?,
        attempts: dead.attempts,
        reason: dead.reason,
        died_at: dead.died_at,
        message: Message {
            seq: dead.id.seq,
            idempotency_key: dead.idempotency_key.unwrap_or_default(),
            topic: dead.topic.unwrap_or_default(),
            payload: dead.payload,
            created_at: dead.enqueued_at,
        },
    })
}

fn depth(tx: &Tx<'_>) -> StoreResult<Vec<SinkDepth>> {
    let mut statement = tx.prepare(
        "SELECT sink.name, coalesce(sum(lane.tail_seq - lane.done_seq), 0), \
             (SELECT count(*) FROM dead WHERE dead.queue = ?1 || sink.name) \
         FROM sink LEFT JOIN lane ON lane.queue = ?1 || sink.name GROUP BY sink.name ORDER BY sink.name",
    )?;
    let mut rows = statement.query([SINK_QUEUE_PREFIX]).translate()?;
    let mut depths = Vec::new();
    while let Some(row) = rows.next().translate()? {
        depths.push(SinkDepth { sink: name(row, 0)?, waiting: unsigned(row, 1)?, dead: unsigned(row, 2)? });
    }
    Ok(depths)
}
