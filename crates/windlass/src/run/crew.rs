//! Everything that runs, checked and ready to be started.
//!
//! The order matters: what can be wrong with the configuration is told first, then
//! with endpoints and contracts, and only then is the store opened for work.

use std::io::IsTerminal;
use std::sync::Arc;

use windlass_api::ports::Readiness;
use windlass_api::{Api, ApiOptions, ApiParts, PayoutParts};
use windlass_core::store::Store;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::ledger_check::LedgerCheck;
use windlass_engine::supervise::Supervisor;
use windlass_engine::table_indexes::{TableIndexOptions, TableIndexes, WantedIndexes};
use windlass_engine::upkeep::Upkeep;

use super::RunOptions;
use super::chain::{self, ChainCrew};
use super::gate::Refusal;
use super::pay::{self, PayCrew};
use super::probe;
use super::role::Role;
use super::wanted::Wanted;
use crate::collect::metrics::{self, Collected};
use crate::collect::progress::watch::Watcher;
use crate::collect::progress::{Known, Told};
use crate::collect::view;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::pay::health::{All, PayWatcher};
use crate::pay::movements::Movements;
use crate::pay::options;
use crate::pay::tokens::Tokens;

/// Everything that runs.
pub(super) struct Crew {
    pub(super) store: Arc<dyn Store>,
    /// What is kept of payouts, where this process has the key of the audit log: through the
    /// store's connections, and through those of the API where it has its own.
    ledgers: Vec<Arc<Ledger>>,
    /// What ended the process because it must be mended.
    pub(super) refusal: Refusal,
    chains: Vec<ChainCrew>,
    pay: Option<PayCrew>,
    pay_watcher: Option<PayWatcher>,
    /// Where this process pays or takes requests to: payouts in the log.
    movements: Option<Movements>,
    collected: Vec<Collected>,
    api: Option<Api>,
    watcher: Option<Watcher>,
    has_upkeep: bool,
    /// The columns that have a database index.
    indexes: WantedIndexes,
}

impl Crew {
    /// Checks everything, opens the store, and takes the port.
    pub(super) async fn assemble(options: &RunOptions) -> Result<Self, Failure> {
        let (config, plays) = (&options.config, |role| options.roles.contains(&role));
        if plays(Role::Api) {
            probe::port(options).await?;
        }
        let wanted = if plays(Role::Collect) { Wanted::checked(config).await? } else { Wanted::default() };
        let paying = pay::checked(options).await?;
        let store = store::open(&config.database, Access::Work).await?;
        if plays(Role::Collect) || plays(Role::Upkeep) || paying.is_some() {
            probe::write(&*store).await?;
        }
        wanted.fit(&*store).await?;
        let (collected, ready): (Vec<_>, Vec<_>) =
            wanted.chains.iter().map(|chain| chain::collected(&chain.endpoints)).unzip();
        let is_watched = plays(Role::Collect) || plays(Role::Api);
        let watcher =
            if is_watched { Some(Watcher::new(store.clone(), Known::of(config)).await?) } else { None };
        // Who has no key of the audit log looks at payouts, and neither pays nor lets anybody in.
        let ledger = options::ledger(config, store.clone()).ok();
        let served = match plays(Role::Api) {
            true => Some(store::open_for_api(&config.database, &store).await?),
            false => None,
        };
        let served_ledger = match &served {
            Some(served) if !Arc::ptr_eq(served, &store) => options::ledger(config, served.clone()).ok(),
            _ => ledger.clone(),
        };
        let known_to = ledger.iter().chain(&served_ledger);
        let mut pay_watcher = pay_watcher(config, &store, known_to, paying.is_some()).await?;
        let own_ledger =
            served_ledger.clone().filter(|served| !ledger.iter().any(|own| Arc::ptr_eq(own, served)));
        let ledgers = ledger.iter().cloned().chain(own_ledger).collect();
        let api = match (&watcher, served) {
            (Some(watcher), Some(served)) => {
                let told = Told::new(watcher.subscribe(), collected.clone());
                let payouts = pay::desk(paying.as_ref(), config, &served, served_ledger).await?;
                Some(bind(options, served, told, (payouts, pay_watcher.as_ref())).await?)
            }
            _ => None,
        };
        let refusal = Refusal::default();
        let chains = wanted.assemble(config, &store, ready, &refusal).await?;
        let pay = match &paying {
            Some(paying) => {
                let ledger = ledger.clone().unwrap_or_else(|| paying.ledger(store.clone()));
                Some(PayCrew::assemble(paying, config, store.clone(), ledger).await?)
            }
            None => None,
        };
        if let Some((watcher, pay)) = pay_watcher.as_mut().zip(pay.as_ref()) {
            watcher.watch_accounts(pay.accounts());
        }
        let movements = match pay.is_some() || (plays(Role::Api) && ledger.is_some()) {
            true => Some(Movements::new(store.clone(), Tokens::of(config)?).await?),
            false => None,
        };
        let has_upkeep = plays(Role::Upkeep);
        let indexes = config.index.iter();
        let indexes = indexes.map(|(name, index)| (name.identifier().clone(), index.index.clone())).collect();
        Ok(Self {
            store,
            ledgers,
            refusal,
            chains,
            pay,
            pay_watcher,
            movements,
            collected,
            api,
            watcher,
            has_upkeep,
            indexes,
        })
    }

