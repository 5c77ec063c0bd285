//! A store that fails when it is told to, and remembers what was asked of it and when.
//!
//! Time stands still from a failure that was told to the next call, so that pauses
//! in between cost nothing and can be measured exactly, while a real database keeps
//! real time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;
use windlass_core::chain::{BlockHeader, ChainId};
use windlass_core::commit::{Commit, Written};
use windlass_core::cursor::Cursor;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::event::LogEvent;
use windlass_core::job::{
    ClaimedJob, JobClaim, JobFailure, JobFilter, JobId, JobRow, JobTicket, QueueCounts,
};
use windlass_core::lease::Lease;
use windlass_core::name::{CursorName, LeaseName, Owner, Partition, Sink, StateKey};
use windlass_core::outbox::{
    ClaimedMessages, DeadMessage, DeliveryFailure, DeliveryHold, Message, MessageClaim, SinkDepth, SinkStart,
};
use windlass_core::range::{BlockRange, RangeClaim};
use windlass_core::row_query::{Condition, RowQuery, SumGroup, SumQuery};
use windlass_core::store::{
    Cursors, Door, Events, Health, Jobs, Leases, Outbox, Ranges, Store, StoreInfo, TableInfo, Tables,
};
use windlass_core::table::{EventRow, Identifier, TableSpec};
use windlass_core::time::Timestamp;

/// The store.
pub(crate) struct Flaky {
    inner: Arc<dyn Store>,
    script: Mutex<Script>,
}

#[derive(Default)]
struct Script {
    busy: BTreeMap<&'static str, u32>,
    trouble: BTreeMap<&'static str, VecDeque<StoreError>>,
    calls: Vec<(&'static str, Instant)>,
    stands_still: bool,
}

/// A database that is away for a moment.
pub(crate) fn away() -> StoreError {
    StoreError::Unreachable { place: "here".to_owned(), reason: "it is away".to_owned() }
}

impl Flaky {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, script: Mutex::default() }
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().expect("no panic")
    }

    /// The next calls of an operation fail like this, one after another.
    pub(crate) fn fail(&self, operation: &'static str, errors: impl IntoIterator<Item = StoreError>) {
        self.script().trouble.entry(operation).or_default().extend(errors);
    }

    /// The next claims of a kind find the database busy, and so answer nothing.
    pub(crate) fn be_busy(&self, operation: &'static str, times: u32) {
        self.script().busy.insert(operation, times);
    }

    fn is_busy(&self, operation: &'static str) -> bool {
        let mut script = self.script();
        let left = script.busy.entry(operation).or_default();
        let is_busy = *left > 0;
        *left = left.saturating_sub(1);
        is_busy
    }

    /// What was called since this was asked last, each with the pause before it.
    pub(crate) fn calls(&self) -> Vec<(&'static str, Duration)> {
        let calls = std::mem::take(&mut self.script().calls);
        let mut before = calls.first().map(|(_, at)| *at);
        let since = |(operation, at): (&'static str, Instant)| {
            let pause = at - before.replace(at).unwrap_or(at);
            (operation, pause)
        };
        calls.into_iter().map(since).collect()
    }

    /// Fails as told, or lets the call through.
    fn meet(&self, operation: &'static str) -> StoreResult<()> {
        let mut script = self.script();
        script.calls.push((operation, Instant::now()));
        if std::mem::take(&mut script.stands_still) {
            tokio::time::resume();
        }
        match script.trouble.get_mut(operation).and_then(VecDeque::pop_front) {
            Some(error) => {
                script.stands_still = true;
                tokio::time::pause();
                Err(error)
            }
            None => Ok(()),
        }
    }
}

/// Ports whose operations meet trouble before they are passed on.
macro_rules! pass {
    ($($port:ident { $($operation:ident($($name:ident: $kind:ty),*) -> $answer:ty;)* })*) => {$(
        #[async_trait]
        impl $port for Flaky {$(
            async fn $operation(&self, $($name: $kind),*) -> StoreResult<$answer> {
                self.meet(stringify!($operation))?;
                self.inner.$operation($($name),*).await
            }
        )*}
    )*};
}

