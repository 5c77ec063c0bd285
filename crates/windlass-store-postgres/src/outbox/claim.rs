//! Taking messages for delivery: the longest waiting partitions first, each with a run.

use tokio_postgres::Row;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::{NameError, Sink};
use windlass_core::outbox::{ClaimedMessages, DeliveryHold, Message, MessageClaim};
use windlass_core::store::sink_queue;

use super::dead;
use crate::PostgresStore;
use crate::claim::{Candidates, Changes};
use crate::error::Outcome;
use crate::floor::Floors;
use crate::lane::Lane;
use crate::row::{get, timestamp};
use crate::tx::Tx;

/// Takes messages; none when the database is busy.
pub(super) async fn claim_now(
    store: &PostgresStore,
    claim: &MessageClaim,
) -> StoreResult<Vec<ClaimedMessages>> {
    let args = (&store.inner.floors, claim);
    let claimed = store.claim(&args, |tx, (floors, claim)| Box::pin(self::claim(tx, floors, claim))).await?;
    Ok(claimed.unwrap_or_default())
}

/// Takes messages.
async fn claim(tx: &Tx, floors: &Floors, claim: &MessageClaim) -> Outcome<Vec<ClaimedMessages>> {
    let known = tx.look("SELECT FROM sink WHERE name = $1", &[&claim.sink.as_str()]).await?;
    if known.is_empty() {
        return Err(StoreError::Invalid(format!("sink {} was never registered", claim.sink)).into());
    }
    let queue = sink_queue(&claim.sink);
    let mut candidates =
        Candidates::new(floors, &queue, claim.max_messages, claim.max_per_partition, claim.max_attempts);
    let mut changes = Changes::default();
    let (mut claimed, mut room, mut began_at) = (Vec::new(), claim.max_messages, None);
    loop {
        let lanes = candidates.next(tx, room).await?;
        let Some(first) = lanes.first() else { break };
        began_at.get_or_insert(first.now);
        let (exhausted, lanes): (Vec<Lane>, Vec<Lane>) =
            lanes.into_iter().partition(|lane| candidates.is_exhausted(lane));
        for lane in &exhausted {
            changes.pass(lane, dead::bury(tx, lane, &lane.exhaustion()).await?);
        }
        let mut messages =
            messages(tx, &lanes, &claim.sink, candidates.max_per_lane()).await?.into_iter().peekable();
        for lane in lanes {
            let run = std::iter::from_fn(|| messages.next_if(|found| found.lane == lane.id)).collect();
            let limit = room.min(candidates.max_per_lane());
            if let Some(taken) = take_run(&mut changes, lane, run, limit, claim)? {
                room -= taken.messages.len() as u32;
                claimed.push(taken);
            }
        }
    }
    if let Some(now) = began_at {
        changes.write(tx, now, &claim.owner, claim.ttl).await?;
    }
    Ok(claimed)
}

/// A message on a lane.
struct Found {
    lane: i64,
    message: Message,
}

/// The messages for the sink among the next ones of each lane, lane by lane. The limit
/// says nothing new; it keeps the planner from joining with the whole table.
async fn messages(tx: &Tx, lanes: &[Lane], sink: &Sink, max_per_lane: u32) -> Outcome<Vec<Found>> {
    let column = |of: &dyn Fn(&Lane) -> i64| lanes.iter().map(of).collect::<Vec<i64>>();
    let partitions: Vec<Option<i64>> = lanes.iter().map(|lane| lane.partition_id).collect();
    let rows = tx
        .query(
            "SELECT run.id, seq, idempotency_key, topic, payload, created_at_ms
             FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[]) WITH ORDINALITY
                     AS run (id, partition_id, head, last, place),
                 LATERAL (SELECT * FROM message WHERE partition_id = run.partition_id AND seq BETWEEN head AND last
                          ORDER BY seq LIMIT last - head + 1) AS next_messages
             WHERE only_sink IS NULL OR only_sink = $5 ORDER BY place, seq",
            &[
                &column(&|lane| lane.id),
                &partitions,
                &column(&Lane::head),
                &column(&|lane| lane.run_end(max_per_lane)),
                &sink.as_str(),
            ],
        )
        .await?;
    rows.iter().map(|row| Ok(Found { lane: get(row, 0)?, message: read(row)? })).collect()
}

/// A message, behind whatever stands in the first column.
pub(super) fn read(row: &Row) -> Outcome<Message> {
    Ok(Message {
        seq: get(row, 1)?,
        idempotency_key: get(row, 2)?,
        topic: get(row, 3)?,
        payload: get(row, 4)?,
        created_at: timestamp(row, 5)?,
    })
}

/// Takes a lane's next `limit` messages; passes over them when none is for the sink.
fn take_run(
    changes: &mut Changes,
    lane: Lane,
    run: Vec<Found>,
    limit: u32,
    claim: &MessageClaim,
) -> Outcome<Option<ClaimedMessages>> {
    if limit == 0 {
        return Ok(None);
    }
    let last = lane.run_end(limit);
    let messages: Vec<Message> =
        run.into_iter().map(|found| found.message).take_while(|message| message.seq <= last).collect();
    if messages.is_empty() {
        changes.pass(&lane, last);
        return Ok(None);
    }
    let lane = changes.take(lane, last);
    let unnamed = |error: NameError| StoreError::Corrupt(error.to_string());
    Ok(Some(ClaimedMessages {
        hold: DeliveryHold { lane: lane.id, epoch: lane.epoch },
        partition: lane.key.parse().map_err(unnamed)?,
        messages,
        attempt: lane.attempts,
        lease_until: lane.now.after(claim.ttl),
    }))
}
