//! What was learned of a chain's endpoints outlasts the process: it is kept in the store.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::commit::{Commit, Write};
use windlass_core::error::StoreResult;
use windlass_core::name::StateKey;
use windlass_core::store::Store;

/// How often it is kept.
const INTERVAL: Duration = Duration::from_secs(60);

/// Something that learns.
pub(crate) trait Learns: Send + Sync + 'static {
    /// What is known, as text.
    fn save(&self) -> String;
    /// Takes what was known before; text that makes no sense is left alone.
    fn restore(&self, text: &str);
}

/// Keeps what one chain's endpoints taught.
pub(crate) struct Keeper<L> {
    store: Arc<dyn Store>,
    key: StateKey,
    learner: Arc<L>,
    kept: String,
}

impl<L: Learns> Keeper<L> {
    /// Restores what was kept.
    pub(crate) async fn restored(store: Arc<dyn Store>, key: StateKey, learner: Arc<L>) -> StoreResult<Self> {
        if let Some(text) = store.state(&key).await? {
            learner.restore(&text);
        }
        let kept = learner.save();
        Ok(Self { store, key, learner, kept })
    }

    /// Keeps it from time to time, and at the end. That it cannot be kept costs a few
    /// questions after the next start, and is no reason to fail.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> StoreResult<()> {
        while shutdown.run_until_cancelled(tokio::time::sleep(INTERVAL)).await.is_some() {
            self.keep().await;
        }
        self.keep().await;
        Ok(())
    }

    async fn keep(&mut self) {
        let text = self.learner.save();
        if text == self.kept {
            return;
        }
        let write = Write::PutState { key: self.key.clone(), value: Some(text.clone()) };
        match self.store.commit(Commit::of(vec![write]).relaxed()).await {
            Ok(_) => self.kept = text,
            Err(error) => tracing::debug!(%error, "what was learned of endpoints could not be kept"),
        }
    }
}
