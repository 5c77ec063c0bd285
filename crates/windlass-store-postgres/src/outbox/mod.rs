//! The outbox: messages are numbered without gaps per partition, and each sink
//! moves along its own lanes over them.

mod claim;
mod dead;
mod deliver;
mod list;
mod publish;
mod sink;

use async_trait::async_trait;
use windlass_core::commit::Durability;
use windlass_core::error::StoreResult;
use windlass_core::job::JobId;
use windlass_core::name::{Partition, Sink};
use windlass_core::outbox::{
    ClaimedMessages, DeadMessage, DeliveryFailure, DeliveryHold, MAX_CLAIMED_MESSAGES, Message, MessageClaim,
    SinkDepth, SinkStart,
};
use windlass_core::store::Outbox;

pub(crate) use self::publish::publish;

use crate::PostgresStore;

#[async_trait]
impl Outbox for PostgresStore {
    async fn register_sink(&self, sink: &Sink, start: SinkStart) -> StoreResult<bool> {
        self.write(Durability::Full, sink, |tx, sink| Box::pin(sink::register(tx, sink, start))).await
    }

    async fn claim_messages(&self, claim: &MessageClaim) -> StoreResult<Vec<ClaimedMessages>> {
        claim.validate()?;
        let max_messages = claim.max_messages.min(MAX_CLAIMED_MESSAGES);
        let claim = MessageClaim { max_messages, ..claim.clone() };
        self.claim_or_free(Vec::is_empty, || Box::pin(claim::claim_now(self, &claim))).await
    }

    async fn mark_delivered(&self, hold: DeliveryHold, up_to: i64) -> StoreResult<()> {
        self.write(Durability::Full, &(), |tx, ()| Box::pin(deliver::mark(tx, hold, up_to))).await
    }

    async fn fail_delivery(&self, failure: &DeliveryFailure) -> StoreResult<()> {
        self.write(Durability::Full, failure, |tx, failure| Box::pin(deliver::fail(tx, failure))).await
    }

    async fn list_dead_messages(&self, sink: Option<&Sink>, limit: u32) -> StoreResult<Vec<DeadMessage>> {
        self.read(&sink, |tx, sink| Box::pin(dead::list(tx, *sink, limit))).await
    }

    async fn requeue_dead_messages(&self, ids: &[JobId]) -> StoreResult<u64> {
        self.write(Durability::Full, ids, |tx, ids| Box::pin(dead::requeue(tx, ids))).await
    }

    /// Relaxed: messages that a crash brings back are pruned the next time.
    async fn prune_outbox(&self, limit: u32) -> StoreResult<u64> {
        self.write(Durability::Relaxed, &(), |tx, ()| Box::pin(sink::prune(tx, limit))).await
    }

    async fn messages(&self, partition: &Partition, after: i64, limit: u32) -> StoreResult<Vec<Message>> {
        self.read(partition, |tx, partition| Box::pin(list::behind(tx, partition, after, limit))).await
    }

    async fn outbox_depth(&self) -> StoreResult<Vec<SinkDepth>> {
        self.read(&(), |tx, ()| Box::pin(sink::depth(tx))).await
    }
}
