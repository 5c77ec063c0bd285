//! How paying goes, looked at every few seconds: for `/readyz` and for metrics.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use windlass_api::ports::{Readiness, Reason};
use windlass_core::chain::ChainId;
use windlass_core::code::Code;
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::SignerRow;
use windlass_core::payout::state::PayoutState;
use windlass_core::store::Store;

use super::metrics;

/// How often it is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// What a look has seen.
#[derive(Debug, Clone, Default)]
pub(crate) struct PayLook {
    /// How many payouts stand where.
    pub(crate) payouts: Vec<(PayoutState, u64)>,
    /// The accounts that sign.
    pub(crate) signers: Vec<SignerRow>,
}

/// Looks at the store, and tells what it has seen.
pub(crate) struct PayWatcher {
    store: Arc<dyn Store>,
    chain: ChainId,
    seen: watch::Sender<PayLook>,
}

/// Reasons not to be ready, from what was last seen.
pub(crate) struct PayReadiness(watch::Receiver<PayLook>);

impl PayWatcher {
    /// Looks for the first time.
    pub(crate) async fn new(store: Arc<dyn Store>, chain: ChainId) -> StoreResult<Self> {
        let (seen, _) = watch::channel(look(&*store, chain).await?);
        Ok(Self { store, chain, seen })
    }

    /// Reasons not to be ready.
    pub(crate) fn readiness(&self) -> PayReadiness {
        PayReadiness(self.seen.subscribe())
    }

    /// Looks until told to stop. What cannot be read is told by others.
    pub(crate) async fn run(self, shutdown: CancellationToken) {
        while shutdown.run_until_cancelled(tokio::time::sleep(LOOK_INTERVAL)).await.is_some() {
            match look(&*self.store, self.chain).await {
                Ok(seen) => {
                    metrics::tell(&seen);
                    self.seen.send_replace(seen);
                }
                Err(error) => tracing::debug!(%error, "payouts could not be counted"),
            }
        }
    }
}

/// The accounts of the vault's chain: others are another configuration's.
async fn look(store: &dyn Store, chain: ChainId) -> StoreResult<PayLook> {
    let mut signers = store.list_signers().await?;
    signers.retain(|signer| signer.chain == chain);
    Ok(PayLook { payouts: store.count_payouts().await?, signers })
}

#[async_trait]
impl Readiness for PayReadiness {
    async fn reasons(&self) -> Vec<Reason> {
        let seen = self.0.borrow();
        let halted = seen.signers.iter().filter_map(|signer| Some((signer, signer.halted.as_ref()?)));
        halted
            .map(|(signer, why)| Reason {
                code: Code::SignerHalted,
                message: why.clone(),
                subject: signer.address.to_string(),
            })
            .collect()
    }
}

/// Several at once.
pub(crate) struct All(pub(crate) Vec<Arc<dyn Readiness>>);

#[async_trait]
impl Readiness for All {
    async fn reasons(&self) -> Vec<Reason> {
        let mut reasons = Vec::new();
        for one in &self.0 {
            reasons.extend(one.reasons().await);
        }
        reasons
    }
}
