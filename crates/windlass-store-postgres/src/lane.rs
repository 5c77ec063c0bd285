//! The mechanics of lanes, shared by jobs and by deliveries of the outbox.
//!
//! A lane's entries are numbered; `done_seq` is the last finished one, `held_seq`
//! the last one handed out, `tail_seq` the last one there is. Every change by a
//! holder names the epoch of its claim and is refused once that is history.

use std::time::Duration;

use windlass_core::error::StoreError;
use windlass_core::job::bounded_error;
use windlass_core::lease::Epoch;
use windlass_core::name::{LaneKey, NameError, Queue};
use windlass_core::open_job::{MAX_LANE_NUMBER, exhaustion};
use windlass_core::time::{Timestamp, duration_ms};

use crate::error::{Fault, Outcome};
use crate::row::{damaged, get, saturated, timestamp};
use crate::tx::Tx;

/// A lane whose row cannot be read is looked at again after this.
const SET_ASIDE: Duration = Duration::from_secs(60);

/// A lane that this transaction has locked, as it stands at `now`.
#[derive(Debug, Clone)]
pub(crate) struct Lane {
    pub(crate) id: i64,
    pub(crate) queue: String,
    pub(crate) key: String,
    pub(crate) partition_id: Option<i64>,
    pub(crate) tail_seq: i64,
    pub(crate) done_seq: i64,
    pub(crate) held_seq: i64,
    pub(crate) epoch: Epoch,
    pub(crate) available_at: Timestamp,
    pub(crate) attempts: u32,
    pub(crate) last_error: Option<String>,
    pub(crate) now: Timestamp,
}

/// Begins a query whose rows [`read`] takes; `$1` is the caller's clock.
macro_rules! select_lane {
    ($rest:literal) => {
        concat!(
            "WITH clock AS MATERIALIZED (SELECT windlass_now($1) AS now_ms) ",
            "SELECT id, queue, key, partition_id, tail_seq, done_seq, held_seq, epoch, available_at_ms, ",
            "attempts, last_error, (SELECT now_ms FROM clock) FROM lane ",
            $rest
        )
    };
}

fn read(row: &tokio_postgres::Row) -> Outcome<Lane> {
    let lane = Lane {
        id: get(row, 0)?,
        queue: get(row, 1)?,
        key: get(row, 2)?,
        partition_id: get(row, 3)?,
        tail_seq: get(row, 4)?,
        done_seq: get(row, 5)?,
        held_seq: get(row, 6)?,
        epoch: Epoch(get(row, 7)?),
        available_at: timestamp(row, 8)?,
        attempts: saturated(row, 9)?,
        last_error: get(row, 10)?,
        now: timestamp(row, 11)?,
    };
    lane.check()?;
    Ok(lane)
}

impl Lane {
    /// The first entry that is not finished.
    pub(crate) fn head(&self) -> i64 {
        self.done_seq + 1
    }

    /// Refuses values that nothing of ours has written, so that no claim fails over them later.
    fn check(&self) -> Outcome<()> {
        let unnamed = |error: NameError| damaged(error.to_string());
        self.queue.parse::<Queue>().map_err(unnamed)?;
        self.key.parse::<LaneKey>().map_err(unnamed)?;
        let is_sound = self.epoch.0.max(self.done_seq) < MAX_LANE_NUMBER;
        is_sound.then_some(()).ok_or_else(|| damaged("a number is out of bounds"))
    }

    /// Why its head is given up by a claim.
    pub(crate) fn exhaustion(&self) -> String {
        exhaustion(self.last_error.as_deref(), self.attempts)
    }

    /// The last entry of a run of at most `limit`.
    pub(crate) fn run_end(&self, limit: u32) -> i64 {
        self.tail_seq.min(self.done_seq.saturating_add(i64::from(limit)))
    }
}

/// Locks lanes of a queue that can be taken now, the longest waiting first, from
/// a floor on. Lanes that somebody else is about to take are passed over, as are
/// those in `seen`. Those whose rows cannot be read are set aside, and hold up no other;
/// the second answer says how many were locked, with them.
pub(crate) async fn lock_runnable(
    tx: &Tx,
    queue: &str,
    limit: u32,
    seen: &[i64],
    floor_ms: i64,
) -> Outcome<(Vec<Lane>, usize)> {
    let rows = tx
        .look(
            select_lane!(
                "WHERE queue = $2 AND tail_seq > done_seq AND id <> ALL ($4)
                     AND available_at_ms BETWEEN $5 AND (SELECT now_ms FROM clock)
                 ORDER BY available_at_ms, id LIMIT $3 FOR UPDATE SKIP LOCKED"
            ),
            &[&tx.now_ms, &queue, &i64::from(limit), &seen, &floor_ms],
        )
        .await?;
    let (mut lanes, mut unreadable) = (Vec::with_capacity(rows.len()), Vec::new());
    for row in &rows {
        match read(row) {
            Ok(lane) => lanes.push(lane),
            Err(why) => unreadable.push((get::<i64>(row, 0)?, timestamp(row, 11)?, why)),
        }
    }
    set_aside(tx, &unreadable).await?;
    Ok((lanes, rows.len()))
}

