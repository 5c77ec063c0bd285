//! The loops of one chain: one follows its head, several go over its past, one verifies what
//! those have stored, and what was learned of its endpoints is kept. They begin when the chain's gate opens.

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use windlass_chain::evm::EvmPool;
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_engine::collect::backfill::Backfiller;
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};
use windlass_engine::collect::head::Follower;
use windlass_engine::collect::health::report::Reporter;
use windlass_engine::collect::verify::Verifier;
use windlass_engine::supervise::Supervisor;

use super::gate::{Gate, Refusal};
use super::signatures::Signatures;
use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::hurdle::Hurdle;
use crate::collect::learned::Keeper;
use crate::collect::ledger::{self, unnamed};
use crate::collect::metrics::Collected;
use crate::collect::preflight::Known;
use crate::collect::prepare;
use crate::config::chain::Chain;
use crate::failure::Failure;

/// A chain that is about to be collected.
pub(super) struct ChainCrew {
    gate: Gate,
    /// What keeps the gate shut.
    hurdle: Option<Hurdle>,
    keeper: Keeper<EvmPool>,
    workers: u64,
}

/// A chain's loops wait for this.
type Ready = watch::Receiver<Option<Arc<CollectedChain>>>;

/// What several chains share.
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) drafts: Arc<[Draft]>,
    pub(super) known: Arc<Known>,
    /// Who this process is.
    pub(super) owner: String,
}

impl ChainCrew {
    /// Restores what is known of the chain's endpoints.
    pub(super) async fn assemble(
        shared: &Shared,
        endpoints: Arc<Endpoints>,
        section: &Chain,
        ready: watch::Sender<Option<Arc<CollectedChain>>>,
    ) -> Result<Self, Failure> {
        let Shared { store, drafts, known, owner } = shared;
        let owner = Owner::new(format!("{owner}/{}", endpoints.name)).map_err(unnamed)?;
        let names = ledger::names(endpoints.id)?;
        let learned = names.learned.clone();
        let keeper = Keeper::restored(store.clone(), learned, endpoints.pool.clone()).await?;
        let name = Some(endpoints.name.to_string());
        let options = CollectOptions { name, ..prepare::options(section, owner) };
        let gate = Gate {
            store: store.clone(),
            endpoints,
            drafts: drafts.clone(),
            options,
            names,
            known: known.clone(),
            ready,
            refusal: None,
        };
        Ok(Self { gate, hurdle: None, keeper, workers: section.workers.get() })
    }

    /// Opens the gate, unless something is known to stand in the way. What does so then
    /// ends it, but for refusals that pass, and for silence where that `may_pass`. Where it
    /// may not, what must be mended ends the process later too, and is left in `refusal`.
    pub(super) async fn open(
        &mut self,
        hurdle: Option<Hurdle>,
        may_pass: bool,
        refusal: &Refusal,
    ) -> Result<(), Failure> {
        self.gate.refusal = (!may_pass).then(|| refusal.clone());
        let hurdle = match hurdle {
            Some(hurdle) => Some(hurdle),
            None => self.gate.open().await.err(),
        };
        match hurdle {
            Some(passing @ Hurdle::Passing { .. }) => self.hurdle = Some(passing),
            Some(Hurdle::Silent(failure)) if may_pass => self.hurdle = Some(Hurdle::Silent(failure)),
            Some(hurdle) => return Err(hurdle.into()),
            None => {}
        }
        Ok(())
    }

    /// Says what is about to be collected, and from whom.
    pub(super) fn announce(&self) {
        let endpoints = &self.gate.endpoints;
        let places: Vec<String> = endpoints.pool.status().into_iter().map(|one| one.place).collect();
        let indexes = self.gate.drafts.iter().filter(|draft| draft.chain() == endpoints.id);
        let indexes: Vec<String> = indexes.map(|draft| draft.name.to_string()).collect();
        let (chain, places, indexes) = (&endpoints.name, places.join(", "), indexes.join(", "));
        if self.hurdle.is_none() {
            tracing::info!(%chain, id = %endpoints.id, endpoints = places, indexes, "collecting");
        }
    }

    /// Starts every loop.
    pub(super) fn start(self, supervisor: &mut Supervisor) -> Result<(), Failure> {
        let Self { gate, hurdle, keeper, workers } = self;
        let (name, ready) = (gate.endpoints.name.clone(), gate.ready.subscribe());
        let heads = gate.endpoints.heads()?;
        let waiting = ready.clone();
        supervisor.spawn(format!("head of {name}"), |shutdown| async move {
            // News come for as long as this is held.
            let news = heads.as_ref().map(|heads| heads.receiver());
            match opened(waiting, &shutdown).await {
                Some(chain) => Ok(Follower::new(chain, news).run(shutdown).await?),
                None => Ok(()),
            }
        });
        for number in 1..=workers {
            let owner = Owner::new(format!("{}/{number}", gate.options.owner)).map_err(unnamed)?;
            let (task, waiting) = (format!("past of {name}, worker {number}"), ready.clone());
            supervisor.spawn(task, |shutdown| async move {
                match opened(waiting, &shutdown).await {
                    Some(chain) => Ok(Backfiller::new(chain, owner).run(shutdown).await?),
                    None => Ok(()),
                }
            });
        }
        let waiting = ready.clone();
        supervisor.spawn(format!("verification of {name}"), |shutdown| async move {
            match opened(waiting, &shutdown).await {
                Some(chain) => Ok(Verifier::new(chain, rand::random()).run(shutdown).await?),
                None => Ok(()),
            }
        });
        supervisor.spawn(format!("health of {name}"), |shutdown| async move {
            if let Some(chain) = opened(ready, &shutdown).await {
                Reporter::new(chain).run(shutdown).await;
            }
            Ok(())
        });
        let signatures = Signatures {
            store: gate.store.clone(),
            endpoints: gate.endpoints.clone(),
            drafts: gate.drafts.clone(),
        };
        let waiting = gate.ready.subscribe();
        supervisor.spawn(format!("signatures of {name}"), |shutdown| async move {
            if opened(waiting, &shutdown).await.is_some() {
                shutdown.run_until_cancelled(signatures.check()).await;
            }
            Ok(())
        });
        let task = format!("endpoints of {name}");
        supervisor.spawn(task, |shutdown| async move { Ok(keeper.run(shutdown).await?) });
        if let Some(hurdle) = hurdle {
            let task = format!("start of {name}");
            supervisor.spawn(task, |shutdown| async move { gate.run(hurdle, shutdown).await });
        }
        Ok(())
    }
}

/// The chain once its gate is open; nothing when it is all over before that.
async fn opened(mut ready: Ready, shutdown: &CancellationToken) -> Option<Arc<CollectedChain>> {
    let open = shutdown.run_until_cancelled(ready.wait_for(Option::is_some)).await?;
    open.ok()?.clone()
}

/// What is counted of a chain, and the way to tell when it can be.
pub(super) fn collected(endpoints: &Endpoints) -> (Collected, watch::Sender<Option<Arc<CollectedChain>>>) {
    let (ready, chain) = watch::channel(None);
    (Collected { name: endpoints.name.to_string(), pool: endpoints.pool.clone(), chain }, ready)
}
