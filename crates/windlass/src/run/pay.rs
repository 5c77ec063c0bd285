//! The loops that pay: one for each account that signs, one that follows transactions,
//! and one that publishes the end of the audit log.

use std::sync::Arc;

use windlass_api::PayoutParts;
use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_engine::pay::accounts::{AccountWatcher, Accounts};
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::payer::Payer;
use windlass_engine::pay::publish::HeadPublisher;
use windlass_engine::pay::reconcile::schedule::Reconciler;
use windlass_engine::pay::submit::Submitter;
use windlass_engine::pay::track::Tracker;
use windlass_engine::supervise::Supervisor;

use super::RunOptions;
use super::role::Role;
use crate::collect::hurdle::Hurdle;
use crate::collect::ledger::unnamed;
use crate::config::Config;
use crate::failure::Failure;
use crate::pay::log_key;
use crate::pay::paying::Paying;

/// Everything that pays, ready to be started.
pub(super) struct PayCrew {
    payer: Arc<Payer>,
    publisher: HeadPublisher,
    vault: String,
}

/// What is to be paid, checked before the store is opened; nothing where nothing is, or
/// where this process does not pay.
pub(super) async fn checked(options: &RunOptions) -> Result<Option<Paying>, Failure> {
    let has_signers = options.config.pay.as_ref().is_some_and(|pay| !pay.signers.is_empty());
    if !options.roles.contains(&Role::Pay) || (!has_signers && !options.is_explicit) {
        return Ok(None);
    }
    let paying = Paying::of(&options.config)?;
    match paying.check_before_start(&options.config).await {
        Ok(()) => {}
        // Its loops ask again until somebody answers; nothing is signed before that.
        Err(Hurdle::Silent(failure) | Hurdle::Passing { failure, .. }) => {
            tracing::warn!(chain = %paying.endpoints.name, error = failure.message, "the vault's chain does not answer: payouts wait");
        }
        Err(hurdle) => return Err(hurdle.into()),
    }
    Ok(Some(paying))
}

/// Where payouts are asked for over HTTP, whether or not this process pays; nothing where
/// nothing is paid.
pub(super) async fn desk(
    paying: Option<&Paying>,
    config: &Config,
    store: &Arc<dyn Store>,
    ledger: Option<Arc<Ledger>>,
) -> Result<Option<PayoutParts>, Failure> {
    let Some(section) = &config.pay else { return Ok(None) };
    let own;
    let paying = match paying {
        Some(paying) => paying,
        None => {
            own = Paying::of(config)?;
            &own
        }
    };
    log_key::check(&**store, &paying.audit_key).await?;
    let ledger = ledger.unwrap_or_else(|| paying.ledger(store.clone()));
    let desk = Arc::new(paying.desk(ledger.clone())?);
    Ok(Some(PayoutParts { desk, ledger, development: section.development }))
}

impl PayCrew {
    /// Opens every key.
    pub(super) async fn assemble(
        paying: &Paying,
        config: &Config,
        store: Arc<dyn Store>,
        ledger: Arc<Ledger>,
    ) -> Result<Self, Failure> {
        log_key::check(&*store, &paying.audit_key).await?;
        let owner = format!("pay-{}-{:08x}", std::process::id(), rand::random::<u32>());
        let owner = Owner::new(owner).map_err(unnamed)?;
        let payer = paying.payer(config, ledger.clone(), owner.clone()).await?;
        if payer.signers().is_empty() {
            return Err(Failure::coded(
                Code::SignerUnusable,
                "`pay.signers` names no account that could pay",
            )
            .hint("name one, or leave paying to other processes: --role collect,api,upkeep"));
        }
        let publisher = HeadPublisher::new(ledger, owner).map_err(unnamed)?;
        let vault = format!("{} on {}", paying.options.vault.address, paying.endpoints.name);
        Ok(Self { payer, publisher, vault })
    }

    /// What each account can do.
    pub(super) fn accounts(&self) -> Arc<Accounts> {
        self.payer.accounts().clone()
    }

    /// Says from which vault is paid, and by whom.
    pub(super) fn announce(&self) {
        let accounts: Vec<String> =
            self.payer.signers().iter().map(|signer| signer.address().to_string()).collect();
        tracing::info!(vault = self.vault, accounts = accounts.join(", "), "paying");
    }

    /// Starts every loop.
    pub(super) fn start(self, supervisor: &mut Supervisor) {
        for signer in self.payer.signers() {
            let submitter = Submitter::new(self.payer.clone(), signer.clone());
            let task = format!("payouts signed by {}", signer.address());
            supervisor.spawn(task, |shutdown| async move { Ok(submitter.run(shutdown).await?) });
        }
        let watcher = AccountWatcher::new(self.payer.clone());
        supervisor.spawn("gas of accounts", |shutdown| async move { Ok(watcher.run(shutdown).await?) });
        let reconciler = Reconciler::new(self.payer.clone());
        supervisor
            .spawn("payments of the vault", |shutdown| async move { Ok(reconciler.run(shutdown).await?) });
        let tracker = Tracker::new(self.payer);
        supervisor.spawn("payouts on their way", |shutdown| async move { Ok(tracker.run(shutdown).await?) });
        let publisher = self.publisher;
        supervisor.spawn("audit log's head", |shutdown| async move { Ok(publisher.run(shutdown).await?) });
    }
}
