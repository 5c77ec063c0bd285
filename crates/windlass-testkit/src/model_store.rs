//! The reference model behind the store ports: a store in memory without SQL.
//!
//! It proves that the conformance suite is consistent in itself, and serves tests
//! of whatever only needs some store.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use windlass_core::chain::{Address, B256, BlockHeader, ChainId, U256};
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
use windlass_core::payout::audit::{AuditHead, AuditRow};
use windlass_core::payout::ledger::{
    ApiKey, Approval, Attempt, Budget, BudgetKey, Intent, IntentId, Payout, RowId, SignerRow,
};
use windlass_core::payout::request::{IdempotencyKey, PayoutId, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{AuditQuery, PayoutQuery, Payouts, check_many};
use windlass_core::range::{BlockRange, RangeClaim};
use windlass_core::row_query::{Condition, RowQuery, SumGroup, SumQuery};
use windlass_core::store::{
    Cursors, Door, Events, Health, Jobs, Leases, Outbox, Ranges, Store, StoreInfo, TableInfo, Tables,
};
use windlass_core::table::{EventRow, Identifier, TableSpec};
use windlass_core::time::{Clock, Timestamp};

use crate::clock::ManualClock;
use crate::harness::Harness;
use crate::model::Model;

/// A handle on a model.
pub struct ModelStore {
    model: Arc<Mutex<Model>>,
    clock: Arc<dyn Clock>,
    is_closed: AtomicBool,
}

impl ModelStore {
    /// A new, empty store.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::on(Arc::default(), clock)
    }

    /// A handle on a model that others may have handles on.
    pub fn on(model: Arc<Mutex<Model>>, clock: Arc<dyn Clock>) -> Self {
        Self { model, clock, is_closed: AtomicBool::new(false) }
    }

    fn with<T>(&self, call: impl FnOnce(&mut Model, Timestamp) -> T) -> StoreResult<T> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(StoreError::Closed);
        }
        let mut model = self.model.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(call(&mut model, self.clock.now()))
    }
}

/// A model as the suite's database.
#[derive(Default)]
pub struct ModelHarness {
    model: Arc<Mutex<Model>>,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl Harness for ModelHarness {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(ModelStore::on(self.model.clone(), self.clock.clone()))
    }

    fn clock(&self) -> Arc<ManualClock> {
        self.clock.clone()
    }
}

#[async_trait]
impl Door for ModelStore {
    async fn commit(&self, commit: Commit) -> StoreResult<Vec<Written>> {
        self.with(|model, now| model.commit(&commit, now))?
    }
}

#[async_trait]
impl Leases for ModelStore {
    async fn acquire_lease(
        &self,
        name: &LeaseName,
        owner: &Owner,
        ttl: Duration,
    ) -> StoreResult<Option<Lease>> {
        self.with(|model, now| model.acquire_lease(name, owner, ttl, now))
    }

    async fn extend_lease(&self, lease: &Lease, ttl: Duration) -> StoreResult<Lease> {
        self.with(|model, now| model.extend_lease(lease, ttl, now))?
    }

    async fn release_lease(&self, lease: &Lease) -> StoreResult<bool> {
        self.with(|model, now| model.release_lease(lease, now))
    }

    async fn list_leases(&self) -> StoreResult<Vec<Lease>> {
        self.with(|model, _| model.list_leases())
    }
}

#[async_trait]
impl Jobs for ModelStore {
    async fn claim_jobs(&self, claim: &JobClaim) -> StoreResult<Vec<ClaimedJob>> {
        self.with(|model, now| model.claim_jobs(claim, now))?
    }

    async fn extend_jobs(&self, tickets: &[JobTicket], ttl: Duration) -> StoreResult<Vec<JobTicket>> {
        self.with(|model, now| model.extend_jobs(tickets, now.after(ttl)))
    }

    async fn complete_jobs(&self, tickets: &[JobTicket]) -> StoreResult<Vec<JobTicket>> {
        self.with(|model, now| model.complete_jobs(tickets, now))
    }

    async fn fail_job(&self, failure: &JobFailure) -> StoreResult<()> {
        self.with(|model, now| model.fail_job(failure, now))?
    }

    async fn release_jobs(&self, tickets: &[JobTicket]) -> StoreResult<()> {
        self.with(|model, now| model.release_jobs(tickets, now))
    }

    async fn requeue_dead_jobs(&self, ids: &[JobId]) -> StoreResult<Vec<JobId>> {
        self.with(|model, now| model.requeue_dead_jobs(ids, now))
    }

    async fn list_jobs(&self, filter: &JobFilter) -> StoreResult<Vec<JobRow>> {
        self.with(|model, now| model.list_jobs(filter, now))
    }

