//! The ports a store implements: one trait per noun, plain data in and out.
//!
//! Both stores pass one conformance suite. A claim on a busy database answers
//! "nothing now" at once; a write waits a bounded time and then says
//! [`StoreError::Busy`](crate::error::StoreError::Busy).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::chain::{BlockHeader, ChainId};
use crate::commit::{Commit, Write, Written};
use crate::cursor::{Cursor, CursorMove, CursorRule};
use crate::error::{StoreError, StoreResult};
use crate::event::LogEvent;
use crate::job::{
    ClaimedJob, JobClaim, JobFailure, JobFilter, JobId, JobRow, JobTicket, NewJob, QueueCounts,
};
use crate::lease::Lease;
use crate::name::{CursorName, LeaseName, Owner, Partition, Queue, Sink, StateKey};
use crate::outbox::{
    ClaimedMessages, DeadMessage, DeliveryFailure, DeliveryHold, Message, MessageClaim, SinkDepth, SinkStart,
};
pub use crate::payout::store::Payouts;
use crate::range::{BlockRange, RangeClaim};
use crate::row_query::{Condition, RowQuery, SumGroup, SumQuery};
use crate::table::{EventRow, Identifier, TableSpec};
use crate::time::Timestamp;

/// The most events a page returns.
pub const MAX_EVENT_PAGE: u32 = 10_000;

/// Events are counted up to so many.
pub const MAX_COUNTED_EVENTS: u64 = 10_000;

/// The most cursors a listing returns.
pub const MAX_LISTED_CURSORS: u32 = 1_000;

/// A whole store.
pub trait Store:
    Door + Leases + Jobs + Ranges + Cursors + Outbox + Events + Tables + Payouts + Health
{
}

impl<T: Door + Leases + Jobs + Ranges + Cursors + Outbox + Events + Tables + Payouts + Health> Store for T {}

/// The transaction door.
#[async_trait]
pub trait Door: Send + Sync {
    /// Commits everything or nothing, and says what each write did.
    async fn commit(&self, commit: Commit) -> StoreResult<Vec<Written>>;
}

/// Named leases.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Takes a free or expired lease, or extends one's own; `None` while another holds it.
    /// A lease whose holder is known to have died counts as expired.
    async fn acquire_lease(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>>;

    /// Prolongs a lease from now on; [`StoreError::Fenced`] once somebody else has taken it.
    async fn extend_lease(&self, lease: &Lease, ttl: Duration) -> StoreResult<Lease>;

    /// Gives a lease back; `false` when it was no longer the caller's.
    async fn release_lease(&self, lease: &Lease) -> StoreResult<bool>;

    /// Every lease that is held, by name.
    async fn list_leases(&self) -> StoreResult<Vec<Lease>>;

    /// The leases that have not run out and whose holder is known to have died, by name.
    /// Stores that cannot know this, and holders that cannot be judged, have none.
    async fn list_abandoned_leases(&self) -> StoreResult<Vec<LeaseName>> {
        Ok(Vec::new())
    }
}

