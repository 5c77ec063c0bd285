//! The ports of a faulty store: everything goes through, but for the fault.

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
    Cursors, Door, Events, Health, Jobs, Leases, Outbox, Ranges, StoreInfo, TableInfo, Tables,
};
use windlass_core::table::{EventRow, Identifier, TableSpec};
use windlass_core::time::Timestamp;

use super::Planted;

#[async_trait]
impl Door for Planted {
    async fn commit(&self, commit: Commit) -> StoreResult<Vec<Written>> {
        self.faulty_commit(commit).await
    }
}

#[async_trait]
impl Leases for Planted {
    async fn acquire_lease(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>> {
        self.inner.acquire_lease(name, owner, ttl).await
    }

    async fn extend_lease(&self, lease: &Lease, ttl: Duration) -> StoreResult<Lease> {
        self.inner.extend_lease(&self.lease(lease).await?, ttl).await
    }

    async fn release_lease(&self, lease: &Lease) -> StoreResult<bool> {
        self.inner.release_lease(&self.lease(lease).await?).await
    }

    async fn list_leases(&self) -> StoreResult<Vec<Lease>> {
        self.inner.list_leases().await
    }
}

#[async_trait]
impl Jobs for Planted {
    async fn claim_jobs(&self, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>> {
        let jobs = self.inner.claim_jobs(claim).await?;
        jobs.iter().for_each(|job| self.learn(job.ticket.job.lane, job.ticket.epoch));
        Ok(jobs)
    }

    async fn extend_jobs(&self, tickets: &[JobTicket], ttl: Duration) -> StoreResult<Vec<JobTicket>> {
        self.inner.extend_jobs(&self.tickets(tickets), ttl).await
    }

    async fn complete_jobs(&self, tickets: &[JobTicket]) -> StoreResult<Vec<JobTicket>> {
        self.inner.complete_jobs(&self.tickets(tickets)).await
    }

    async fn fail_job(&self, failure: &JobFailure) -> StoreResult<()> {
        let ticket = self.ticket(failure.ticket);
        self.inner.fail_job(&JobFailure { ticket, ..failure.clone() }).await
    }

    async fn release_jobs(&self, tickets: &[JobTicket]) -> StoreResult<()> {
        self.inner.release_jobs(&self.tickets(tickets)).await
    }

    async fn requeue_dead_jobs(&self, ids: &[JobId]) -> StoreResult<Vec<JobId>> {
        self.inner.requeue_dead_jobs(ids).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> StoreResult<Vec<JobRow>> {
        self.inner.list_jobs(filter).await
    }

    async fn show_job(&self, id: JobId) -> StoreResult<Option<JobRow>> {
        self.inner.show_job(id).await
    }

    async fn count_jobs(&self) -> StoreResult<Vec<QueueCounts>> {
        self.inner.count_jobs().await
    }
}

#[async_trait]
impl Ranges for Planted {
    async fn claim_range(&self, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
        let range = self.inner.claim_range(claim).await?;
        range.iter().for_each(|(_, job)| self.learn(job.ticket.job.lane, job.ticket.epoch));
        Ok(range)
    }
}

#[async_trait]
impl Cursors for Planted {
    async fn cursor(&self, name: &CursorName) -> StoreResult<Option<Cursor>> {
        self.inner.cursor(name).await
    }

    async fn list_cursors(&self) -> StoreResult<Vec<(CursorName, Cursor)>> {
        self.inner.list_cursors().await
    }
}

#[async_trait]
impl Outbox for Planted {
    async fn register_sink(&self, sink: &Sink, start: SinkStart) -> StoreResult<bool> {
        self.inner.register_sink(sink, start).await
    }

    async fn claim_messages(&self, claim: &MessageClaim) -> StoreResult<Vec<ClaimedMessages>> {
        let runs = self.inner.claim_messages(claim).await?;
        runs.iter().for_each(|run| self.learn(run.hold.lane, run.hold.epoch));
        Ok(runs)
    }

    async fn mark_delivered(&self, hold: DeliveryHold, up_to: i64) -> StoreResult<()> {
        self.inner.mark_delivered(self.hold(hold), up_to).await
    }

    async fn fail_delivery(&self, failure: &DeliveryFailure) -> StoreResult<()> {
        let hold = self.hold(failure.hold);
        self.inner.fail_delivery(&DeliveryFailure { hold, ..failure.clone() }).await
    }

    async fn list_dead_messages(&self, sink: Option<&Sink>, limit: u32) -> StoreResult<Vec<DeadMessage>> {
        self.inner.list_dead_messages(sink, limit).await
    }

    async fn requeue_dead_messages(&self, ids: &[JobId]) -> StoreResult<u64> {
        self.inner.requeue_dead_messages(ids).await
    }

    async fn prune_outbox(&self, limit: u32) -> StoreResult<u64> {
        self.inner.prune_outbox(limit).await
    }

    async fn messages(&self, partition: &Partition, after: i64, limit: u32) -> StoreResult<Vec<Message>> {
        self.inner.messages(partition, after, limit).await
    }

    async fn outbox_depth(&self) -> StoreResult<Vec<SinkDepth>> {
        self.inner.outbox_depth().await
    }
}

#[async_trait]
impl Events for Planted {
    async fn events(&self, chain: ChainId, from: (u64, u32), limit: u32) -> StoreResult<Vec<LogEvent>> {
        self.inner.events(chain, from, limit).await
    }

    async fn count_events(&self, chain: ChainId) -> StoreResult<u64> {
        self.inner.count_events(chain).await
    }

    async fn blocks(&self, chain: ChainId, from_block: u64, limit: u32) -> StoreResult<Vec<BlockHeader>> {
        self.inner.blocks(chain, from_block, limit).await
    }

    async fn state(&self, key: &StateKey) -> StoreResult<Option<String>> {
        self.inner.state(key).await
    }
}

#[async_trait]
impl Tables for Planted {
    async fn create_tables(&self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
        self.inner.create_tables(tables).await
    }

    async fn drop_table(&self, name: &Identifier) -> StoreResult<bool> {
        self.inner.drop_table(name).await
    }

    async fn list_tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.inner.list_tables().await
    }

    async fn rows(&self, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
        self.inner.rows(query).await
    }

    async fn count_rows(&self, table: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
        self.inner.count_rows(table, conditions).await
    }

    async fn sum_rows(&self, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
        self.inner.sum_rows(query).await
    }

    async fn column_indexes(&self, table: &Identifier) -> StoreResult<Vec<Identifier>> {
        self.inner.column_indexes(table).await
    }

    async fn create_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.inner.create_column_index(table, column).await
    }

    async fn drop_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.inner.drop_column_index(table, column).await
    }
}

#[async_trait]
impl Health for Planted {
    async fn now(&self) -> StoreResult<Timestamp> {
        self.inner.now().await
    }

    async fn describe(&self) -> StoreResult<StoreInfo> {
        self.inner.describe().await
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}

crate::delegate_payouts!(Planted, inner);