    async fn show_job(&self, id: JobId) -> StoreResult<Option<JobRow>> {
        self.with(|model, now| model.show_job(id, now))
    }

    async fn count_jobs(&self) -> StoreResult<Vec<QueueCounts>> {
        self.with(|model, now| model.count_jobs(now))
    }
}

#[async_trait]
impl Ranges for ModelStore {
    async fn claim_range(&self, claim: &RangeClaim) -> StoreResult<Option<(BlockRange, ClaimedJob)>> {
        self.with(|model, now| model.claim_range(claim, now))?
    }
}

#[async_trait]
impl Cursors for ModelStore {
    async fn cursor(&self, name: &CursorName) -> StoreResult<Option<Cursor>> {
        self.with(|model, _| model.cursor(name))
    }

    async fn list_cursors(&self) -> StoreResult<Vec<(CursorName, Cursor)>> {
        self.with(|model, _| model.list_cursors())
    }
}

#[async_trait]
impl Outbox for ModelStore {
    async fn register_sink(&self, sink: &Sink, start: SinkStart) -> StoreResult<bool> {
        self.with(|model, now| model.register_sink(sink, start, now))
    }

    async fn claim_messages(&self, claim: &MessageClaim) -> StoreResult<Vec<ClaimedMessages>> {
        self.with(|model, now| model.claim_messages(claim, now))?
    }

    async fn mark_delivered(&self, hold: DeliveryHold, up_to: i64) -> StoreResult<()> {
        self.with(|model, now| model.mark_delivered(hold, up_to, now))?
    }

    async fn fail_delivery(&self, failure: &DeliveryFailure) -> StoreResult<()> {
        self.with(|model, now| model.fail_delivery(failure, now))?
    }

    async fn list_dead_messages(&self, sink: Option<&Sink>, limit: u32) -> StoreResult<Vec<DeadMessage>> {
        self.with(|model, _| model.list_dead_messages(sink, limit))
    }

    async fn requeue_dead_messages(&self, ids: &[JobId]) -> StoreResult<u64> {
        self.with(|model, now| model.requeue_dead_messages(ids, now))
    }

    async fn prune_outbox(&self, limit: u32) -> StoreResult<u64> {
        self.with(|model, _| model.prune_outbox(limit))
    }

    async fn messages(&self, partition: &Partition, after: i64, limit: u32) -> StoreResult<Vec<Message>> {
        self.with(|model, _| model.messages(partition, after, limit))
    }

    async fn outbox_depth(&self) -> StoreResult<Vec<SinkDepth>> {
        self.with(|model, _| model.outbox_depth())
    }
}

#[async_trait]
impl Events for ModelStore {
    async fn events(&self, chain: ChainId, from: (u64, u32), limit: u32) -> StoreResult<Vec<LogEvent>> {
        self.with(|model, _| model.events(chain, from, limit))
    }

    async fn count_events(&self, chain: ChainId) -> StoreResult<u64> {
        self.with(|model, _| model.count_events(chain))
    }

    async fn blocks(&self, chain: ChainId, from_block: u64, limit: u32) -> StoreResult<Vec<BlockHeader>> {
        self.with(|model, _| model.blocks(chain, from_block, limit))
    }

    async fn state(&self, key: &StateKey) -> StoreResult<Option<String>> {
        self.with(|model, _| model.state(key))
    }
}

#[async_trait]
impl Tables for ModelStore {
    async fn create_tables(&self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
        self.with(|model, _| model.create_tables(tables))?
    }

    async fn drop_table(&self, name: &Identifier) -> StoreResult<bool> {
        self.with(|model, _| model.drop_table(name))
    }

    async fn list_tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.with(|model, _| model.list_tables())
    }

    async fn rows(&self, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
        self.with(|model, _| model.rows(query))?
    }

    async fn count_rows(&self, table: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
        self.with(|model, _| model.count_rows(table, conditions))?
    }

    async fn sum_rows(&self, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
        self.with(|model, _| model.sum_rows(query))?
    }

    async fn column_indexes(&self, table: &Identifier) -> StoreResult<Vec<Identifier>> {
        self.with(|model, _| model.column_indexes(table))?
    }

    async fn create_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.with(|model, _| model.create_column_index(table, column))?
    }

    async fn drop_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.with(|model, _| model.drop_column_index(table, column))?
    }
}

#[async_trait]
impl Payouts for ModelStore {
    async fn payouts(&self, ids: &[PayoutId]) -> StoreResult<Vec<Payout>> {
        check_many(ids.len())?;
        self.with(|model, _| model.ledger().payouts(|payout| ids.contains(&payout.id)))
    }