/// Jobs in lanes.
#[async_trait]
pub trait Jobs: Door {
    /// Takes up to `max_jobs` jobs of lanes that nobody holds, the longest waiting
    /// lanes first. Lanes at their attempts limit give up their first job. Lanes whose holder
    /// is known to have died count as free, with one attempt more.
    async fn claim_jobs(&self, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>>;

    /// Prolongs the hold on the tickets' lanes from now on; returns the tickets
    /// that were no longer valid.
    async fn extend_jobs(&self, tickets: &[JobTicket], ttl: Duration) -> StoreResult<Vec<JobTicket>>;

    /// Finishes jobs, each lane's in order and without a gap; returns the tickets
    /// that were no longer valid, whose jobs are untouched. A lane that has nothing left
    /// goes with its last job: its number is never used again, and so whoever held it
    /// before can write nothing.
    async fn complete_jobs(&self, tickets: &[JobTicket]) -> StoreResult<Vec<JobTicket>>;

    /// Records a failed try of a lane's first open job and frees the lane.
    async fn fail_job(&self, failure: &JobFailure) -> StoreResult<()>;

    /// Frees the tickets' lanes at once, as if they had not been claimed: for a shutdown.
    async fn release_jobs(&self, tickets: &[JobTicket]) -> StoreResult<()>;

    /// Puts dead jobs at the end of their lanes again; returns the new ids of those that were dead.
    async fn requeue_dead_jobs(&self, ids: &[JobId]) -> StoreResult<Vec<JobId>>;

    /// A page of jobs.
    async fn list_jobs(&self, filter: &JobFilter) -> StoreResult<Vec<JobRow>>;

    /// One job, open or dead.
    async fn show_job(&self, id: JobId) -> StoreResult<Option<JobRow>>;

    /// How every queue stands that has a job, open or dead, by name.
    async fn count_jobs(&self) -> StoreResult<Vec<QueueCounts>>;

    /// Puts jobs into lanes; returns their ids in order.
    async fn enqueue_jobs(&self, jobs: Vec<NewJob>) -> StoreResult<Vec<JobId>> {
        match self.commit(Commit::of(vec![Write::Enqueue(jobs)])).await?.pop() {
            Some(Written::Jobs(ids)) => Ok(ids),
            other => Err(unexpected("enqueue", other)),
        }
    }
}

/// Claimed block ranges.
#[async_trait]
pub trait Ranges: Send + Sync {
    /// Takes the next range behind a cursor: moves the cursor and creates the job,
    /// held by the claimant, in one transaction. `None` when nothing is left.
    async fn claim_range(&self, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>>;
}

/// Cursors.
#[async_trait]
pub trait Cursors: Door {
    /// Where a cursor stands.
    async fn cursor(&self, name: &CursorName) -> StoreResult<Option<Cursor>>;

    /// Every cursor by name, up to [`MAX_LISTED_CURSORS`].
    async fn list_cursors(&self) -> StoreResult<Vec<(CursorName, Cursor)>>;

    /// Creates a cursor; `false` when it exists, whatever it says.
    async fn seed_cursor(&self, name: &CursorName, start: Cursor) -> StoreResult<bool> {
        let write = Write::SeedCursor { name: name.clone(), start };
        match self.commit(Commit::of(vec![write])).await?.pop() {
            Some(Written::Rows(rows)) => Ok(rows == 1),
            other => Err(unexpected("seed", other)),
        }
    }

    /// Moves a cursor forward by its rule.
    async fn advance_cursor(
        &self,
        name: &CursorName,
        to: Cursor,
        rule: CursorRule,
    ) -> StoreResult<CursorMove> {
        let write = Write::AdvanceCursor { name: name.clone(), to, rule };
        match self.commit(Commit::of(vec![write])).await?.pop() {
            Some(Written::Cursor(moved)) => Ok(moved),
            other => Err(unexpected("advance", other)),
        }
    }
}

/// The outbox, from the side of delivery.
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Makes a sink known, before or after messages were written; `false` when it was.
    async fn register_sink(&self, sink: &Sink, start: SinkStart) -> StoreResult<bool>;

    /// Takes the next messages of partitions that nobody delivers to this sink.
    async fn claim_messages(&self, claim: &MessageClaim) -> StoreResult<Vec<ClaimedMessages>>;

    /// Moves the sink's position to `up_to`, included; frees the partition when
    /// that was the last message claimed. [`StoreError::Fenced`] for an old epoch.
    async fn mark_delivered(&self, hold: DeliveryHold, up_to: i64) -> StoreResult<()>;

    /// Records a failed delivery of the first undelivered message and frees the partition.
    async fn fail_delivery(&self, failure: &DeliveryFailure) -> StoreResult<()>;

    /// Messages that sinks have given up, oldest lane first, up to `limit`.
    async fn list_dead_messages(&self, sink: Option<&Sink>, limit: u32) -> StoreResult<Vec<DeadMessage>>;

    /// Writes a dead message again, at the end of its partition, for its sink alone;
    /// returns how many of the ids were dead.
    async fn requeue_dead_messages(&self, ids: &[JobId]) -> StoreResult<u64>;

    /// Forgets messages that every sink is past, up to `limit`; returns how many.
    async fn prune_outbox(&self, limit: u32) -> StoreResult<u64>;

    /// Messages of a partition behind a number, in order, up to `limit`, for whoever
    /// reads without being a sink. Those that were forgotten are not there, nor are
    /// repetitions for one sink alone. At most
    /// [`MAX_CLAIMED_MESSAGES`](crate::outbox::MAX_CLAIMED_MESSAGES).
    async fn messages(&self, partition: &Partition, after: i64, limit: u32) -> StoreResult<Vec<Message>>;

