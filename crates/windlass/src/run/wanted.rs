//! What is to be collected: the configured indexes and the endpoints of their chains,
//! checked before anything is written.

use std::sync::Arc;

use tokio::sync::watch;
use windlass_core::chain::ChainId;
use windlass_core::store::Store;
use windlass_engine::collect::chain::CollectedChain;

use super::chain::{ChainCrew, Shared};
use super::gate::Refusal;
use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::hurdle::Hurdle;
use crate::collect::preflight::{self, Known};
use crate::collect::prepare;
use crate::config::Config;
use crate::failure::Failure;

/// What is to be collected.
#[derive(Default)]
pub(super) struct Wanted {
    drafts: Arc<[Draft]>,
    pub(super) chains: Vec<WantedChain>,
    known: Arc<Known>,
}

/// A chain that has indexes.
pub(super) struct WantedChain {
    pub(super) endpoints: Arc<Endpoints>,
    /// Its endpoints refuse or are silent, and it is waited for.
    hurdle: Option<Hurdle>,
}

impl Wanted {
    /// Reads the configuration and looks at every chain. What the operator must mend ends
    /// it; see [`preflight::verdict`] for endpoints that refuse or are silent.
    pub(super) async fn checked(config: &Config) -> Result<Self, Failure> {
        let drafts = Draft::all(config)?;
        let wanted =
            config.chain.iter().filter(|(name, _)| drafts.iter().any(|draft| draft.chain_name == **name));
        let endpoints = wanted.map(|(name, chain)| Endpoints::open(name, chain).map(Arc::new));
        let endpoints: Vec<Arc<Endpoints>> = endpoints.collect::<Result<_, _>>()?;
        if endpoints.is_empty() {
            return Ok(Self::default());
        }
        let ids: Vec<ChainId> = endpoints.iter().map(|endpoints| endpoints.id).collect();
        let known = preflight::known(&config.database, ids.iter().copied()).await;
        let hurdles = preflight::check_all(&endpoints, &drafts, &known).await;
        let hurdles = preflight::verdict(&ids, hurdles, &known)?;
        let chains = endpoints.into_iter().zip(hurdles);
        let chains = chains.map(|(endpoints, hurdle)| WantedChain { endpoints, hurdle }).collect();
        Ok(Self { drafts: drafts.into(), chains, known: Arc::new(known) })
    }

    /// Refuses what does not fit what was collected, whether or not endpoints answer.
    pub(super) async fn fit(&self, store: &dyn Store) -> Result<(), Failure> {
        for chain in &self.chains {
            prepare::fit(store, chain.endpoints.id, &self.drafts).await?;
        }
        Ok(())
    }

    /// Makes tables, and everything that is needed to begin.
    pub(super) async fn assemble(
        self,
        config: &Config,
        store: &Arc<dyn Store>,
        ready: Vec<watch::Sender<Option<Arc<CollectedChain>>>>,
        refusal: &Refusal,
    ) -> Result<Vec<ChainCrew>, Failure> {
        let count = self.chains.len();
        let may_wait = |chain: ChainId| count > 1 || self.known.chains.contains(&chain);
        let shared = Shared {
            store: store.clone(),
            drafts: self.drafts,
            known: self.known.clone(),
            // The same name never stands for two processes, or for two runs of one.
            owner: format!("{}-{:08x}", std::process::id(), rand::random::<u32>()),
        };
        let mut crews = Vec::with_capacity(count);
        for (WantedChain { endpoints, hurdle }, ready) in self.chains.into_iter().zip(ready) {
            let Some(section) = config.chain.get(&endpoints.name) else { continue };
            let may_pass = may_wait(endpoints.id);
            let mut crew = ChainCrew::assemble(&shared, endpoints, section, ready).await?;
            crew.open(hurdle, may_pass, refusal).await?;
            crews.push(crew);
        }
        Ok(crews)
    }
}
