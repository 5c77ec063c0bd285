//! Who follows the head: the chain's lease, and waiting for it.

use windlass_core::error::StoreError;
use windlass_core::lease::Lease;
use windlass_core::time::Timestamp;

use tokio::time::Instant;

use super::{Follower, LEASE_SHARE};
use crate::collect::error::CollectError;
use crate::collect::health::ChainHealth;

impl Follower {
    /// Gives the lease back, so that another worker need not wait for its end.
    pub async fn release(&mut self) {
        self.chain.pulse.hold(None);
        if let Some(lease) = self.lease.take()
            && let Err(error) = self.chain.store.release_lease(&lease).await
        {
            tracing::warn!(%error, "the lease could not be given back and will run out");
        }
    }

    pub(super) async fn take_lease(&mut self) -> Result<Option<Lease>, CollectError> {
        let chain = self.chain.clone();
        let (names, options) = (&chain.names, &chain.options);
        let is_young = self.leased.is_some_and(|leased| leased.elapsed() < options.lease_ttl / LEASE_SHARE);
        if is_young && self.lease.is_some() {
            return Ok(self.lease.clone());
        }
        let asked = Instant::now();
        let taken = self.chain.store.acquire_lease(&names.lease, &options.owner, options.lease_ttl).await?;
        match &taken {
            Some(lease) => {
                if self.lease.as_ref().is_none_or(|held| held.epoch != lease.epoch) {
                    self.resume_waiting().await?;
                }
                self.lease.clone_from(&taken);
                self.leased = Some(asked);
                self.chain.pulse.hold(taken.clone());
                if self.waits_for.take().is_some() {
                    tracing::info!(chain = %options.chain, "this process collects the chain now");
                }
            }
            None => self.wait().await?,
        }
        Ok(taken)
    }

    /// Goes on waiting for endpoints where the process before has stopped.
    async fn resume_waiting(&mut self) -> Result<(), CollectError> {
        let store = &*self.chain.store;
        if let Some(before) = ChainHealth::read(store, &self.chain.names).await? {
            let (endpoints, now) = (self.chain.reader.endpoint_names(), store.now().await?);
            let mut wait = self.chain.finality_wait();
            wait.resume(&before.finality_waited, &endpoints, now);
            self.unheard = wait.unheard();
        }
        Ok(())
    }

    /// Says who holds the chain instead, once for each. A busy store gives nothing now
    /// either: what was held before is still held, and to be given back in the end; and
    /// when nobody else holds it, it is asked for again soon, not when the next block is due.
    async fn wait(&mut self) -> Result<(), CollectError> {
        let (store, options) = (&self.chain.store, &self.chain.options);
        let held = store.list_leases().await?.into_iter().find(|lease| lease.name == self.chain.names.lease);
        let Some(other) = held.filter(|lease| lease.owner != options.owner) else {
            return Err(StoreError::Busy.into());
        };
        self.chain.pulse.hold(None);
        // What was seen is old by the time that this process follows the chain.
        (self.poll, self.finality_poll, self.seen) = (None, None, None);
        // The other process may learn more about the chain's blooms.
        self.has_blooms = false;
        if self.waits_for.as_ref() != Some(&other.owner) {
            let left_s = left_s(other.expires_at, store.now().await?);
            let (chain, holder) = (options.chain, &other.owner);
            tracing::info!(%chain, %holder, left_s, "another process holds the chain: this one waits, and takes over when that lets go or is silent for `left_s` seconds");
            self.waits_for = Some(other.owner);
        }
        Ok(())
    }
}

/// Whole seconds from now to then.
fn left_s(then: Timestamp, now: Timestamp) -> i64 {
    then.as_ms().saturating_sub(now.as_ms()).max(0) / 1_000
}
