//! Comparing the vault's payments with the stored ones every few minutes, by one process of many.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::RetryAdvice;
use windlass_core::lease::Lease;

use super::Reconciled;
use super::recheck::{Recheck, Rechecked};
use crate::pace::{Paced, step_until};
use crate::pay::error::PayError;
use crate::pay::payer::Payer;

/// How often a process asks whether the one that compares is gone. Shorter than the time after which
/// nobody is said to pay from the vault.
const TAKEOVER_INTERVAL: Duration = Duration::from_secs(10);
/// How often it is compared.
const INTERVAL: Duration = Duration::from_secs(300);
/// How soon a payment that seems to be lost is looked at once more.
const SUSPECT_INTERVAL: Duration = Duration::from_secs(30);
/// How long the right to compare is held: longer than any comparison takes, and renewed by each.
const LEASE_TTL: Duration = Duration::from_secs(600);

/// The loop.
pub struct Reconciler {
    payer: Arc<Payer>,
    recheck: Recheck,
    lease: Option<Lease>,
}

impl Reconciler {
    /// A loop.
    pub fn new(payer: Arc<Payer>) -> Self {
        Self { recheck: Recheck::new(payer.clone()), payer, lease: None }
    }

    /// Steps until told to stop, then gives the vault back and notes when.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), PayError> {
        let result = step_until(&mut self, &shutdown).await;
        if let Err(error) = self.stop().await {
            tracing::debug!(%error, "the vault could not be given back; its hold will run out");
        }
        result
    }

    /// Gives the vault back, and notes when: a process that starts soon is a restart.
    pub async fn stop(&mut self) -> Result<(), PayError> {
        let (payer, Some(lease)) = (&self.payer, self.lease.take()) else { return Ok(()) };
        let value = Some(payer.store.now().await?.as_ms().to_string());
        let note = Write::PutState { key: payer.names.stopped.clone(), value };
        payer.store.commit(Commit::of(vec![note]).under_lease(&lease)).await?;
        payer.store.release_lease(&lease).await?;
        Ok(())
    }

    /// Compares both ways once; nothing where another process does.
    pub async fn step(&mut self) -> Result<Option<(Reconciled, Rechecked)>, PayError> {
        let payer = self.payer.clone();
        self.lease = payer.store.acquire_lease(&payer.names.reconciling, &payer.owner, LEASE_TTL).await?;
        if self.lease.is_none() {
            return Ok(None);
        }
        let reconciled = payer.reconcile(false).await?;
        Ok(Some((reconciled, self.recheck.step().await?)))
    }
}

impl Paced for Reconciler {
    const WHAT: &'static str = "comparing the vault's payments with the stored ones";
    type Error = PayError;

    async fn pace(&mut self) -> Result<Duration, PayError> {
        Ok(match self.step().await? {
            None => TAKEOVER_INTERVAL,
            Some((_, done)) if done.suspected > 0 => SUSPECT_INTERVAL,
            Some(_) => INTERVAL,
        })
    }

    fn retry(error: &PayError) -> RetryAdvice {
        error.retry()
    }
}
