//! What paying takes, put together.

use std::sync::Arc;

use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::money::Token;
use windlass_core::name::Owner;
use windlass_core::payout::audit::AuditKey;
use windlass_core::payout::signer::Signer;
use windlass_core::payout::submit::{Call, CallOutcome, TransactionChain};
use windlass_core::payout::vault::{answer, calldata};
use windlass_core::reader::BlockTag;
use windlass_core::store::Store;
use windlass_engine::pay::desk::{Desk, VaultDesk};
use windlass_engine::pay::head_file::HeadFile;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::payer::{Payer, PayerParts};

use super::{keys, known_chain, options};
use crate::collect::endpoints::Endpoints;
use crate::collect::hurdle::Hurdle;
use crate::collect::ledger::unnamed;
use crate::collect::metered::Metered;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;

/// What paying takes: how it is to be done, the log's key, and the vault's chain.
pub(crate) struct Paying {
    pub(crate) options: Arc<PayOptions>,
    pub(crate) audit_key: AuditKey,
    head_file: Option<HeadFile>,
    pub(crate) endpoints: Endpoints,
    pub(crate) chain: Arc<dyn TransactionChain>,
}

impl Paying {
    /// Reads the configuration and what is secret in it; asks nobody anything.
    pub(crate) fn of(config: &Config) -> Result<Self, Failure> {
        let (pay, chain) = options::section(config)?;
        let endpoints = Endpoints::open(&pay.chain, chain)?;
        let metered = Metered::new(pay.chain.to_string(), endpoints.pool.clone());
        let audit_key = options::audit_key(config)?;
        Ok(Self {
            options: Arc::new(options::read(config)?),
            head_file: options::head_file(config, &audit_key),
            audit_key,
            endpoints,
            chain: Arc::new(metered),
        })
    }

    /// What is kept of payouts, each row verified.
    pub(crate) fn ledger(&self, store: Arc<dyn Store>) -> Arc<Ledger> {
        Ledger::with_head_file(store, self.audit_key.clone(), self.head_file.clone())
    }

    /// Where payouts are asked for and approved.
    pub(crate) fn desk(&self, ledger: Arc<Ledger>) -> Result<VaultDesk, Failure> {
        let random = Arc::new(rand::random::<u128>);
        let desk = Desk::new(ledger, self.options.clone(), random).map_err(unnamed)?;
        Ok(VaultDesk::new(desk, self.chain.clone()))
    }

    /// Who signs, sends and follows, with every configured account.
    pub(crate) async fn payer(
        &self,
        config: &Config,
        ledger: Arc<Ledger>,
        owner: Owner,
    ) -> Result<Arc<Payer>, Failure> {
        let (pay, _) = options::section(config)?;
        let mut signers = Vec::with_capacity(pay.signers.len());
        for name in &pay.signers {
            signers.push(keys::open(config, name).await?);
        }
        let risk_signer = match &pay.risk_signer {
            Some(name) => Some(keys::open(config, name).await?),
            None => None,
        };
        one_key_each(&signers, risk_signer.as_deref())?;
        self.payer_with(ledger, owner, PayerKeys { signers, risk_signer })
    }

    /// Who compares the store with the vault, and signs nothing.
    pub(crate) fn auditor(&self, ledger: Arc<Ledger>, owner: Owner) -> Result<Arc<Payer>, Failure> {
        self.payer_with(ledger, owner, PayerKeys::default())
    }

    fn payer_with(
        &self,
        ledger: Arc<Ledger>,
        owner: Owner,
        PayerKeys { signers, risk_signer }: PayerKeys,
    ) -> Result<Arc<Payer>, Failure> {
        let parts = PayerParts {
            ledger,
            chain: self.chain.clone(),
            signers,
            risk_signer,
            options: self.options.clone(),
            owner,
        };
        Payer::new(parts).map_err(unnamed)
    }

    /// Makes sure that the endpoints serve the chain and that the vault is there.
    pub(crate) async fn check(&self) -> Result<(), Hurdle> {
        self.endpoints.check_chain().await?;
        let vault = self.options.vault.address;
        let call = Call { from: vault, to: Some(vault), data: calldata::deployed_at_block() };
        let read = |outcome: CallOutcome| match outcome {
            CallOutcome::Returned(told) => {
                answer::deployed_at_block(&told).map_err(|error| error.to_string())
            }
            CallOutcome::Reverted { message, .. } => Err(format!("it does not answer as one: {message}")),
        };
        if let Err(reason) = read(self.chain.call(&call, BlockTag::Latest).await?) {
            // One endpoint's word is not enough for that there is none.
            let answers = self.chain.call_from_each(&call, BlockTag::Latest).await;
            let having =
                answers.into_iter().find(|one| one.answer.clone().is_ok_and(|told| read(told).is_ok()));
            let Some(having) = having else { return Err(self.no_vault(&reason).into()) };
            tracing::warn!(
                endpoint = having.endpoint,
                reason,
                "an endpoint knows no vault, and another has it"
            );
        }
        for token in self.options.tokens.values() {
            self.check_decimals(token).await?;
        }
        Ok(())
    }

