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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use windlass_core::store::{Events, Health};
    use windlass_store_sqlite::{SqliteOptions, SqliteStore};

    use super::*;

    #[derive(Default)]
    struct Memory(Mutex<String>);

    impl Learns for Memory {
        fn save(&self) -> String {
            self.0.lock().expect("a lock").clone()
        }

        fn restore(&self, text: &str) {
            text.clone_into(&mut self.0.lock().expect("a lock"));
        }
    }

    #[tokio::test]
    async fn what_was_learned_outlasts_the_process() {
        let store = Arc::new(SqliteStore::open(SqliteOptions::memory()).await.expect("a store"));
        let key = StateKey::new("collect/1/learned").expect("a name");
        let pupil = Arc::new(Memory::default());
        let keeper = Keeper::restored(store.clone(), key.clone(), pupil.clone()).await.expect("nothing yet");
        pupil.restore("ranges of 500");
        let over = CancellationToken::new();
        over.cancel();
        keeper.run(over).await.expect("kept at the end");
        assert_eq!(store.state(&key).await.expect("a state").as_deref(), Some("ranges of 500"));
        let next = Arc::new(Memory::default());
        Keeper::restored(store.clone(), key, next.clone()).await.expect("restored");
        assert_eq!(next.save(), "ranges of 500");
        store.close().await;
    }
}
