//! The transaction door: fences first, then the writes in their order, all or nothing.

use std::num::NonZero;
use std::sync::atomic::AtomicBool;

use async_trait::async_trait;
use windlass_core::commit::{Commit, Fence, Write, Written};
use windlass_core::error::StoreResult;
use windlass_core::store::Door;

use crate::error::Outcome;
use crate::table::{Growth, is_bulk};
use crate::tx::Tx;
use crate::{PostgresStore, cursor, event, job, lane, lease, outbox, pay, state, table};

/// Commits of many rows that may be under way at once: more of them than cores that feed
/// them only makes the server change between sessions, and opens sessions for nothing.
pub(crate) fn max_bulk_commits() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get) + 1
}

/// A commit, and what an earlier try of it has found out.
struct Work {
    commit: Commit,
    /// Rows that were thought to be new were there already.
    merge: AtomicBool,
}

#[async_trait]
impl Door for PostgresStore {
    async fn commit(&self, mut commit: Commit) -> StoreResult<Vec<Written>> {
        commit.validate()?;
        for write in &mut commit.writes {
            if let Write::Events(events) = write {
                event::sort(events);
            }
        }
        // What a lease holder commits, the head above all, does not wait behind history.
        let is_urgent = commit.fences.iter().any(|fence| matches!(fence, Fence::Lease { .. }));
        let is_bulk = !is_urgent
            && commit.writes.iter().any(|write| matches!(write, Write::Rows(rows) if is_bulk(rows)));
        let _turn = if is_bulk { self.inner.bulk.acquire().await.ok() } else { None };
        let work = Work { commit, merge: AtomicBool::new(false) };
        self.write(work.commit.durability, &work, |tx, work| Box::pin(apply_all(tx, work))).await
    }
}

async fn apply_all(tx: &Tx, Work { commit, merge }: &Work) -> Outcome<Vec<Written>> {
    check_fences(tx, &commit.fences).await?;
    let mut growth = Growth::default();
    let mut written = Vec::with_capacity(commit.writes.len());
    let mut left = commit.writes.as_slice();
    while let Some((write, rest)) = left.split_first() {
        let done = job::done_together(left);
        if done.len() > 1 {
            job::complete_each(tx, &done).await?;
            written.extend(done.iter().map(|_| Written::Done));
            left = &left[done.len()..];
        } else {
            written.push(apply(tx, write, merge, &mut growth).await?);
            left = rest;
        }
    }
    growth.settle(tx).await?;
    Ok(written)
}

/// Locks what the commit stands on, leases by name and lanes by number, and
/// refuses it at the first fence that does not hold.
async fn check_fences(tx: &Tx, fences: &[Fence]) -> Outcome<()> {
    let (mut names, mut lanes) = (Vec::new(), Vec::new());
    for fence in fences {
        match fence {
            Fence::Lease { name, .. } => names.push(name.as_str()),
            Fence::Job(ticket) => lanes.push(ticket.job.lane),
        }
    }
    let leases = lease::lock_held(tx, &names).await?;
    let lanes = lane::lock_held(tx, &lanes).await?;
    for fence in fences {
        match fence {
            Fence::Lease { name, epoch } if leases.get(name.as_str()) != Some(epoch) => {
                return Err(lease::fenced(name, *epoch).into());
            }
            Fence::Job(ticket) if !lanes.iter().any(|lane| job::is_head(lane, ticket)) => {
                return Err(job::fenced(*ticket).into());
            }
            Fence::Lease { .. } | Fence::Job(_) => {}
        }
    }
    Ok(())
}

async fn apply(tx: &Tx, write: &Write, merge: &AtomicBool, growth: &mut Growth) -> Outcome<Written> {
    match write {
        Write::Events(events) => event::insert(tx, events).await,
        Write::EraseEvents { chain, blocks, contracts } => event::erase(tx, *chain, *blocks, contracts).await,
        Write::Blocks { chain, headers } => event::insert_blocks(tx, *chain, headers).await,
        Write::Rows(rows) => table::insert(tx, rows, merge, growth).await,
        Write::EraseRows { table, blocks, contracts } => {
            table::erase(tx, table, (*blocks, contracts), growth).await
        }
        Write::Retract { chain, from_block } => {
            let logs = event::retract(tx, *chain, *from_block).await?;
            Ok(Written::Rows(logs + table::retract(tx, *chain, *from_block, growth).await?))
        }
        Write::ForgetBlocks { chain, below } => event::forget_blocks(tx, *chain, *below).await,
        Write::SeedCursor { name, start } => cursor::seed(tx, name, start).await,
        Write::AdvanceCursor { name, to, rule } => cursor::advance(tx, name, to, *rule).await,
        Write::ResetCursor { name, expected, to } => cursor::reset(tx, name, expected, to).await,
        Write::Enqueue(jobs) => job::enqueue(tx, jobs).await.map(Written::Jobs),
        Write::CompleteJob(ticket) => job::complete(tx, *ticket).await.map(|()| Written::Done),
        Write::DropQueue(queue) => job::drop_queue(tx, queue).await.map(Written::Rows),
        Write::Publish(messages) => outbox::publish(tx, messages).await.map(Written::Messages),
        Write::PutState { key, value } => state::put(tx, key, value.as_deref()).await,
        Write::Pay(write) => pay::write(tx, write).await,
    }
}
