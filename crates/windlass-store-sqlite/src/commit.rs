//! The transaction door: fences first, then every write in its order, or nothing.

use async_trait::async_trait;
use windlass_core::commit::{Commit, Fence, Write, Written};
use windlass_core::error::StoreResult;
use windlass_core::store::Door;

use crate::writer::Tx;
use crate::{SqliteStore, cursor, event, job, lease, outbox, pay, state, table};

#[async_trait]
impl Door for SqliteStore {
    async fn commit(&self, commit: Commit) -> StoreResult<Vec<Written>> {
        commit.validate()?;
        self.write(commit.durability, move |tx| {
            commit.fences.iter().try_for_each(|fence| check(tx, fence))?;
            commit.writes.iter().map(|write| apply(tx, write)).collect()
        })
        .await
    }
}

fn check(tx: &Tx<'_>, fence: &Fence) -> StoreResult<()> {
    match fence {
        Fence::Lease { name, epoch } => lease::check(tx, name, *epoch),
        Fence::Job(ticket) => job::require_head(tx, *ticket).map(|_| ()),
    }
}

fn apply(tx: &Tx<'_>, write: &Write) -> StoreResult<Written> {
    match write {
        Write::Events(events) => event::insert(tx, events),
        Write::EraseEvents { chain, blocks, contracts } => event::erase(tx, *chain, *blocks, contracts),
        Write::Blocks { chain, headers } => event::insert_blocks(tx, *chain, headers),
        Write::Rows(rows) => table::insert(tx, rows),
        Write::EraseRows { table, blocks, contracts } => table::erase(tx, table, *blocks, contracts),
        Write::ForgetBlocks { chain, below } => event::forget_blocks(tx, *chain, *below),
        Write::Retract { chain, from_block } => event::retract(tx, *chain, *from_block),
        Write::SeedCursor { name, start } => cursor::seed(tx, name, start),
        Write::AdvanceCursor { name, to, rule } => cursor::advance(tx, name, to, *rule),
        Write::ResetCursor { name, expected, to } => cursor::reset(tx, name, expected, to),
        Write::Enqueue(jobs) => job::enqueue(tx, jobs),
        Write::CompleteJob(ticket) => job::complete(tx, *ticket),
        Write::DropQueue(queue) => job::drop_queue(tx, queue),
        Write::Publish(messages) => outbox::publish(tx, messages),
        Write::PutState { key, value } => state::put(tx, key, value.as_deref()),
        Write::Pay(write) => pay::write(tx, write),
    }
}
