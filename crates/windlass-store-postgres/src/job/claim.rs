//! Taking jobs: the longest waiting lanes first, each with a run of its first jobs.

use std::time::Duration;

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{ClaimedJob, DeletedJobs, JobClaim, JobId, JobTicket, NO_PAYLOAD};
use windlass_core::time::Timestamp;

use super::bury::bury;
use super::ordinary::{self, Taken};
use crate::PostgresStore;
use crate::claim::{Candidates, Changes};
use crate::error::Outcome;
use crate::floor::Floors;
use crate::lane::Lane;
use crate::row::get;
use crate::tx::Tx;

/// A job as a claim reads it.
struct Open {
    lane: i64,
    seq: i64,
    payload: String,
    not_before: Option<Timestamp>,
}

/// Takes jobs: in one statement, if nothing is out of the ordinary, and what is left the longer way.
pub(super) async fn claim(store: &PostgresStore, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>> {
    let Taken { mut jobs, lanes, is_enough } = ordinary::take(store, claim).await?;
    if is_enough {
        return Ok(jobs);
    }
    let rest = Rest {
        floors: &store.inner.floors,
        claim: JobClaim { max_jobs: claim.max_jobs - jobs.len() as u32, ..claim.clone() },
        max_lanes: claim.max_jobs - lanes.len() as u32,
        seen: lanes,
    };
    let answer = store.claim(&rest, |tx, rest| Box::pin(claim_rest(tx, rest))).await;
    match answer {
        Ok(rest) => jobs.extend(rest.unwrap_or_default()),
        // What was taken is held, and nobody else will hear of it.
        Err(error) if !jobs.is_empty() => tracing::warn!(%error, "a claim was cut short"),
        Err(error) => return Err(error),
    }
    Ok(jobs)
}

/// What is left of a claim.
struct Rest<'a> {
    floors: &'a Floors,
    claim: JobClaim,
    max_lanes: u32,
    /// Lanes that were taken already.
    seen: Vec<i64>,
}

/// Takes jobs of other lanes.
async fn claim_rest(tx: &Tx, rest: &Rest<'_>) -> Outcome<Vec<ClaimedJob>> {
    let Rest { floors, claim, max_lanes, seen } = rest;
    let mut candidates =
        Candidates::new(floors, claim.queue.as_str(), claim.max_jobs, claim.max_per_lane, claim.max_attempts)
            .without(seen, *max_lanes);
    let mut changes = Changes::default();
    let mut claimed = Vec::new();
    let mut began_at = None;
    loop {
        let room = claim.max_jobs as usize - claimed.len();
        let lanes = candidates.next(tx, room as u32).await?;
        let Some(first) = lanes.first() else { break };
        began_at.get_or_insert(first.now);
        let (exhausted, lanes): (Vec<Lane>, Vec<Lane>) =
            lanes.into_iter().partition(|lane| candidates.is_exhausted(lane));
        bury(tx, &exhausted, None).await?;
        exhausted.iter().for_each(|lane| changes.pass(lane, lane.head()));
        let mut jobs = first_jobs(tx, &lanes, candidates.max_per_lane()).await?.into_iter().peekable();
        for lane in lanes {
            let mut run: Vec<Open> = std::iter::from_fn(|| jobs.next_if(|job| job.lane == lane.id)).collect();
            if claim.deleted == DeletedJobs::Restore && run.first().is_none_or(|job| job.seq != lane.head()) {
                run = vec![restore(tx, &lane).await?];
            }
            take_run(&mut changes, &mut claimed, lane, run, claim)?;
        }
    }
    if let Some(now) = began_at {
        changes.write(tx, now, &claim.owner, claim.ttl).await?;
    }
    Ok(claimed)
}