/// Leaves lanes alone for a while whose rows cannot be read, as was found out at an instant.
async fn set_aside(tx: &Tx, lanes: &[(i64, Timestamp, Fault)]) -> Outcome<()> {
    let Some((_, now, _)) = lanes.first() else { return Ok(()) };
    for (id, _, why) in lanes {
        tracing::warn!(lane = id, %why, "a lane cannot be read: it is set aside, and its jobs wait");
    }
    let ids: Vec<i64> = lanes.iter().map(|(id, ..)| *id).collect();
    tx.execute(
        "UPDATE lane SET owner = NULL, available_at_ms = $2 WHERE id = ANY ($1)",
        &[&ids, &now.after(SET_ASIDE).as_ms()],
    )
    .await?;
    Ok(())
}

/// Locks those of the lanes that are still held, by number.
pub(crate) async fn lock_held(tx: &Tx, ids: &[i64]) -> Outcome<Vec<Lane>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let rows = tx
        .look(
            select_lane!("WHERE id = ANY ($2) AND owner IS NOT NULL ORDER BY id FOR UPDATE"),
            &[&tx.now_ms, &ids],
        )
        .await?;
    rows.iter().map(read).collect()
}

/// The refusal of an old epoch.
pub(crate) fn fenced(what: impl Into<String>, epoch: Epoch) -> StoreError {
    StoreError::Fenced { what: what.into(), epoch: epoch.0 }
}

/// A taking of a lane: its number and epoch.
pub(crate) type Hold = (i64, Epoch);

/// Prolongs holds; returns those that were not history.
pub(crate) async fn extend(tx: &Tx, holds: &[Hold], ttl: Duration) -> Outcome<Vec<Hold>> {
    let (ids, epochs) = columns(holds);
    let rows = tx
        .query(
            "WITH held AS MATERIALIZED (
                 SELECT id, lane.epoch FROM lane JOIN unnest($2::BIGINT[], $3::BIGINT[]) AS hold (id, epoch) USING (id)
                 WHERE lane.epoch = hold.epoch AND owner IS NOT NULL ORDER BY id FOR UPDATE OF lane)
             UPDATE lane SET available_at_ms = windlass_after(windlass_now($1), $4)
             FROM held WHERE lane.id = held.id RETURNING lane.id, lane.epoch",
            &[&tx.now_ms, &ids, &epochs, &duration_ms(ttl)],
        )
        .await?;
    rows.iter().map(|row| Ok((get(row, 0)?, Epoch(get(row, 1)?)))).collect()
}

/// Gives held lanes back as if they had not been taken; those that are history are left alone.
pub(crate) async fn release(tx: &Tx, holds: &[Hold]) -> Outcome<()> {
    let (ids, epochs) = columns(holds);
    tx.execute(
        "WITH held AS MATERIALIZED (
             SELECT id FROM lane JOIN unnest($2::BIGINT[], $3::BIGINT[]) AS hold (id, epoch) USING (id)
             WHERE lane.epoch = hold.epoch AND owner IS NOT NULL ORDER BY id FOR UPDATE OF lane)
         UPDATE lane SET owner = NULL, available_at_ms = windlass_now($1), attempts = GREATEST(attempts - 1, 0)
         FROM held WHERE lane.id = held.id",
        &[&tx.now_ms, &ids, &epochs],
    )
    .await?;
    Ok(())
}

fn columns(holds: &[Hold]) -> (Vec<i64>, Vec<i64>) {
    holds.iter().map(|(id, epoch)| (*id, epoch.0)).unzip()
}

/// Finishes a locked lane's entries up to `seq`. The last one held frees the lane;
/// before that the next one is under way, as its first attempt.
pub(crate) async fn finish(tx: &Tx, lane: &Lane, seq: i64) -> Outcome<()> {
    tx.execute(
        "UPDATE lane SET done_seq = $2, last_error = NULL,
             attempts = CASE WHEN held_seq = $2 THEN 0 ELSE 1 END,
             owner = CASE WHEN held_seq = $2 THEN NULL ELSE owner END,
             available_at_ms = CASE WHEN held_seq = $2 THEN $3 ELSE available_at_ms END
         WHERE id = $1",
        &[&lane.id, &seq, &lane.now.as_ms()],
    )
    .await?;
    Ok(())
}

/// Frees a locked lane whose head failed; it can be taken again after a delay.
pub(crate) async fn postpone(tx: &Tx, lane: &Lane, error: &str, delay: Duration) -> Outcome<()> {
    tx.execute(
        "UPDATE lane SET last_error = $2, owner = NULL, available_at_ms = $3 WHERE id = $1",
        &[&lane.id, &bounded_error(error), &lane.now.after(delay).as_ms()],
    )
    .await?;
    Ok(())
}

/// Passes over entries of locked lanes, which were given up or are not theirs, and frees the lanes.
pub(crate) async fn pass(tx: &Tx, ids: &[i64], seqs: &[i64], now: Timestamp) -> Outcome<()> {
    tx.execute(
        "UPDATE lane SET done_seq = passed.seq, attempts = 0, last_error = NULL, owner = NULL,
             available_at_ms = $3
         FROM unnest($1::BIGINT[], $2::BIGINT[]) AS passed (id, seq) WHERE lane.id = passed.id",
        &[&ids, &seqs, &now.as_ms()],
    )
    .await?;
    Ok(())
}