    /// The same for a command that has the database open: where the vault or a token is not as it should
    /// be because the endpoints serve another chain than the one of the payouts, it says so.
    pub(crate) async fn check_with(&self, ledger: &Ledger) -> Result<(), Failure> {
        match self.check().await {
            Err(Hurdle::Wrong(failure)) => Err(self.explain(failure, ledger).await),
            checked => Ok(checked?),
        }
    }

    /// The same for the start of a process, which opens the database only to find the reason.
    pub(crate) async fn check_before_start(&self, config: &Config) -> Result<(), Hurdle> {
        match self.check().await {
            Err(Hurdle::Wrong(failure)) => {
                // Without a database no payouts were made.
                let Ok(store) = store::open(&config.database, Access::Look).await else {
                    return Err(Hurdle::Wrong(failure));
                };
                let explained = self.explain(failure, &self.ledger(store.clone())).await;
                store.close().await;
                Err(Hurdle::Wrong(explained))
            }
            checked => checked,
        }
    }

    async fn explain(&self, failure: Failure, ledger: &Ledger) -> Failure {
        // The endpoints have said that they serve another id: there is nothing to add.
        if failure.code == Some(Code::RpcWrongChain) {
            return failure;
        }
        known_chain::explain(failure, &*self.chain, ledger, self.options.vault).await
    }

    /// Amounts are written in whole tokens: with other decimals than the token's own, all
    /// of them would be wrong by a power of ten.
    async fn check_decimals(&self, token: &Token) -> Result<(), Hurdle> {
        let Some(contract) = token.contract else { return Ok(()) };
        let call = Call { from: contract, to: Some(contract), data: calldata::decimals() };
        let told = match self.chain.call(&call, BlockTag::Latest).await? {
            CallOutcome::Returned(told) => answer::decimals(&told).ok(),
            CallOutcome::Reverted { .. } => None,
        };
        match told {
            Some(decimals) if decimals == token.decimals => Ok(()),
            Some(decimals) => {
                let symbol = &token.symbol;
                let message =
                    format!("{symbol} at {contract} has {decimals} decimals, not {}", token.decimals);
                Err(Failure::coded(Code::ConfigInvalid, message)
                    .hint(format_args!("correct `decimals` or `address` in `[pay.token.{symbol}]`"))
                    .into())
            }
            // A token need not say: then the configuration is all there is.
            None => {
                tracing::warn!(token = token.symbol, %contract, "the token does not tell its decimals; the configured ones are used");
                Ok(())
            }
        }
    }

    fn no_vault(&self, reason: &str) -> Failure {
        let message = format!(
            "{} on chain `{}` is no vault: {reason}",
            self.options.vault.address, self.endpoints.name
        );
        Failure::coded(Code::VaultUnusable, message)
            .hint("correct `vault` or `chain` in `[pay]`; `windlass vault deploy` makes a vault")
    }
}

/// Refuses one key under two names: two keys protect only as long as they are two.
fn one_key_each(signers: &[Arc<dyn Signer>], risk_signer: Option<&dyn Signer>) -> Result<(), Failure> {
    let accounts: Vec<Address> = signers.iter().map(|signer| signer.address()).collect();
    let twice = accounts.iter().enumerate().find(|(place, account)| accounts[..*place].contains(account));
    if let Some((_, account)) = twice {
        return Err(Failure::coded(
            Code::ConfigInvalid,
            format_args!("`pay.signers` names account {account} twice"),
        )
        .hint("give each of them a key of its own"));
    }
    match risk_signer.map(|signer| signer.address()).filter(|account| accounts.contains(account)) {
        Some(account) => {
            let message = format!("account {account} would approve what it sends itself");
            Err(Failure::coded(Code::ConfigInvalid, message).hint("give `pay.risk_signer` a key of its own"))
        }
        None => Ok(()),
    }
}

/// The keys of a payer.
#[derive(Default)]
struct PayerKeys {
    signers: Vec<Arc<dyn Signer>>,
    risk_signer: Option<Arc<dyn Signer>>,
}
