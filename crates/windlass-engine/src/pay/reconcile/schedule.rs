//! Comparing the vault's payments with the stored ones every few minutes, by one process of many.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::error::RetryAdvice;

use super::Reconciled;
use super::recheck::{Recheck, Rechecked};
use crate::pace::{Paced, step_until};
use crate::pay::error::PayError;
use crate::pay::payer::Payer;

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
}

impl Reconciler {
    /// A loop.
    pub fn new(payer: Arc<Payer>) -> Self {
        Self { recheck: Recheck::new(payer.clone()), payer }
    }

    /// Steps until told to stop.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), PayError> {
        step_until(&mut self, &shutdown).await
    }

    /// Compares both ways once; nothing where another process does.
    pub async fn step(&mut self) -> Result<Option<(Reconciled, Rechecked)>, PayError> {
        let payer = self.payer.clone();
        let lease = payer.store.acquire_lease(&payer.names.reconciling, &payer.owner, LEASE_TTL).await?;
        if lease.is_none() {
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
            Some((_, done)) if done.suspected > 0 => SUSPECT_INTERVAL,
            _ => INTERVAL,
        })
    }

    fn retry(error: &PayError) -> RetryAdvice {
        error.retry()
    }
}