#[async_trait]
impl Ranges for Flaky {
    async fn claim_range(&self, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
        self.meet("claim_range")?;
        if self.is_busy("claim_range") { Ok(None) } else { self.inner.claim_range(claim).await }
    }
}

#[async_trait]
impl Leases for Flaky {
    async fn acquire_lease(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>> {
        self.meet("acquire_lease")?;
        if self.is_busy("acquire_lease") {
            return Ok(None);
        }
        self.inner.acquire_lease(name, owner, ttl).await
    }

    async fn extend_lease(&self, lease: &Lease, ttl: Duration) -> StoreResult<Lease> {
        self.meet("extend_lease")?;
        self.inner.extend_lease(lease, ttl).await
    }

    async fn release_lease(&self, lease: &Lease) -> StoreResult<bool> {
        self.meet("release_lease")?;
        self.inner.release_lease(lease).await
    }

    async fn list_leases(&self) -> StoreResult<Vec<Lease>> {
        self.meet("list_leases")?;
        self.inner.list_leases().await
    }
}

pass! {
    Door {
        commit(commit: Commit) -> Vec<Written>;
    }
    Jobs {
        claim_jobs(claim: &JobClaim) -> Vec<ClaimedJob>;
        extend_jobs(tickets: &[JobTicket], ttl: Duration) -> Vec<JobTicket>;
        complete_jobs(tickets: &[JobTicket]) -> Vec<JobTicket>;
        fail_job(failure: &JobFailure) -> ();
        release_jobs(tickets: &[JobTicket]) -> ();
        requeue_dead_jobs(ids: &[JobId]) -> Vec<JobId>;
        list_jobs(filter: &JobFilter) -> Vec<JobRow>;
        show_job(id: JobId) -> Option<JobRow>;
        count_jobs() -> Vec<QueueCounts>;
    }
    Cursors {
        cursor(name: &CursorName) -> Option<Cursor>;
        list_cursors() -> Vec<(CursorName, Cursor)>;
    }
    Outbox {
        register_sink(sink: &Sink, start: SinkStart) -> bool;
        claim_messages(claim: &MessageClaim) -> Vec<ClaimedMessages>;
        mark_delivered(hold: DeliveryHold, up_to: i64) -> ();
        fail_delivery(failure: &DeliveryFailure) -> ();
        list_dead_messages(sink: Option<&Sink>, limit: u32) -> Vec<DeadMessage>;
        requeue_dead_messages(ids: &[JobId]) -> u64;
        prune_outbox(limit: u32) -> u64;
        messages(partition: &Partition, after: i64, limit: u32) -> Vec<Message>;
        outbox_depth() -> Vec<SinkDepth>;
    }
    Events {
        events(chain: ChainId, from: (u64, u32), limit: u32) -> Vec<LogEvent>;
        count_events(chain: ChainId) -> u64;
        blocks(chain: ChainId, from_block: u64, limit: u32) -> Vec<BlockHeader>;
        state(key: &StateKey) -> Option<String>;
    }
    Tables {
        create_tables(tables: &[Arc<TableSpec>]) -> Vec<Identifier>;
        drop_table(name: &Identifier) -> bool;
        list_tables() -> Vec<TableInfo>;
        rows(query: &RowQuery) -> Vec<EventRow>;
        count_rows(table: &Identifier, conditions: &[Condition]) -> u64;
        sum_rows(query: &SumQuery) -> Vec<SumGroup>;
        column_indexes(table: &Identifier) -> Vec<Identifier>;
        create_column_index(table: &Identifier, column: &Identifier) -> bool;
        drop_column_index(table: &Identifier, column: &Identifier) -> bool;
    }
}

#[async_trait]
impl Health for Flaky {
    async fn now(&self) -> StoreResult<Timestamp> {
        self.meet("now")?;
        self.inner.now().await
    }

    async fn describe(&self) -> StoreResult<StoreInfo> {
        self.meet("describe")?;
        self.inner.describe().await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

windlass_testkit::delegate_payouts!(Flaky, inner);