    /// Says what is about to run, and where.
    pub(super) async fn announce(&self, options: &RunOptions) -> Result<(), Failure> {
        let info = self.store.describe().await?;
        // Where nothing is paid, nobody pays.
        let played = options.roles.iter().filter(|role| **role != Role::Pay || self.pay.is_some());
        let roles: Vec<&str> = played.map(|role| role.as_str()).collect();
        let roles = roles.join(",");
        tracing::info!(store = info.kind, place = info.place, schema = info.schema, roles, "running");
        self.chains.iter().for_each(ChainCrew::announce);
        if let Some(pay) = &self.pay {
            pay.announce();
        }
        if options.config.pay.as_ref().is_some_and(|pay| pay.development) {
            tracing::warn!(
                "`pay.development` is true: whoever reaches this machine asks and approves without a key"
            );
        }
        if let Some(api) = &self.api {
            tracing::info!(url = api.url(), "serving what was collected");
            if options.config.api.is_remote() {
                tracing::warn!(
                    listen = %api.address(),
                    "`api.public` is true: everybody who reaches this address reads what was collected, without a key; payouts take a key"
                );
            }
        }
        let is_paying = options.config.pay.is_some();
        if options.roles.contains(&Role::Collect) && self.chains.is_empty() && !is_paying {
            tracing::warn!("no index is configured: nothing is collected; `windlass index add` adds one");
        }
        Ok(())
    }

    /// Starts every task.
    pub(super) fn start(self, supervisor: &mut Supervisor) -> Result<(), Failure> {
        for chain in self.chains {
            chain.start(supervisor)?;
        }
        if let Some(pay) = self.pay {
            pay.start(supervisor);
        }
        for ledger in self.ledgers {
            let check = LedgerCheck::new(ledger);
            supervisor.spawn("ledger against the audit log", |shutdown| async move {
                Ok(check.run(shutdown).await?)
            });
        }
        if let Some(movements) = self.movements {
            supervisor.spawn("payouts in the log", |shutdown| async move {
                movements.run(shutdown).await;
                Ok(())
            });
        }
        if let Some(watcher) = self.pay_watcher {
            supervisor.spawn("payouts in numbers", |shutdown| async move {
                watcher.run(shutdown).await;
                Ok(())
            });
        }
        if let Some(watcher) = self.watcher {
            watch(watcher, self.collected, supervisor);
        }
        if let Some(api) = self.api {
            supervisor.spawn("api", |shutdown| async move {
                api.run(shutdown).await;
                Ok(())
            });
        }
        if self.has_upkeep {
            let indexes = TableIndexes::new(self.store.clone(), TableIndexOptions::new(self.indexes));
            supervisor.spawn("indexes", |shutdown| async move { Ok(indexes.run(shutdown).await?) });
            let upkeep = Upkeep::new(self.store);
            supervisor.spawn("upkeep", |shutdown| async move { Ok(upkeep.run(shutdown).await?) });
        }
        Ok(())
    }
}

/// Looks at payouts, where some are configured.
async fn pay_watcher<'l>(
    config: &Config,
    store: &Arc<dyn Store>,
    ledgers: impl Iterator<Item = &'l Arc<Ledger>>,
    pays: bool,
) -> Result<Option<PayWatcher>, Failure> {
    let Some(vault) = options::vault(config) else { return Ok(None) };
    let mut ledgers: Vec<Arc<Ledger>> = ledgers.cloned().collect();
    ledgers.dedup_by(|one, other| Arc::ptr_eq(one, other));
    Ok(Some(PayWatcher::new(store.clone(), ledgers, vault, pays).await?))
}

async fn bind(
    options: &RunOptions,
    store: Arc<dyn Store>,
    told: Told,
    (payouts, pay_watcher): (Option<PayoutParts>, Option<&PayWatcher>),
) -> Result<Api, Failure> {
    let config = &options.config;
    let told = Arc::new(told);
    let mut reasons: Vec<Arc<dyn Readiness>> = vec![told.clone()];
    if let Some(watcher) = pay_watcher {
        reasons.push(Arc::new(watcher.readiness()));
    }
    let handle = metrics::install()
        .map_err(|error| Failure::unexpected(format_args!("numbers cannot be kept: {error}")))?;
    crate::pay::metrics::describe();
    let parts = ApiParts {
        readiness: Some(Arc::new(All(reasons))),
        progress: Some(told),
        payouts,
        metrics: Some(handle),
        ..ApiParts::new(store)
    };
    let hosts = config.api.hosts.iter().map(|host| host.0.clone()).collect();
    let (listen, allow_remote) = (config.api.listen.0, config.api.public);
    let api = ApiOptions { listen, allow_remote, hosts, ..ApiOptions::default() };
    Api::bind(api, parts).await.map_err(|error| probe::unbound(error, options))
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
