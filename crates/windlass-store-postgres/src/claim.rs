//! How a claim goes over the lanes of a queue, whether they hold jobs or messages.

use std::collections::VecDeque;
use std::time::Duration;

use windlass_core::name::Owner;
use windlass_core::time::Timestamp;

use crate::error::Outcome;
use crate::floor::{Floors, Start};
use crate::lane::{self, Lane};
use crate::tx::Tx;

/// The lanes a claim looks at, the longest waiting first.
///
/// Locking a lane keeps other claimants away from it, so no more are locked than
/// could be needed: first as many as suffice if each gives its full share, then,
/// if they did not, as many as may be looked at at all.
pub(crate) struct Candidates<'a> {
    floors: &'a Floors,
    queue: &'a str,
    max_per_lane: u32,
    max_attempts: u32,
    /// How many more lanes may be looked at.
    left: u32,
    seen: Vec<i64>,
    waiting: VecDeque<Lane>,
}

impl<'a> Candidates<'a> {
    /// The lanes of a queue, for a claim of at most so many entries.
    pub(crate) fn new(
        floors: &'a Floors,
        queue: &'a str,
        max_entries: u32,
        max_per_lane: u32,
        max_attempts: u32,
    ) -> Self {
        Self {
            floors,
            queue,
            max_per_lane: max_per_lane.max(1),
            max_attempts,
            left: max_entries,
            seen: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Passes over lanes that were taken already; so many more may be looked at.
    pub(crate) fn without(self, taken: &[i64], left: u32) -> Self {
        Self { seen: taken.to_vec(), left, ..self }
    }

    /// The most entries one lane may give.
    pub(crate) fn max_per_lane(&self) -> u32 {
        self.max_per_lane
    }

    /// Whether a lane's head was begun too often.
    pub(crate) fn is_exhausted(&self, lane: &Lane) -> bool {
        lane.attempts >= self.max_attempts
    }

    /// The next lanes, which at their best fill the room; none when there are no more.
    pub(crate) async fn next(&mut self, tx: &Tx, room: u32) -> Outcome<Vec<Lane>> {
        if self.waiting.is_empty() && self.left > 0 && room > 0 {
            self.lock(tx, room).await?;
        }
        let mut expected = 0;
        let mut lanes = Vec::new();
        while expected < i64::from(room) {
            let Some(lane) = self.waiting.pop_front() else { break };
            if !self.is_exhausted(&lane) {
                expected += lane.run_end(self.max_per_lane) - lane.done_seq;
            }
            lanes.push(lane);
        }
        Ok(lanes)
    }

    async fn lock(&mut self, tx: &Tx, room: u32) -> Outcome<()> {
        let enough = if self.seen.is_empty() { room.div_ceil(self.max_per_lane) } else { self.left };
        let limit = enough.min(self.left);
        let (locked, count) = self.lock_from_floor(tx, limit).await?;
        let found_all = (count as u64) < u64::from(limit);
        self.left = if found_all { 0 } else { self.left - limit };
        self.seen.extend(locked.iter().map(|lane| lane.id));
        self.waiting.extend(locked);
        Ok(())
    }

    /// The lanes that were locked and can be read, and how many were locked.
    async fn lock_from_floor(&self, tx: &Tx, limit: u32) -> Outcome<(Vec<Lane>, usize)> {
        let start = self.floors.get(self.queue);
        if start != Start::NOWHERE {
            let (locked, count) = lane::lock_runnable(tx, self.queue, limit, &self.seen, start.at_ms).await?;
            let is_full = count as u64 == u64::from(limit);
            if is_full && locked.first().is_some_and(|lane| lane.now.as_ms() >= start.now_ms) {
                return Ok((locked, count));
            }
        }
        let (locked, count) =
            lane::lock_runnable(tx, self.queue, limit, &self.seen, Start::NOWHERE.at_ms).await?;
        if self.seen.is_empty() {
            self.floors.set(self.queue, locked.first().map(|lane| (lane.available_at, lane.now)));
        }
        Ok((locked, count))
    }
}

/// What a claim does to the lanes it has locked: one statement for each kind of change.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    taken: Vec<(i64, i64)>,
    passed: Vec<(i64, i64)>,
    delayed: Vec<(i64, i64)>,
    forgotten: Vec<i64>,
}

impl Changes {
    /// Takes a lane up to `held_seq`; returns it as it will be.
    pub(crate) fn take(&mut self, lane: Lane, held_seq: i64) -> Lane {
        self.taken.push((lane.id, held_seq));
        Lane { epoch: lane.epoch.next(), held_seq, attempts: lane.attempts + 1, ..lane }
    }

    /// Passes over entries up to `seq`, which were given up or are not this lane's, and frees it.
    pub(crate) fn pass(&mut self, lane: &Lane, seq: i64) {
        self.passed.push((lane.id, seq));
    }

    /// Moves a lane past jobs whose rows are gone, up to `seq`; returns it as it will be. Nobody
    /// holds it then, so that who held one of them is fenced.
    pub(crate) fn pass_deleted(&mut self, lane: Lane, seq: i64) -> Lane {
        self.pass(&lane, seq);
        Lane { done_seq: seq, attempts: 0, last_error: None, available_at: lane.now, ..lane }
    }

    /// Forgets a lane of jobs that has none left. Its number is never used again, and so nobody
    /// who held it can write.
    pub(crate) fn forget(&mut self, lane: &Lane) {
        self.forgotten.push(lane.id);
    }

    /// Leaves a lane alone until an instant.
    pub(crate) fn delay(&mut self, lane: &Lane, until: Timestamp) {
        self.delayed.push((lane.id, until.as_ms()));
    }

    /// Writes it all down, and commits together with the last of it.
    pub(crate) async fn write(&self, tx: &Tx, now: Timestamp, owner: &Owner, ttl: Duration) -> Outcome<()> {
        if let Some((ids, seqs)) = columns(&self.passed) {
            lane::pass(tx, &ids, &seqs, now).await?;
        }
        if !self.forgotten.is_empty() {
            tx.execute("DELETE FROM lane WHERE id = ANY ($1) AND partition_id IS NULL", &[&self.forgotten])
                .await?;
        }
        if let Some((ids, until)) = columns(&self.delayed) {
            tx.execute(
                "UPDATE lane SET available_at_ms = delayed.until_ms
                 FROM unnest($1::BIGINT[], $2::BIGINT[]) AS delayed (id, until_ms) WHERE lane.id = delayed.id",
                &[&ids, &until],
            )
            .await?;
        }
        if let Some((ids, held)) = columns(&self.taken) {
            tx.execute_and_commit(
                "UPDATE lane SET epoch = epoch + 1, owner = $3, held_seq = taken.held_seq,
                     available_at_ms = $4, attempts = GREATEST(attempts, 0) + 1, instance_id = $5
                 FROM unnest($1::BIGINT[], $2::BIGINT[]) AS taken (id, held_seq) WHERE lane.id = taken.id",
                &[&ids, &held, &owner.as_str(), &now.after(ttl).as_ms(), &tx.instance],
            )
            .await?;
        }
        Ok(())
    }
}

fn columns(pairs: &[(i64, i64)]) -> Option<(Vec<i64>, Vec<i64>)> {
    (!pairs.is_empty()).then(|| pairs.iter().copied().unzip())
}
