//! The loops of one chain: one follows its head, several go over its past, and what
//! was learned of its endpoints is kept.

use std::sync::Arc;

use windlass_chain::evm::EvmPool;
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_engine::collect::backfill::Backfiller;
use windlass_engine::collect::chain::CollectedChain;
use windlass_engine::collect::head::Follower;
use windlass_engine::supervise::Supervisor;

use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::learned::Keeper;
use crate::collect::ledger::{self, unnamed};
use crate::collect::metered::Metered;
use crate::collect::metrics::Collected;
use crate::collect::prepare;
use crate::config::chain::Chain;
use crate::failure::Failure;

/// A chain that is ready to be collected.
pub(super) struct ChainCrew {
    chain: Arc<CollectedChain>,
    endpoints: Endpoints,
    keeper: Keeper<EvmPool>,
    owner: String,
    workers: u64,
    indexes: Vec<String>,
}

impl ChainCrew {
    /// Makes the chain's tables and restores what is known of its endpoints.
    pub(super) async fn assemble(
        store: Arc<dyn Store>,
        endpoints: Endpoints,
        section: &Chain,
        drafts: &[Draft],
        owner: &str,
    ) -> Result<Self, Failure> {
        let catalog = prepare::catalog(&*store, &endpoints, drafts).await?;
        let owner = format!("{owner}/{}", endpoints.name);
        let options = prepare::options(section, Owner::new(owner.clone()).map_err(unnamed)?);
        let names = ledger::names(endpoints.id)?;
        let keeper = Keeper::restored(store.clone(), names.learned, endpoints.pool.clone()).await?;
        let reader = Arc::new(Metered::new(endpoints.name.to_string(), endpoints.pool.clone()));
        let chain = CollectedChain::new(options, store, reader, catalog).map_err(unnamed)?;
        let indexes = drafts.iter().filter(|draft| draft.chain() == endpoints.id);
        let indexes = indexes.map(|draft| draft.name.to_string()).collect();
        let (chain, workers) = (Arc::new(chain), section.workers.get());
        Ok(Self { chain, endpoints, keeper, owner, workers, indexes })
    }

    /// Says what is about to be collected, and from whom.
    pub(super) fn announce(&self) {
        let places: Vec<String> = self.endpoints.pool.status().into_iter().map(|one| one.place).collect();
        let (chain, endpoints, indexes) = (&self.endpoints.name, places.join(", "), self.indexes.join(", "));
        tracing::info!(%chain, id = %self.endpoints.id, endpoints, indexes, "collecting");
    }

    /// What is counted of it.
    pub(super) fn collected(&self) -> Collected {
        let (name, pool) = (self.endpoints.name.to_string(), self.endpoints.pool.clone());
        Collected { name, pool, chain: self.chain.clone() }
    }

    /// Starts every loop.
    pub(super) fn start(self, supervisor: &mut Supervisor) -> Result<(), Failure> {
        let name = &self.endpoints.name;
        let heads = self.endpoints.heads()?;
        let follower = Follower::new(self.chain.clone(), heads.as_ref().map(|heads| heads.receiver()));
        supervisor.spawn(format!("head of {name}"), |shutdown| async move {
            // News come for as long as this is held.
            let _heads = heads;
            Ok(follower.run(shutdown).await?)
        });
        for number in 1..=self.workers {
            let owner = Owner::new(format!("{}/{number}", self.owner)).map_err(unnamed)?;
            let backfiller = Backfiller::new(self.chain.clone(), owner);
            let task = format!("past of {name}, worker {number}");
            supervisor.spawn(task, |shutdown| async move { Ok(backfiller.run(shutdown).await?) });
        }
        let keeper = self.keeper;
        let task = format!("endpoints of {name}");
        supervisor.spawn(task, |shutdown| async move { Ok(keeper.run(shutdown).await?) });
        Ok(())
    }
}
