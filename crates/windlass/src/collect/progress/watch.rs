//! A task that looks again and again, so that whoever asks is answered at once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use windlass_core::error::StoreError;
use windlass_core::store::Store;

use super::rate::Paces;
use super::{Known, Overview, read};

/// How often it looks.
const INTERVAL: Duration = Duration::from_secs(1);

/// Looks at the store while others work on it.
pub(crate) struct Watcher {
    store: Arc<dyn Store>,
    known: Known,
    seen: watch::Sender<Overview>,
    paces: Paces,
    begun: Instant,
}

impl Watcher {
    /// A watcher that has looked once.
    pub(crate) async fn new(store: Arc<dyn Store>, known: Known) -> Result<Self, StoreError> {
        let (seen, _) = watch::channel(Overview::default());
        let mut watcher = Self { store, known, seen, paces: Paces::default(), begun: Instant::now() };
        watcher.look().await?;
        Ok(watcher)
    }

    /// What it sees from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Overview> {
        self.seen.subscribe()
    }

    /// Looks until told to stop. A look that fails is made again later: the store's own
    /// trouble is told by those who work with it.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<(), StoreError> {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return Ok(()),
                _ = ticks.tick() => {}
            }
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "how far everything is could not be read");
            }
        }
    }

    async fn look(&mut self) -> Result<(), StoreError> {
        let mut overview = read(&*self.store, &self.known).await?;
        self.paces.fill_in(&mut overview, self.begun.elapsed());
        self.seen.send_replace(overview);
        Ok(())
    }
}