    /// How far each sink is, by name.
    async fn outbox_depth(&self) -> StoreResult<Vec<SinkDepth>>;
}

/// What was collected.
#[async_trait]
pub trait Events: Send + Sync {
    /// Logs of a chain from block and log index on, in order, up to `limit`.
    async fn events(&self, chain: ChainId, from: (u64, u32), limit: u32) -> StoreResult<Vec<LogEvent>>;

    /// How many logs of a chain are stored, counted up to [`MAX_COUNTED_EVENTS`]: whoever
    /// asks every second must not pay for all there are.
    async fn count_events(&self, chain: ChainId) -> StoreResult<u64>;

    /// Remembered headers of a chain from a block on, in order, up to `limit`.
    async fn blocks(&self, chain: ChainId, from_block: u64, limit: u32) -> StoreResult<Vec<BlockHeader>>;

    /// The value kept under a key.
    async fn state(&self, key: &StateKey) -> StoreResult<Option<String>>;
}

/// Typed tables of events.
#[async_trait]
pub trait Tables: Send + Sync {
    /// Makes tables that are not there yet; returns the names of those. All or none:
    /// [`StoreError::TableConflict`] where one of that name holds something else.
    async fn create_tables(&self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>>;

    /// Takes a table away with everything in it; `false` when there was none.
    async fn drop_table(&self, name: &Identifier) -> StoreResult<bool>;

    /// Every table by name, with how many rows it has: kept, not counted.
    async fn list_tables(&self) -> StoreResult<Vec<TableInfo>>;

    /// A page of rows, by natural key.
    async fn rows(&self, query: &RowQuery) -> StoreResult<Vec<EventRow>>;

    /// How many rows meet the conditions. Without conditions it costs nothing.
    async fn count_rows(&self, table: &Identifier, conditions: &[Condition]) -> StoreResult<u64>;

    /// Totals of a column, exact, by the value they share.
    async fn sum_rows(&self, query: &SumQuery) -> StoreResult<Vec<SumGroup>>;

    /// The columns of a table that have a database index, in the table's order.
    async fn column_indexes(&self, table: &Identifier) -> StoreResult<Vec<Identifier>>;

    /// Makes the index of a column; `false` when it is there. Rows can be written meanwhile
    /// where the database can do that. May take as long as the table is large; what an
    /// attempt that was interrupted has left is cleared away by the next one.
    async fn create_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool>;

    /// Takes the index of a column away; `false` when there was none.
    async fn drop_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool>;
}

/// A table, and how full it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    /// What it is.
    pub spec: Arc<TableSpec>,
    /// How many rows it has.
    pub rows: u64,
}

/// Whether the store is well.
#[async_trait]
pub trait Health: Send + Sync {
    /// The store's clock; answering at all shows that it can be reached.
    async fn now(&self) -> StoreResult<Timestamp>;

    /// Which database, where, at which schema version.
    async fn describe(&self) -> StoreResult<StoreInfo>;

    /// Looks closely: whether everything can be read, and written to unless it was
    /// opened to look. May take a while.
    async fn check(&self) -> StoreResult<()> {
        self.now().await.map(|_| ())
    }

    /// Finishes what is under way and closes; later calls say [`StoreError::Closed`].
    async fn close(&self);
}

/// Which database, where, at which schema version.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StoreInfo {
    /// `sqlite` or `postgres`.
    pub kind: String,
    /// The engine's own version.
    pub version: String,
    /// A path, or host and database; never a password.
    pub place: String,
    /// The schema's version.
    pub schema: i64,
}

/// The queue name under which a sink's lanes stand; job queues cannot have it.
pub fn sink_queue(sink: &Sink) -> String {
    format!("{SINK_QUEUE_PREFIX}{sink}")
}

/// What sets the queues of sinks apart from those of jobs.
pub const SINK_QUEUE_PREFIX: &str = "outbox/";

/// Checks what both stores refuse before they begin: a job queue in the outbox's name space.
pub fn check_job_queue(queue: &Queue) -> StoreResult<()> {
    if queue.as_str().starts_with(SINK_QUEUE_PREFIX) {
        return Err(StoreError::Invalid(format!("queue {queue} is reserved for the outbox")));
    }
    Ok(())
}

fn unexpected(what: &str, written: Option<Written>) -> StoreError {
    StoreError::Other(format!("the store answered {written:?} to {what}"))
}
