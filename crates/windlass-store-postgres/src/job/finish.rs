//! The ends of a job: done, again later, never.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use windlass_core::commit::Write;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::job::{JobFailure, JobTicket};
use windlass_core::lease::Epoch;
use windlass_core::retry::Verdict;

use super::bury::bury;
use super::together;
use crate::PostgresStore;
use crate::error::Outcome;
use crate::lane::{self, Lane};
use crate::row::get;
use crate::tx::Tx;

/// Consecutive jobs of one lane, under one epoch.
pub(super) struct Run {
    pub(super) lane: i64,
    epoch: Epoch,
    first: i64,
    last: i64,
}

impl Run {
    /// The run that these tickets of one lane, in order, make up; `None` if they do not.
    fn of(tickets: &[JobTicket]) -> Option<Self> {
        let (first, last) = (tickets.first()?, tickets.last()?);
        let follow =
            |pair: &[JobTicket]| pair[0].epoch == pair[1].epoch && pair[0].job.seq + 1 == pair[1].job.seq;
        tickets.windows(2).all(follow).then_some(Self {
            lane: first.job.lane,
            epoch: first.epoch,
            first: first.job.seq,
            last: last.job.seq,
        })
    }
}

/// Finishes jobs, each lane's in order and without a gap; returns the tickets of
/// lanes that were left untouched, because theirs were not valid.
pub(super) async fn complete_all(
    store: &PostgresStore,
    tickets: &[JobTicket],
) -> StoreResult<Vec<JobTicket>> {
    let mut sorted = tickets.to_vec();
    sorted.sort_unstable();
    let lanes: BTreeMap<i64, &[JobTicket]> = sorted
        .chunk_by(|one, other| one.job.lane == other.job.lane)
        .map(|tickets| (tickets[0].job.lane, tickets))
        .collect();
    let runs: Vec<Run> = lanes.values().filter_map(|tickets| Run::of(tickets)).collect();
    let finished = if runs.is_empty() { Arc::default() } else { together::finish(store, runs).await? };
    Ok(lanes
        .into_iter()
        .filter(|(lane, _)| !finished.contains(lane))
        .flat_map(|(_, tickets)| tickets.iter().copied())
        .collect())
}

/// Finishes runs, no two of one lane, as a transaction by itself; returns the lanes for which that was right.
pub(super) async fn finish_alone(store: &PostgresStore, runs: &[Run]) -> StoreResult<HashSet<i64>> {
    let [ids, epochs, firsts, lasts] = columns(runs);
    let finished = store.write_once(FINISH_ALONE, &[&ids, &epochs, &firsts, &lasts]).await?;
    Ok(finished.into_iter().collect())
}

/// Finishes one job, within a commit.
pub(crate) async fn complete(tx: &Tx, ticket: JobTicket) -> Outcome<()> {
    complete_each(tx, &[ticket]).await
}

/// The jobs that the first writes finish, one after another and no two of one lane: what
/// one statement can do for all of them.
pub(crate) fn done_together(writes: &[Write]) -> Vec<JobTicket> {
    let mut lanes = HashSet::new();
    let tickets = writes.iter().map_while(|write| match write {
        Write::CompleteJob(ticket) if lanes.insert(ticket.job.lane) => Some(*ticket),
        _ => None,
    });
    tickets.collect()
}

/// Finishes jobs, no two of one lane, within a commit.
pub(crate) async fn complete_each(tx: &Tx, tickets: &[JobTicket]) -> Outcome<()> {
    let run = |ticket: &JobTicket| Run {
        lane: ticket.job.lane,
        epoch: ticket.epoch,
        first: ticket.job.seq,
        last: ticket.job.seq,
    };
    let runs: Vec<Run> = tickets.iter().map(run).collect();
    let finished: HashSet<i64> = finish(tx, &runs).await?.into_iter().collect();
    match tickets.iter().find(|ticket| !finished.contains(&ticket.job.lane)) {
        Some(ticket) => Err(fenced(*ticket).into()),
        None => Ok(()),
    }
}

