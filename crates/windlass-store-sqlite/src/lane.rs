//! The mechanics of lanes, shared by jobs and by deliveries of the outbox.
//!
//! A lane's entries are numbered; `done_seq` is the last finished one, `held_seq`
//! the last one handed out, `tail_seq` the last one there is. Every change by a
//! holder names the epoch of its claim and is refused once that is history.

use std::time::Duration;

use rusqlite::{OptionalExtension, Row, named_params};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::bounded_error;
use windlass_core::lease::Epoch;
use windlass_core::name::{LaneKey, NameError, Owner, Queue};
use windlass_core::open_job::{MAX_LANE_NUMBER, exhaustion};
use windlass_core::time::Timestamp;

use crate::error::Translate;
use crate::row::{get, saturated, timestamp};
use crate::writer::Tx;

/// A lane whose row cannot be read is looked at again after this.
const SET_ASIDE: Duration = Duration::from_secs(60);

/// A lane as it stands.
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
    pub(crate) owner: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) last_error: Option<String>,
}

/// Begins a query whose rows [`read`] takes; the condition is a literal, so that
/// the whole is one constant and its statement is compiled once.
macro_rules! select_lane {
    ($rest:literal) => {
        concat!(
            "SELECT id, queue, key, partition_id, tail_seq, done_seq, held_seq, epoch, available_at_ms, ",
            "owner, attempts, last_error FROM lane ",
            $rest
        )
    };
}

fn read(row: &Row<'_>) -> StoreResult<Lane> {
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
        owner: get(row, 9)?,
        attempts: saturated(row, 10)?,
        last_error: get(row, 11)?,
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
    fn check(&self) -> StoreResult<()> {
        let unnamed = |error: NameError| StoreError::Corrupt(error.to_string());
        self.queue.parse::<Queue>().map_err(unnamed)?;
        self.key.parse::<LaneKey>().map_err(unnamed)?;
        let is_sound = self.epoch.0.max(self.done_seq) < MAX_LANE_NUMBER;
        is_sound.then_some(()).ok_or_else(|| StoreError::Corrupt("a number is out of bounds".to_owned()))
    }

    /// Why its head is given up by a claim.
    pub(crate) fn exhaustion(&self) -> String {
        exhaustion(self.last_error.as_deref(), self.attempts)
    }
}

/// Lanes of a queue that can be taken now, the longest waiting first. Those whose rows cannot be
/// read are set aside, and hold up no other.
pub(crate) fn runnable(tx: &Tx<'_>, queue: &str, limit: u32) -> StoreResult<Vec<Lane>> {
    let (mut lanes, mut unreadable) = (Vec::new(), Vec::new());
    {
        let mut statement = tx.prepare(select_lane!(
            "WHERE queue = ?1 AND tail_seq > done_seq AND available_at_ms <= ?2 \
             ORDER BY available_at_ms, id"
        ))?;
        let mut rows = statement.query((queue, tx.now.as_ms())).translate()?;
        while lanes.len() < limit as usize
            && let Some(row) = rows.next().translate()?
        {
            match read(row) {
                Ok(lane) => lanes.push(lane),
                Err(error) => unreadable.push((get::<i64>(row, 0)?, error)),
            }
        }
    }
    unreadable.iter().try_for_each(|(id, error)| set_aside(tx, *id, error))?;
    Ok(lanes)
}

/// Leaves a lane alone for a while whose row, or whose first job's, cannot be read.
pub(crate) fn set_aside(tx: &Tx<'_>, id: i64, why: &StoreError) -> StoreResult<()> {
    tracing::warn!(lane = id, %why, "a lane cannot be read: it is set aside, and its jobs wait");
    tx.execute(
        "UPDATE lane SET owner = NULL, available_at_ms = ?2 WHERE id = ?1",
        (id, tx.now.after(SET_ASIDE).as_ms()),
    )?;
    Ok(())
}

/// Whether a lane of a queue can be taken now.
pub(crate) fn is_runnable(tx: &Tx<'_>, queue: &str) -> StoreResult<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM lane \
                   WHERE queue = ?1 AND tail_seq > done_seq AND available_at_ms <= ?2)";
    tx.prepare(sql)?.query_row((queue, tx.now.as_ms()), |row| row.get(0)).translate()
}

/// The lane with that number.
pub(crate) fn find(tx: &Tx<'_>, id: i64) -> StoreResult<Option<Lane>> {
    let mut statement = tx.prepare(select_lane!("WHERE id = ?1"))?;
    statement.query_row([id], |row| Ok(read(row))).optional().translate()?.transpose()
}

/// The lane, if it is still held under that epoch.
pub(crate) fn held_under(tx: &Tx<'_>, id: i64, epoch: Epoch) -> StoreResult<Option<Lane>> {
    Ok(find(tx, id)?.filter(|lane| lane.epoch == epoch && lane.owner.is_some()))
}

