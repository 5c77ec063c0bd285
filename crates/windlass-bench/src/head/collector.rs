//! The collector: a follower woken by announced heads, and workers for the past.

use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use windlass_chain::evm::{EvmHeads, HeadsOptions};
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_engine::collect::backfill::Backfiller;
use windlass_engine::collect::error::CollectError;
use windlass_engine::collect::head::Follower;

use crate::fees;
use crate::serve::Served;

/// As many as `windlass run` has by default.
const WORKERS: u32 = 4;

type Broken = Box<dyn std::error::Error>;

/// The loops, running.
pub(super) struct Collector {
    tasks: Vec<JoinHandle<Result<(), CollectError>>>,
    shutdown: CancellationToken,
    /// News come for as long as this is held.
    _heads: EvmHeads,
}

impl Collector {
    /// Starts all loops of a chain.
    pub(super) async fn start(store: &Arc<dyn Store>, served: &Served) -> Result<Self, Broken> {
        let options = fees::options()?;
        let heads = EvmHeads::start(&[served.ws_url()], options.chain, HeadsOptions::default())?;
        let chain = fees::compose(store, &served.url, options).await?;
        let shutdown = CancellationToken::new();
        let follower = Follower::new(chain.clone(), Some(heads.receiver()));
        let mut tasks = vec![tokio::spawn(follower.run(shutdown.clone()))];
        for number in 0..WORKERS {
            let worker = Backfiller::new(chain.clone(), Owner::new(format!("bench-{number}"))?);
            tasks.push(tokio::spawn(worker.run(shutdown.clone())));
        }
        Ok(Self { tasks, shutdown, _heads: heads })
    }

    /// An error if a loop has ended.
    pub(super) fn check(&self) -> Result<(), Broken> {
        if self.tasks.iter().any(JoinHandle::is_finished) {
            return Err("a loop of the collector has ended".into());
        }
        Ok(())
    }

    /// Stops all loops.
    pub(super) async fn stop(self) -> Result<(), Broken> {
        self.shutdown.cancel();
        for task in self.tasks {
            task.await??;
        }
        Ok(())
    }
}