/// Moves lanes past their runs and deletes the jobs, in one statement; `held` are the
/// lanes for which that was right. The last job held frees its lane; before that the
/// next one is under way, as its first attempt. A lane of jobs that has nothing left goes
/// with its last one: its number is never used again. Lanes are locked in the order of their
/// numbers, because a holder may be extending the same ones just now. `$1` is the
/// caller's clock, `$4` to `$7` are the runs.
macro_rules! finish_runs {
    ($guard:literal, $rest:literal) => {
        concat!(
            "WITH run AS MATERIALIZED (
                 SELECT * FROM unnest($4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[])
                     AS run (id, epoch, first_seq, last_seq)),
             held AS MATERIALIZED (
                 SELECT id, first_seq, last_seq, tail_seq = last_seq AND partition_id IS NULL AS is_drained
                 FROM lane JOIN run USING (id)
                 WHERE lane.epoch = run.epoch AND owner IS NOT NULL
                     AND done_seq + 1 = first_seq AND last_seq <= held_seq ",
            $guard,
            " ORDER BY id FOR UPDATE OF lane),
             moved AS (
                 UPDATE lane SET done_seq = last_seq, last_error = NULL,
                     attempts = CASE WHEN held_seq = last_seq THEN 0 ELSE 1 END,
                     owner = CASE WHEN held_seq = last_seq THEN NULL ELSE owner END,
                     available_at_ms = CASE WHEN held_seq = last_seq THEN windlass_now($1) ELSE available_at_ms END
                 FROM held WHERE lane.id = held.id AND NOT is_drained),
             drained AS (
                 DELETE FROM lane USING held WHERE lane.id = held.id AND is_drained),
             gone AS (
                 DELETE FROM job USING held WHERE lane_id = id AND seq BETWEEN first_seq AND last_seq) ",
            $rest
        )
    };
}

/// Within a transaction, which has its own mark.
const FINISH: &str = finish_runs!("AND $2::BIGINT IS NULL AND $3::BIGINT IS NULL", "SELECT id FROM held");

/// As a transaction by itself: with a mark, without which nothing is done.
const FINISH_ALONE: &str = finish_runs!(
    "AND EXISTS (SELECT FROM commit_mark WHERE id = $2)",
    ", marked AS (
         UPDATE commit_mark SET nonce = $3, used_at = now(), answer = ARRAY(SELECT id FROM held)
         WHERE id = $2 RETURNING answer)
     SELECT answer FROM marked"
);

/// Finishes runs within a transaction; returns their lanes, if that was right.
async fn finish(tx: &Tx, runs: &[Run]) -> Outcome<Vec<i64>> {
    let [ids, epochs, firsts, lasts] = columns(runs);
    let no_mark = None::<i64>;
    let rows = tx.query(FINISH, &[&tx.now_ms, &no_mark, &no_mark, &ids, &epochs, &firsts, &lasts]).await?;
    rows.iter().map(|row| get(row, 0)).collect()
}

/// Lanes, epochs, first and last numbers.
fn columns(runs: &[Run]) -> [Vec<i64>; 4] {
    let column = |of: fn(&Run) -> i64| runs.iter().map(of).collect::<Vec<i64>>();
    [column(|run| run.lane), column(|run| run.epoch.0), column(|run| run.first), column(|run| run.last)]
}

/// Records a failed try and frees the lane.
pub(super) async fn fail(tx: &Tx, failure: &JobFailure) -> Outcome<()> {
    let lane = require_head(tx, failure.ticket).await?;
    match failure.verdict {
        Verdict::RetryAfter(delay) => lane::postpone(tx, &lane, &failure.error, delay).await,
        Verdict::Dead => {
            bury(tx, std::slice::from_ref(&lane), Some(&failure.error)).await?;
            lane::pass(tx, &[lane.id], &[lane.head()], lane.now).await
        }
    }
}

async fn require_head(tx: &Tx, ticket: JobTicket) -> Outcome<Lane> {
    let lanes = lane::lock_held(tx, &[ticket.job.lane]).await?;
    let found = lanes.into_iter().find(|lane| is_head(lane, &ticket));
    Ok(found.ok_or_else(|| fenced(ticket))?)
}

/// Whether a ticket is good for its lane's first open job. The lane is one that is held.
pub(crate) fn is_head(lane: &Lane, ticket: &JobTicket) -> bool {
    lane.id == ticket.job.lane
        && lane.epoch == ticket.epoch
        && lane.head() == ticket.job.seq
        && ticket.job.seq <= lane.held_seq
}

/// The refusal of a ticket that is history, or not yet.
pub(crate) fn fenced(ticket: JobTicket) -> StoreError {
    lane::fenced(format!("job {}", ticket.job), ticket.epoch)
}
