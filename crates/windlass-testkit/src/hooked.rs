//! A store behind a hook: something happens before and after every call that writes, and
//! before every call that reads.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::chain::{BlockHeader, ChainId};
use windlass_core::commit::{Commit, Written};
use windlass_core::cursor::Cursor;
use windlass_core::error::StoreResult;
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

/// What happens around calls.
#[async_trait]
pub trait StoreHook: Send + Sync {
    /// Before a call that writes is made; an error is answered instead.
    async fn before(&self, call: &'static str) -> StoreResult<()>;

    /// After it was made, well or not; an error is answered instead, though it was made.
    async fn after(&self, call: &'static str) -> StoreResult<()>;

    /// Before a call that reads is made; an error is answered instead.
    async fn reading(&self, _call: &'static str) -> StoreResult<()> {
        Ok(())
    }

    /// A commit that is about to be made; what is returned is made in its place.
    async fn committing(&self, commit: Commit) -> StoreResult<Commit> {
        Ok(commit)
    }

    /// Whether the last commit was taken.
    fn committed(&self, _is_taken: bool) {}
}

/// A store behind a hook.
pub struct HookedStore {
    inner: Arc<dyn Store>,
    hook: Arc<dyn StoreHook>,
}

impl HookedStore {
    /// Puts a hook in front of a store.
    pub fn new(inner: Arc<dyn Store>, hook: Arc<dyn StoreHook>) -> Self {
        Self { inner, hook }
    }

    async fn around<T>(
        &self,
        call: &'static str,
        made: impl Future<Output = StoreResult<T>> + Send,
    ) -> StoreResult<T> {
        self.hook.before(call).await?;
        let answer = made.await;
        self.hook.after(call).await?;
        answer
    }

    async fn read<T>(
        &self,
        call: &'static str,
        made: impl Future<Output = StoreResult<T>> + Send,
    ) -> StoreResult<T> {
        self.hook.reading(call).await?;
        made.await
    }
}

#[async_trait]
impl Door for HookedStore {
    async fn commit(&self, commit: Commit) -> StoreResult<Vec<Written>> {
        let commit = self.hook.committing(commit).await?;
        let made = async {
            let answer = self.inner.commit(commit).await;
            self.hook.committed(answer.is_ok());
            answer
        };
        self.around("commit", made).await
    }
}

#[async_trait]
impl Leases for HookedStore {
    async fn acquire_lease(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>> {
        self.around("acquire_lease", self.inner.acquire_lease(name, owner, ttl)).await
    }

    async fn extend_lease(&self, lease: &Lease, ttl: Duration) -> StoreResult<Lease> {
        self.around("extend_lease", self.inner.extend_lease(lease, ttl)).await
    }

    async fn release_lease(&self, lease: &Lease) -> StoreResult<bool> {
        self.around("release_lease", self.inner.release_lease(lease)).await
    }

    async fn list_leases(&self) -> StoreResult<Vec<Lease>> {
        self.read("list_leases", self.inner.list_leases()).await
    }

    async fn list_abandoned_leases(&self) -> StoreResult<Vec<LeaseName>> {
        self.read("list_abandoned_leases", self.inner.list_abandoned_leases()).await
    }
}

#[async_trait]
impl Jobs for HookedStore {
    async fn claim_jobs(&self, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>> {
        self.around("claim_jobs", self.inner.claim_jobs(claim)).await
    }

    async fn extend_jobs(&self, tickets: &[JobTicket], ttl: Duration) -> StoreResult<Vec<JobTicket>> {
        self.around("extend_jobs", self.inner.extend_jobs(tickets, ttl)).await
    }

    async fn complete_jobs(&self, tickets: &[JobTicket]) -> StoreResult<Vec<JobTicket>> {
        self.around("complete_jobs", self.inner.complete_jobs(tickets)).await
    }

    async fn fail_job(&self, failure: &JobFailure) -> StoreResult<()> {
        self.around("fail_job", self.inner.fail_job(failure)).await
    }

    async fn release_jobs(&self, tickets: &[JobTicket]) -> StoreResult<()> {
        self.around("release_jobs", self.inner.release_jobs(tickets)).await
    }

    async fn requeue_dead_jobs(&self, ids: &[JobId]) -> StoreResult<Vec<JobId>> {
        self.around("requeue_dead_jobs", self.inner.requeue_dead_jobs(ids)).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> StoreResult<Vec<JobRow>> {
        self.read("list_jobs", self.inner.list_jobs(filter)).await
    }

    async fn show_job(&self, id: JobId) -> StoreResult<Option<JobRow>> {
        self.read("show_job", self.inner.show_job(id)).await
    }

    async fn count_jobs(&self) -> StoreResult<Vec<QueueCounts>> {
        self.read("count_jobs", self.inner.count_jobs()).await
    }
}

#[async_trait]
impl Ranges for HookedStore {
    async fn claim_range(&self, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
        self.around("claim_range", self.inner.claim_range(claim)).await
    }
}

#[async_trait]
impl Cursors for HookedStore {
    async fn cursor(&self, name: &CursorName) -> StoreResult<Option<Cursor>> {
        self.read("cursor", self.inner.cursor(name)).await
    }

    async fn list_cursors(&self) -> StoreResult<Vec<(CursorName, Cursor)>> {
        self.read("list_cursors", self.inner.list_cursors()).await
    }
}

#[async_trait]
impl Outbox for HookedStore {
    async fn register_sink(&self, sink: &Sink, start: SinkStart) -> StoreResult<bool> {
        self.around("register_sink", self.inner.register_sink(sink, start)).await
    }

    async fn claim_messages(&self, claim: &MessageClaim) -> StoreResult<Vec<ClaimedMessages>> {
        self.around("claim_messages", self.inner.claim_messages(claim)).await
    }

    async fn mark_delivered(&self, hold: DeliveryHold, up_to: i64) -> StoreResult<()> {
        self.around("mark_delivered", self.inner.mark_delivered(hold, up_to)).await
    }

    async fn fail_delivery(&self, failure: &DeliveryFailure) -> StoreResult<()> {
        self.around("fail_delivery", self.inner.fail_delivery(failure)).await
    }

    async fn list_dead_messages(&self, sink: Option<&Sink>, limit: u32) -> StoreResult<Vec<DeadMessage>> {
        self.read("list_dead_messages", self.inner.list_dead_messages(sink, limit)).await
    }

    async fn requeue_dead_messages(&self, ids: &[JobId]) -> StoreResult<u64> {
        self.around("requeue_dead_messages", self.inner.requeue_dead_messages(ids)).await
    }

    async fn prune_outbox(&self, limit: u32) -> StoreResult<u64> {
        self.around("prune_outbox", self.inner.prune_outbox(limit)).await
    }

    async fn messages(&self, partition: &Partition, after: i64, limit: u32) -> StoreResult<Vec<Message>> {
        self.read("messages", self.inner.messages(partition, after, limit)).await
    }

    async fn outbox_depth(&self) -> StoreResult<Vec<SinkDepth>> {
        self.read("outbox_depth", self.inner.outbox_depth()).await
    }
}

#[async_trait]
impl Events for HookedStore {
    async fn events(&self, chain: ChainId, from: (u64, u32), limit: u32) -> StoreResult<Vec<LogEvent>> {
        self.read("events", self.inner.events(chain, from, limit)).await
    }

    async fn count_events(&self, chain: ChainId) -> StoreResult<u64> {
        self.read("count_events", self.inner.count_events(chain)).await
    }

    async fn blocks(&self, chain: ChainId, from_block: u64, limit: u32) -> StoreResult<Vec<BlockHeader>> {
        self.read("blocks", self.inner.blocks(chain, from_block, limit)).await
    }

    async fn state(&self, key: &StateKey) -> StoreResult<Option<String>> {
        self.read("state", self.inner.state(key)).await
    }
}

#[async_trait]
impl Tables for HookedStore {
    async fn create_tables(&self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
        self.around("create_tables", self.inner.create_tables(tables)).await
    }

    async fn drop_table(&self, name: &Identifier) -> StoreResult<bool> {
        self.around("drop_table", self.inner.drop_table(name)).await
    }

    async fn list_tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.read("list_tables", self.inner.list_tables()).await
    }

    async fn rows(&self, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
        self.read("rows", self.inner.rows(query)).await
    }

    async fn count_rows(&self, table: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
        self.read("count_rows", self.inner.count_rows(table, conditions)).await
    }

    async fn sum_rows(&self, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
        self.read("sum_rows", self.inner.sum_rows(query)).await
    }

    async fn column_indexes(&self, table: &Identifier) -> StoreResult<Vec<Identifier>> {
        self.read("column_indexes", self.inner.column_indexes(table)).await
    }

    async fn create_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.around("create_column_index", self.inner.create_column_index(table, column)).await
    }

    async fn drop_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.around("drop_column_index", self.inner.drop_column_index(table, column)).await
    }
}

#[async_trait]
impl Health for HookedStore {
    async fn now(&self) -> StoreResult<Timestamp> {
        self.read("now", self.inner.now()).await
    }

    async fn describe(&self) -> StoreResult<StoreInfo> {
        self.read("describe", self.inner.describe()).await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

crate::delegate_payouts!(HookedStore, inner, read);