    async fn payouts_of_keys(&self, keys: &[IdempotencyKey]) -> StoreResult<Vec<Payout>> {
        check_many(keys.len())?;
        self.with(|model, _| model.ledger().payouts(|payout| keys.contains(&payout.request.key)))
    }

    async fn payouts_of_requests(&self, ids: &[B256]) -> StoreResult<Vec<Payout>> {
        check_many(ids.len())?;
        self.with(|model, _| model.ledger().payouts(|payout| ids.contains(&payout.request.request_id())))
    }

    async fn list_payouts(&self, query: &PayoutQuery) -> StoreResult<Vec<Payout>> {
        self.with(|model, _| model.ledger().list_payouts(query))
    }

    async fn count_payouts(&self) -> StoreResult<Vec<(PayoutState, u64)>> {
        self.with(|model, _| model.ledger().count_payouts())
    }

    async fn count_waiting(&self) -> StoreResult<Vec<(VaultRef, u64)>> {
        self.with(|model, _| model.ledger().count_waiting())
    }

    async fn paid_to(&self, vault: VaultRef, to: &[Address]) -> StoreResult<Vec<Payout>> {
        check_many(to.len())?;
        self.with(|model, _| model.ledger().paid_to(vault, to))
    }

    async fn open_total(&self, vault: VaultRef, token: Address) -> StoreResult<U256> {
        self.with(|model, _| model.ledger().open_total(vault, token))
    }

    async fn approvals(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Approval>> {
        self.with(|model, _| model.ledger().approvals(payouts))
    }

    async fn budgets(&self, keys: &[BudgetKey]) -> StoreResult<Vec<Budget>> {
        check_many(keys.len())?;
        self.with(|model, _| keys.iter().map(|key| model.ledger().budget(*key)).collect())
    }

    async fn list_budgets(&self, after: Option<BudgetKey>, limit: u32) -> StoreResult<Vec<Budget>> {
        self.with(|model, _| model.ledger().list_budgets(after, limit))
    }

    async fn list_intents(&self, after: Option<IntentId>, limit: u32) -> StoreResult<Vec<Intent>> {
        self.with(|model, _| model.ledger().list_intents(after, limit))
    }

    async fn intent(&self, id: IntentId) -> StoreResult<Option<Intent>> {
        self.with(|model, _| model.ledger().intents(|intent| intent.id == id).pop())
    }

    async fn intents_of(&self, payout: PayoutId) -> StoreResult<Vec<Intent>> {
        self.with(|model, _| model.ledger().intents(|intent| intent.payouts.contains(&payout)))
    }

    async fn intents_of_payouts(&self, payouts: &[PayoutId]) -> StoreResult<Vec<Intent>> {
        check_many(payouts.len())?;
        let pays_one = |intent: &Intent| intent.payouts.iter().any(|payout| payouts.contains(payout));
        self.with(|model, _| model.ledger().intents(pays_one))
    }

    async fn attempts(&self, intent: IntentId) -> StoreResult<Vec<Attempt>> {
        self.with(|model, _| model.ledger().attempts(intent))
    }

    async fn list_attempts(&self, after: Option<(IntentId, u32)>, limit: u32) -> StoreResult<Vec<Attempt>> {
        self.with(|model, _| model.ledger().list_attempts(after, limit))
    }

    async fn unreadable_ids(&self) -> StoreResult<Vec<RowId>> {
        // Every row of the model can be read.
        Ok(Vec::new())
    }

    async fn signer(&self, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>> {
        let is_it = |row: &SignerRow| (row.chain, row.address) == (chain, address);
        self.with(|model, _| model.ledger().signers().into_iter().find(is_it))
    }

    async fn list_signers(&self) -> StoreResult<Vec<SignerRow>> {
        self.with(|model, _| model.ledger().signers())
    }

    async fn audit_rows(&self, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
        self.with(|model, _| model.ledger().audit_rows(query))
    }

    async fn audit_head(&self) -> StoreResult<AuditHead> {
        self.with(|model, _| model.ledger().audit_head())
    }

    async fn api_key(&self, hash: B256) -> StoreResult<Option<ApiKey>> {
        self.with(|model, _| model.ledger().api_keys(Some(hash)).pop())
    }

    async fn list_api_keys(&self) -> StoreResult<Vec<ApiKey>> {
        self.with(|model, _| model.ledger().api_keys(None))
    }
}

#[async_trait]
impl Health for ModelStore {
    async fn now(&self) -> StoreResult<Timestamp> {
        self.with(|_, now| now)
    }

    async fn describe(&self) -> StoreResult<StoreInfo> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        self.with(|_, _| StoreInfo {
            kind: "model".to_owned(),
            version,
            place: "memory".to_owned(),
            schema: 1,
        })
    }

    async fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }
}