/// The first jobs of each lane that are there, lane by lane. The limit also keeps the planner
/// from joining with the whole table.
async fn first_jobs(tx: &Tx, lanes: &[Lane], max_per_lane: u32) -> Outcome<Vec<Open>> {
    let ids: Vec<i64> = lanes.iter().map(|lane| lane.id).collect();
    let heads: Vec<i64> = lanes.iter().map(Lane::head).collect();
    let tails: Vec<i64> = lanes.iter().map(|lane| lane.tail_seq).collect();
    let rows = tx
        .query(
            "SELECT id, seq, payload, not_before_ms
             FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[]) WITH ORDINALITY AS run (id, head, tail, place),
                 LATERAL (SELECT * FROM job WHERE lane_id = id AND seq BETWEEN head AND tail
                          ORDER BY seq LIMIT $4) AS first_jobs
             ORDER BY place, seq",
            &[&ids, &heads, &tails, &i64::from(max_per_lane)],
        )
        .await?;
    let read = |row| {
        Ok(Open {
            lane: get(row, 0)?,
            seq: get(row, 1)?,
            payload: get(row, 2)?,
            not_before: get::<Option<i64>>(row, 3)?.map(Timestamp::from_ms),
        })
    };
    rows.iter().map(read).collect()
}

/// Puts a lane's head back, without its payload. Whoever held it is fenced by the claim.
async fn restore(tx: &Tx, lane: &Lane) -> Outcome<Open> {
    tracing::warn!(lane.queue, lane.key, "a job was deleted from the database; it is put back");
    tx.execute(
        "INSERT INTO job (lane_id, seq, payload, enqueued_at_ms) VALUES ($1, $2, $3, $4)",
        &[&lane.id, &lane.head(), &NO_PAYLOAD, &lane.now.as_ms()],
    )
    .await?;
    Ok(Open { lane: lane.id, seq: lane.head(), payload: NO_PAYLOAD.to_owned(), not_before: None })
}

/// Takes as much of a lane's run as may start now and has room. A lane whose jobs were deleted goes
/// on behind them, and one that has none left is forgotten.
fn take_run(
    changes: &mut Changes,
    claimed: &mut Vec<ClaimedJob>,
    lane: Lane,
    run: Vec<Open>,
    claim: &JobClaim,
) -> Outcome<()> {
    let room = claim.max_jobs as usize - claimed.len();
    if room == 0 {
        return Ok(());
    }
    let tell_deleted = || {
        tracing::error!(
            lane.queue,
            lane.key,
            "jobs were deleted from the database, and what they stood for is not done; payouts are taken up again"
        );
    };
    let Some(head) = run.first() else {
        tell_deleted();
        changes.forget(&lane);
        return Ok(());
    };
    let lane = if head.seq == lane.head() {
        lane
    } else {
        tell_deleted();
        changes.pass_deleted(lane, head.seq - 1)
    };
    let is_due = |job: &Open| job.not_before.is_none_or(|instant| instant <= lane.now);
    if let Some(instant) = head.not_before.filter(|_| !is_due(head)) {
        changes.delay(&lane, instant);
        return Ok(());
    }
    // A run has no gap: behind one, the next claim goes on.
    let in_order = |(job, seq): &(Open, i64)| job.seq == *seq && is_due(job);
    let run = run.into_iter().zip(lane.head()..).take(room);
    let due: Vec<Open> = run.take_while(in_order).map(|(job, _)| job).collect();
    let last = due.last().map_or(lane.done_seq, |job| job.seq);
    let taken = changes.take(lane, last);
    for job in due {
        claimed.push(claimed_job(&taken, job.seq, job.payload, claim.ttl)?);
    }
    Ok(())
}

/// A job that the holder of a lane, just taken, has been given.
fn claimed_job(lane: &Lane, seq: i64, payload: String, ttl: Duration) -> Outcome<ClaimedJob> {
    let unnamed = |error: windlass_core::name::NameError| StoreError::Corrupt(error.to_string());
    Ok(ClaimedJob {
        ticket: JobTicket { job: JobId { lane: lane.id, seq }, epoch: lane.epoch },
        queue: lane.queue.parse().map_err(unnamed)?,
        key: lane.key.parse().map_err(unnamed)?,
        payload,
        attempt: if seq == lane.head() { lane.attempts } else { 1 },
        lease_until: lane.now.after(ttl),
    })
}
