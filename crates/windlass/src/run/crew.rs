//! Everything that runs, checked and ready to be started.
//!
//! The order matters: what can be wrong with the configuration is told first, then
//! with endpoints and contracts, and only then is the store opened for work.

use std::io::IsTerminal;
use std::sync::Arc;

use windlass_api::{Api, ApiOptions, ApiParts};
use windlass_core::store::Store;
use windlass_engine::supervise::Supervisor;
use windlass_engine::upkeep::Upkeep;

use super::RunOptions;
use super::chain::ChainCrew;
use super::role::Role;
use crate::collect::draft::Draft;
use crate::collect::endpoints::Endpoints;
use crate::collect::metrics::{self, Collected};
use crate::collect::progress::watch::Watcher;
use crate::collect::progress::{Known, Told};
use crate::collect::{preflight, view};
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;

/// Everything that runs.
pub(super) struct Crew {
    pub(super) store: Arc<dyn Store>,
    chains: Vec<ChainCrew>,
    api: Option<Api>,
    watcher: Option<Watcher>,
    has_upkeep: bool,
}

impl Crew {
    /// Checks everything, opens the store, and takes the port.
    pub(super) async fn assemble(options: &RunOptions) -> Result<Self, Failure> {
        let (config, plays) = (&options.config, |role| options.roles.contains(&role));
        let (drafts, endpoints) =
            if plays(Role::Collect) { checked(config).await? } else { Default::default() };
        let store = store::open(&config.database, Access::Work).await?;
        let is_watched = plays(Role::Collect) || plays(Role::Api);
        let watcher =
            if is_watched { Some(Watcher::new(store.clone(), Known::of(config)).await?) } else { None };
        let api = match &watcher {
            Some(watcher) if plays(Role::Api) => Some(bind(config, store.clone(), watcher).await?),
            _ => None,
        };
        let chains = chains(config, &store, endpoints, &drafts).await?;
        Ok(Self { store, chains, api, watcher, has_upkeep: plays(Role::Upkeep) })
    }

    /// Says what is about to run, and where.
    pub(super) async fn announce(&self, options: &RunOptions) -> Result<(), Failure> {
        let info = self.store.describe().await?;
        let roles: Vec<&str> = options.roles.iter().map(|role| role.as_str()).collect();
        let roles = roles.join(",");
        tracing::info!(store = info.kind, place = info.place, schema = info.schema, roles, "running");
        self.chains.iter().for_each(ChainCrew::announce);
        if let Some(api) = &self.api {
            tracing::info!(url = api.url(), "serving what was collected");
        }
        if options.roles.contains(&Role::Collect) && self.chains.is_empty() {
            tracing::warn!("no index is configured: nothing is collected; `windlass index add` adds one");
        }
        Ok(())
    }

    /// Starts every task.
    pub(super) fn start(self, supervisor: &mut Supervisor) -> Result<(), Failure> {
        let collected: Vec<Collected> = self.chains.iter().map(ChainCrew::collected).collect();
        for chain in self.chains {
            chain.start(supervisor)?;
        }
        if let Some(watcher) = self.watcher {
            watch(watcher, collected, supervisor);
        }
        if let Some(api) = self.api {
            supervisor.spawn("api", |shutdown| async move {
                api.run(shutdown).await;
                Ok(())
            });
        }
        if self.has_upkeep {
            let upkeep = Upkeep::new(self.store);
            supervisor.spawn("upkeep", |shutdown| async move { Ok(upkeep.run(shutdown).await?) });
        }
        Ok(())
    }
}

/// The configured indexes, and the endpoints of their chains: the right chain, with
/// the contracts on it.
async fn checked(config: &Config) -> Result<(Vec<Draft>, Vec<Endpoints>), Failure> {
    let drafts = Draft::all(config)?;
    let wanted =
        config.chain.iter().filter(|(name, _)| drafts.iter().any(|draft| draft.chain_name == **name));
    let endpoints =
        wanted.map(|(name, chain)| Endpoints::open(name, chain)).collect::<Result<Vec<_>, _>>()?;
    if !endpoints.is_empty() {
        let known = preflight::known(&config.database, &endpoints).await;
        preflight::check(&endpoints, &drafts, &known).await?;
    }
    Ok((drafts, endpoints))
}

async fn chains(
    config: &Config,
    store: &Arc<dyn Store>,
    endpoints: Vec<Endpoints>,
    drafts: &[Draft],
) -> Result<Vec<ChainCrew>, Failure> {
    // The same name never stands for two processes, or for two runs of one.
    let owner = format!("{}-{:08x}", std::process::id(), rand::random::<u32>());
    let mut chains = Vec::with_capacity(endpoints.len());
    for endpoints in endpoints {
        let Some(section) = config.chain.get(&endpoints.name) else { continue };
        chains.push(ChainCrew::assemble(store.clone(), endpoints, section, drafts, &owner).await?);
    }
    Ok(chains)
}

async fn bind(config: &Config, store: Arc<dyn Store>, watcher: &Watcher) -> Result<Api, Failure> {
    let told = Arc::new(Told::new(watcher.subscribe()));
    let handle = metrics::install()
        .map_err(|error| Failure::unexpected(format_args!("numbers cannot be kept: {error}")))?;
    let parts = ApiParts {
        readiness: Some(told.clone()),
        progress: Some(told),
        metrics: Some(handle),
        ..ApiParts::new(store)
    };
    let options = ApiOptions { listen: config.api.listen.0, ..ApiOptions::default() };
    Api::bind(options, parts).await.map_err(|error| {
        let source = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Failure::coded(error.code(), format_args!("{error}{source}"))
            .hint("change `api.listen`, or leave the API to one process: --role collect")
    })
}

/// Starts the looks at the store, and those who tell of them.
fn watch(watcher: Watcher, collected: Vec<Collected>, supervisor: &mut Supervisor) {
    let (seen, told) = (watcher.subscribe(), watcher.subscribe());
    let counted = collected.clone();
    supervisor.spawn("numbers", |shutdown| async move {
        metrics::run(seen, counted, shutdown).await;
        Ok(())
    });
    if !collected.is_empty() {
        let is_live = std::io::stderr().is_terminal();
        supervisor.spawn("view", move |shutdown| async move {
            view::run(told, collected, is_live, shutdown).await;
            Ok(())
        });
    }
    supervisor.spawn("watch", |shutdown| async move { Ok(watcher.run(shutdown).await?) });
}
