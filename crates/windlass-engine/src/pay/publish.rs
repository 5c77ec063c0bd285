//! The end of the audit log, told through the outbox once a UTC day: whoever keeps these
//! messages can tell later that the log's end was cut off.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{RetryAdvice, StoreError, StoreResult};
use windlass_core::name::{LeaseName, NameError, Owner, Partition, StateKey};
use windlass_core::outbox::NewMessage;
use windlass_core::payout::audit::AuditHead;
use windlass_core::payout::day::UtcDay;
use windlass_core::store::Store;

use super::ledger::{Ledger, readable_state};
use crate::pace::{Paced, step_until};

/// How often it looks whether a day has begun.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// How long the right to publish is held: far longer than a commit takes.
const LEASE_TTL: Duration = Duration::from_secs(30);
/// A store in trouble is asked again after this, unless it says when.
const TROUBLE_PAUSE: Duration = Duration::from_secs(5);

/// Publishes the audit log's head. Any number of processes may run it.
pub struct HeadPublisher {
    ledger: Arc<Ledger>,
    store: Arc<dyn Store>,
    owner: Owner,
    lease: LeaseName,
    partition: Partition,
    published: StateKey,
}

impl HeadPublisher {
    /// A publisher that has not begun.
    pub fn new(ledger: Arc<Ledger>, owner: Owner) -> Result<Self, NameError> {
        Ok(Self {
            store: Arc::clone(ledger.store()),
            ledger,
            owner,
            lease: LeaseName::new("pay/audit/head")?,
            partition: Partition::new("pay/audit")?,
            published: StateKey::new("pay/audit/published")?,
        })
    }

    /// Publishes until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) -> StoreResult<()> {
        step_until(&mut self, &shutdown).await
    }

    /// Publishes the head, once a day and not before there is one. What was published.
    pub async fn step(&self) -> StoreResult<Option<AuditHead>> {
        let today = UtcDay::of(self.store.now().await?);
        if self.is_published(today).await? {
            return Ok(None);
        }
        let Some(lease) = self.store.acquire_lease(&self.lease, &self.owner, LEASE_TTL).await? else {
            return Ok(None);
        };
        let done = self.publish(today, &lease).await;
        self.store.release_lease(&lease).await?;
        done
    }

    /// Whether it was published that day. What somebody else has written there says nothing.
    async fn is_published(&self, day: UtcDay) -> StoreResult<bool> {
        let mark = readable_state(&*self.store, &self.published).await?;
        Ok(mark == Some(self.ledger.key().published_mark(day)))
    }

    async fn publish(
        &self,
        today: UtcDay,
        lease: &windlass_core::lease::Lease,
    ) -> StoreResult<Option<AuditHead>> {
        // Only the end of a log that was followed there is published.
        let head = self.ledger.check_log().await?;
        // Looked at again under the lease: another may have been quicker.
        if head.seq == 0 || self.is_published(today).await? {
            return Ok(None);
        }
        let mark = self.ledger.key().published_mark(today);
        let message = NewMessage {
            partition: self.partition.clone(),
            idempotency_key: format!("audit/{today}"),
            topic: "audit.head".to_owned(),
            payload: json!({"day": today.to_string(), "seq": head.seq, "mac": head.mac}).to_string(),
        };
        let state = Write::PutState { key: self.published.clone(), value: Some(mark) };
        let commit = Commit::of(vec![state, Write::Publish(vec![message])]).under_lease(lease);
        self.store.commit(commit).await?;
        tracing::info!(seq = head.seq, mac = %head.mac, "the audit log's head of the day");
        Ok(Some(head))
    }
}

impl Paced for HeadPublisher {
    const WHAT: &'static str = "publishing the audit log's head";
    type Error = StoreError;

    async fn pace(&mut self) -> StoreResult<Duration> {
        self.step().await.map(|_| LOOK_INTERVAL)
    }

    fn retry(error: &StoreError) -> RetryAdvice {
        match (error, error.retry()) {
            (StoreError::Closed, _) => RetryAdvice::Never,
            (_, RetryAdvice::Never) => RetryAdvice::After(TROUBLE_PAUSE),
            (_, after) => after,
        }
    }
}
