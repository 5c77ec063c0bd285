//! Putting jobs into lanes: the lanes grow first, in one fixed order, and so give the numbers.

use std::collections::{BTreeMap, HashMap};

use tokio_postgres::Row;
use windlass_core::error::StoreError;
use windlass_core::job::{JobId, NewJob};
use windlass_core::name::{LaneKey, Queue};
use windlass_core::store::check_job_queue;
use windlass_core::time::Timestamp;

use crate::error::Outcome;
use crate::row::{damaged, get};
use crate::tx::Tx;

/// A lane by queue and key.
type LaneName<'a> = (&'a str, &'a str);

/// A job on its way into a lane.
pub(super) struct Entry<'a> {
    pub(super) queue: &'a Queue,
    pub(super) key: &'a LaneKey,
    pub(super) payload: &'a str,
    pub(super) not_before: Option<Timestamp>,
    pub(super) unique: bool,
}

impl<'a> From<&'a NewJob> for Entry<'a> {
    fn from(job: &'a NewJob) -> Self {
        let NewJob { queue, key, payload, not_before, unique } = job;
        Self { queue, key, payload, not_before: *not_before, unique: *unique }
    }
}

impl<'a> Entry<'a> {
    fn lane(&self) -> LaneName<'a> {
        (self.queue.as_str(), self.key.as_str())
    }
}

/// What a lane gets.
struct Growth {
    count: i64,
    /// When its first new job may start.
    not_before: Option<i64>,
}

/// A lane that has grown.
struct Grown {
    next: JobId,
    done_seq: i64,
}

/// Puts jobs into their lanes; their ids, in order.
pub(crate) async fn enqueue(tx: &Tx, jobs: &[NewJob]) -> Outcome<Vec<JobId>> {
    jobs.iter().try_for_each(|job| check_job_queue(&job.queue))?;
    let entries: Vec<Entry<'_>> = jobs.iter().map(Entry::from).collect();
    append(tx, &entries).await
}

/// Adds jobs at the ends of their lanes; their ids, in order.
pub(super) async fn append(tx: &Tx, entries: &[Entry<'_>]) -> Outcome<Vec<JobId>> {
    if entries.is_empty() {
        return Ok(Vec::new());
    }
    let mut growth: BTreeMap<LaneName<'_>, Growth> = BTreeMap::new();
    for entry in entries {
        let first = || Growth { count: 0, not_before: entry.not_before.map(Timestamp::as_ms) };
        growth.entry(entry.lane()).or_insert_with(first).count += 1;
    }
    let mut lanes = grow(tx, &growth).await?;
    let mut ids = Vec::with_capacity(entries.len());
    for entry in entries {
        let lane = lanes.get_mut(&entry.lane()).ok_or_else(|| damaged("a lane did not grow"))?;
        if entry.unique && lane.next.seq > lane.done_seq + 1 {
            return Err(duplicate(entry.lane()).into());
        }
        ids.push(lane.next);
        lane.next.seq += 1;
    }
    insert(tx, &ids, entries).await?;
    Ok(ids)
}

/// Lengthens lanes, in the order of their names. A drained lane becomes available
/// when its first new job is due; one in use is left alone.
async fn grow<'a>(tx: &Tx, lanes: &BTreeMap<LaneName<'a>, Growth>) -> Outcome<HashMap<LaneName<'a>, Grown>> {
    let (queues, keys): (Vec<&str>, Vec<&str>) = lanes.keys().copied().unzip();
    let counts: Vec<i64> = lanes.values().map(|growth| growth.count).collect();
    let not_before: Vec<Option<i64>> = lanes.values().map(|growth| growth.not_before).collect();
    let rows = tx
        .query(
            "WITH clock AS MATERIALIZED (SELECT windlass_now($1) AS now_ms)
             INSERT INTO lane (queue, key, tail_seq, available_at_ms)
             SELECT queue, key, count, GREATEST(not_before_ms, now_ms)
             FROM unnest($2::TEXT[], $3::TEXT[], $4::BIGINT[], $5::BIGINT[]) WITH ORDINALITY
                 AS new (queue, key, count, not_before_ms, place), clock
             ORDER BY place
             ON CONFLICT (queue, key) DO UPDATE SET
                 tail_seq = lane.tail_seq + EXCLUDED.tail_seq,
                 available_at_ms = CASE WHEN lane.tail_seq = lane.done_seq
                     THEN EXCLUDED.available_at_ms ELSE lane.available_at_ms END
             RETURNING queue, key, id, done_seq, tail_seq",
            &[&tx.now_ms, &queues, &keys, &counts, &not_before],
        )
        .await?;
    let named = |row| Ok(((get(row, 0)?, get(row, 1)?), row));
    let rows: HashMap<LaneName<'_>, &Row> = rows.iter().map(named).collect::<Outcome<_>>()?;
    let mut grown = HashMap::with_capacity(lanes.len());
    for (name, growth) in lanes {
        let row = rows.get(name).ok_or_else(|| damaged("a lane did not grow"))?;
        let next = JobId { lane: get(row, 2)?, seq: get::<i64>(row, 4)? - growth.count + 1 };
        grown.insert(*name, Grown { next, done_seq: get(row, 3)? });
    }
    Ok(grown)
}

/// Stores jobs, those of a lane next to each other, as they will be taken.
async fn insert(tx: &Tx, ids: &[JobId], entries: &[Entry<'_>]) -> Outcome<()> {
    let (lanes, seqs): (Vec<i64>, Vec<i64>) = ids.iter().map(|id| (id.lane, id.seq)).unzip();
    let payloads: Vec<&str> = entries.iter().map(|entry| entry.payload).collect();
    let not_before: Vec<Option<i64>> =
        entries.iter().map(|entry| entry.not_before.map(Timestamp::as_ms)).collect();
    tx.execute(
        "WITH clock AS MATERIALIZED (SELECT windlass_now($1) AS now_ms)
         INSERT INTO job (lane_id, seq, payload, enqueued_at_ms, not_before_ms)
         SELECT lane_id, seq, payload, now_ms, not_before_ms
         FROM unnest($2::BIGINT[], $3::BIGINT[], $4::TEXT[], $5::BIGINT[])
             AS new (lane_id, seq, payload, not_before_ms), clock
         ORDER BY lane_id, seq",
        &[&tx.now_ms, &lanes, &seqs, &payloads, &not_before],
    )
    .await?;
    Ok(())
}

fn duplicate((queue, key): LaneName<'_>) -> StoreError {
    StoreError::Duplicate { queue: queue.to_owned(), key: key.to_owned() }
}
