//! The ordinary claim, in one statement: lanes whose first jobs are all due and none
//! of which was begun too often. Anything else is left to the longer way ([`super::claim`]).

use tokio_postgres::Row;
use windlass_core::error::StoreResult;
use windlass_core::job::{ClaimedJob, JobClaim, JobId, JobTicket};
use windlass_core::lease::Epoch;
use windlass_core::name::LaneKey;
use windlass_core::time::{Timestamp, duration_ms};

use crate::PostgresStore;
use crate::error::Outcome;
use crate::floor::{Floors, Start};
use crate::row::{get, name, timestamp, unsigned};
use crate::tx::Tx;

/// What an ordinary claim has taken.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) jobs: Vec<ClaimedJob>,
    pub(super) lanes: Vec<i64>,
    /// Whether there is neither room nor need to look further.
    pub(super) is_enough: bool,
}

/// Locks lanes and takes them all, or none: not when one of them is out of the
/// ordinary, when the floor `$5` proves nothing, or when jobs came after the
/// statement's view of the table, which the lock on their lane does not wait for.
/// Lanes whose numbers cannot be right (from [`windlass_core::open_job::MAX_LANE_NUMBER`] on) are left out.
/// `$3` lanes of up to `$4` jobs are wanted, and at least `$10` must be found.
const TAKE: &str = "
    WITH clock AS MATERIALIZED (SELECT windlass_now($1) AS now_ms),
    locked AS MATERIALIZED (
        SELECT id, done_seq, LEAST(tail_seq, done_seq + $4) AS last_seq, attempts, available_at_ms
        FROM lane
        WHERE queue = $2 AND tail_seq > done_seq AND GREATEST(done_seq, epoch) < 4611686018427387904
            AND available_at_ms BETWEEN $5 AND (SELECT now_ms FROM clock)
        ORDER BY available_at_ms, id LIMIT $3 FOR UPDATE SKIP LOCKED),
    run AS MATERIALIZED (
        SELECT id, last_seq, available_at_ms, payloads,
            attempts >= 0 AND attempts < $8 AND count = last_seq - done_seq AND COALESCE(latest_ms <= now_ms, true) AS is_ordinary
        FROM clock, locked, LATERAL (
            SELECT array_agg(payload) AS payloads, count(*) AS count, max(not_before_ms) AS latest_ms
            FROM (SELECT payload, not_before_ms FROM job
                  WHERE lane_id = id AND seq BETWEEN done_seq + 1 AND last_seq
                  ORDER BY seq LIMIT last_seq - done_seq) AS first_jobs) AS jobs)
    UPDATE lane SET epoch = epoch + 1, owner = $6, held_seq = last_seq, attempts = attempts + 1,
        available_at_ms = windlass_after(now_ms, $7), instance_id = $11
    FROM run, clock
    WHERE lane.id = run.id AND now_ms >= $9
        AND (SELECT bool_and(is_ordinary) AND count(*) >= $10 FROM run)
    RETURNING lane.id, key, epoch, attempts, done_seq, run.available_at_ms, now_ms, payloads";

/// Takes what an ordinary claim can take.
pub(super) async fn take(store: &PostgresStore, claim: &JobClaim) -> StoreResult<Taken> {
    let floors = &store.inner.floors;
    let per_lane = claim.max_per_lane.clamp(1, claim.max_jobs.max(1));
    let fits = claim.max_jobs > 0 && claim.max_jobs.is_multiple_of(per_lane);
    if !fits || floors.is_sparse(claim.queue.as_str()) {
        return Ok(Taken::default());
    }
    let args = (floors, claim, per_lane);
    store.claim_once(&args, |tx, (floors, claim, per_lane)| Box::pin(run(tx, floors, claim, *per_lane))).await
}

async fn run(tx: &Tx, floors: &Floors, claim: &JobClaim, per_lane: u32) -> Outcome<Taken> {
    let queue = claim.queue.as_str();
    let wanted = claim.max_jobs / per_lane;
    let start = floors.get(queue);
    let is_whole = start == Start::NOWHERE;
    let rows = tx
        .query(
            TAKE,
            &[
                &tx.now_ms,
                &queue,
                &i64::from(wanted),
                &i64::from(per_lane),
                &start.at_ms,
                &claim.owner.as_str(),
                &duration_ms(claim.ttl),
                &i64::from(claim.max_attempts),
                &start.now_ms,
                &if is_whole { 1 } else { i64::from(wanted) },
                &tx.instance,
            ],
        )
        .await?;
    let found = rows.len();
    let mut lanes: Vec<TakenLane> = rows.into_iter().filter_map(TakenLane::read_or_leave).collect();
    lanes.sort_unstable_by_key(|lane| (lane.was_available_at, lane.id));
    let found_all = is_whole && found < wanted as usize;
    if let Some(first) = lanes.first().filter(|_| is_whole) {
        floors.set(queue, Some((first.was_available_at, first.now)));
    }
    let mut taken = Taken { lanes: lanes.iter().map(|lane| lane.id).collect(), ..Taken::default() };
    for lane in lanes {
        lane.hand_out(claim, &mut taken.jobs);
    }
    let is_full = taken.jobs.len() == claim.max_jobs as usize;
    taken.is_enough = !taken.jobs.is_empty() && (is_full || found_all);
    if !taken.jobs.is_empty() && !taken.is_enough {
        floors.set_sparse(queue);
    }
    Ok(taken)
}

/// A lane as it was taken.
struct TakenLane {
    id: i64,
    key: LaneKey,
    epoch: Epoch,
    attempts: u32,
    done_seq: i64,
    was_available_at: Timestamp,
    now: Timestamp,
    payloads: Vec<String>,
}

impl TakenLane {
    /// One whose row cannot be read holds up no other: it is left to its lease, and then set aside.
    fn read_or_leave(row: Row) -> Option<Self> {
        Self::read(row).inspect_err(|error| tracing::warn!(%error, "a lane cannot be read")).ok()
    }

    fn read(row: Row) -> Outcome<Self> {
        Ok(Self {
            id: get(&row, 0)?,
            key: name(&row, 1)?,
            epoch: Epoch(get(&row, 2)?),
            attempts: unsigned(&row, 3)?,
            done_seq: get(&row, 4)?,
            was_available_at: timestamp(&row, 5)?,
            now: timestamp(&row, 6)?,
            payloads: get(&row, 7)?,
        })
    }

    /// Its jobs. The first has been begun before, perhaps; the others have not.
    fn hand_out(self, claim: &JobClaim, jobs: &mut Vec<ClaimedJob>) {
        let lease_until = self.now.after(claim.ttl);
        for (seq, payload) in (self.done_seq + 1..).zip(self.payloads) {
            jobs.push(ClaimedJob {
                ticket: JobTicket { job: JobId { lane: self.id, seq }, epoch: self.epoch },
                queue: claim.queue.clone(),
                key: self.key.clone(),
                payload,
                attempt: if seq == self.done_seq + 1 { self.attempts } else { 1 },
                lease_until,
            });
        }
    }
}