/// The refusal of an old epoch.
pub(crate) fn fenced(what: impl Into<String>, epoch: Epoch) -> StoreError {
    StoreError::Fenced { what: what.into(), epoch: epoch.0 }
}

/// Takes a lane up to `held_seq` under a new epoch, and returns it as it is then.
pub(crate) fn take(
    tx: &Tx<'_>,
    lane: Lane,
    owner: &Owner,
    held_seq: i64,
    until: Timestamp,
) -> StoreResult<Lane> {
    let taken = Lane {
        epoch: lane.epoch.next(),
        held_seq,
        owner: Some(owner.to_string()),
        available_at: until,
        attempts: lane.attempts + 1,
        ..lane
    };
    tx.execute(
        "UPDATE lane SET epoch = ?2, held_seq = ?3, owner = ?4, available_at_ms = ?5, attempts = ?6, \
             instance_id = ?7 WHERE id = ?1",
        (
            taken.id,
            taken.epoch.0,
            held_seq,
            &taken.owner,
            until.as_ms(),
            taken.attempts,
            tx.instances.own_id(),
        ),
    )?;
    Ok(taken)
}

/// Finishes the entries `first` to `last` of a lane that is held under that epoch
/// and stands right before them. The last one held frees the lane; before that the
/// next one is under way, as its first attempt. `false` leaves everything as it is.
pub(crate) fn finish(tx: &Tx<'_>, id: i64, epoch: Epoch, first: i64, last: i64) -> StoreResult<bool> {
    let changed = tx.execute(
        "UPDATE lane SET done_seq = :last, last_error = NULL, \
             attempts = CASE WHEN held_seq = :last THEN 0 ELSE 1 END, \
             owner = CASE WHEN held_seq = :last THEN NULL ELSE owner END, \
             available_at_ms = CASE WHEN held_seq = :last THEN :now ELSE available_at_ms END \
         WHERE id = :id AND epoch = :epoch AND owner IS NOT NULL \
             AND done_seq = :first - 1 AND held_seq >= :last",
        named_params! {
            ":id": id,
            ":epoch": epoch.0,
            ":first": first,
            ":last": last,
            ":now": tx.now.as_ms(),
        },
    )?;
    Ok(changed == 1)
}

/// Forgets a lane of jobs that has nothing left. Its number is never used again, and so
/// nobody who held it can write.
pub(crate) fn forget_drained(tx: &Tx<'_>, id: i64) -> StoreResult<()> {
    tx.execute("DELETE FROM lane WHERE id = ?1 AND tail_seq = done_seq AND partition_id IS NULL", [id])?;
    Ok(())
}

/// Frees a lane whose head failed; it can be taken again at `retry_at`.
pub(crate) fn postpone(tx: &Tx<'_>, lane: &Lane, error: &str, retry_at: Timestamp) -> StoreResult<()> {
    tx.execute(
        "UPDATE lane SET last_error = ?2, owner = NULL, available_at_ms = ?3 WHERE id = ?1",
        (lane.id, bounded_error(error), retry_at.as_ms()),
    )?;
    Ok(())
}

/// Passes over entries up to `seq`, which were given up or are not this lane's, and frees it.
pub(crate) fn pass(tx: &Tx<'_>, lane: &Lane, seq: i64) -> StoreResult<()> {
    tx.execute(
        "UPDATE lane SET done_seq = ?2, attempts = 0, last_error = NULL, owner = NULL, available_at_ms = ?3 \
         WHERE id = ?1",
        (lane.id, seq, tx.now.as_ms()),
    )?;
    Ok(())
}

/// Leaves an unheld lane alone until an instant.
pub(crate) fn delay(tx: &Tx<'_>, lane: &Lane, until: Timestamp) -> StoreResult<()> {
    tx.execute("UPDATE lane SET available_at_ms = ?2 WHERE id = ?1", (lane.id, until.as_ms()))?;
    Ok(())
}

/// Prolongs a hold; `false` when it is history.
pub(crate) fn extend(tx: &Tx<'_>, id: i64, epoch: Epoch, until: Timestamp) -> StoreResult<bool> {
    let changed = tx.execute(
        "UPDATE lane SET available_at_ms = ?3 WHERE id = ?1 AND epoch = ?2 AND owner IS NOT NULL",
        (id, epoch.0, until.as_ms()),
    )?;
    Ok(changed == 1)
}

/// Gives a held lane back as if it had not been taken.
pub(crate) fn release(tx: &Tx<'_>, id: i64, epoch: Epoch) -> StoreResult<()> {
    tx.execute(
        "UPDATE lane SET owner = NULL, available_at_ms = ?3, attempts = max(attempts - 1, 0) \
         WHERE id = ?1 AND epoch = ?2 AND owner IS NOT NULL",
        (id, epoch.0, tx.now.as_ms()),
    )?;
    Ok(())
}
