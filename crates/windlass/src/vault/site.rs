//! Where: the chain, the vault on it, and questions to both.

use std::sync::Arc;

use windlass_core::chain::{Address, Bytes, ChainId, U256};
use windlass_core::code::Code;
use windlass_core::money::NATIVE_COIN;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::submit::{Call, CallOutcome, TransactionChain};
use windlass_core::payout::vault::admin::ask::{self, Question};
use windlass_core::payout::vault::admin::refusal;
use windlass_core::payout::vault::{VaultAnswerError, answer, calldata};
use windlass_core::reader::BlockTag;

use crate::collect::endpoints::Endpoints;
use crate::config::Config;
use crate::config::chain::ChainName;
use crate::failure::Failure;
use crate::output;
use crate::pay::tokens::Tokens;

/// The most that is offered for a unit of gas where `[pay]` says nothing, in gwei.
const MAX_FEE_GWEI: u64 = 500;
/// Wei of a gwei.
const GWEI: u128 = 1_000_000_000;

/// A chain of the configuration.
pub(crate) struct Site {
    /// Its name.
    pub(crate) name: ChainName,
    /// Its id.
    pub(crate) id: ChainId,
    /// Its endpoints.
    pub(crate) chain: Arc<dyn TransactionChain>,
    /// The tokens that are known on it, if any are.
    pub(crate) tokens: Option<Tokens>,
    /// The most that is offered for a unit of gas, in wei.
    pub(crate) gas_cap: u128,
}

/// A vault on a chain.
pub(crate) struct Vault {
    /// The chain.
    pub(crate) site: Site,
    /// The vault.
    pub(crate) address: Address,
}

impl Site {
    /// The chain that was named, or that of `[pay]`, once its endpoints say that they serve it.
    pub(crate) async fn open(config: &Config, name: Option<&ChainName>) -> Result<Self, Failure> {
        let name = match (name, &config.pay) {
            (Some(name), _) => name,
            (None, Some(pay)) => &pay.chain,
            (None, None) => return Err(unnamed("--chain", "chain")),
        };
        let Some(chain) = config.chain.get(name) else {
            let known: Vec<String> = config.chain.keys().map(ToString::to_string).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(Failure::refused(format_args!("there is no `[chain.{name}]`"))
                .hint(format_args!("chains of the configuration: {known}")));
        };
        let endpoints = Endpoints::open(name, chain)?;
        endpoints.check_chain().await?;
        let pay = config.pay.as_ref().filter(|pay| pay.chain == *name);
        let gwei = pay.map_or(MAX_FEE_GWEI, |pay| pay.max_fee_gwei.get());
        Ok(Self {
            name: name.clone(),
            id: chain.id,
            chain: endpoints.pool,
            tokens: pay.map(|pay| Tokens::new(chain.id, pay)),
            gas_cap: u128::from(gwei) * GWEI,
        })
    }

    /// What a call returns at a block.
    pub(crate) async fn call(&self, to: Address, data: Bytes, at: BlockTag) -> Result<Bytes, Failure> {
        let call = Call { from: Address::ZERO, to: Some(to), data };
        match self.chain.call(&call, at).await? {
            CallOutcome::Returned(answer) => Ok(answer),
            CallOutcome::Reverted { data, message } => {
                Err(unusable(to, format_args!("it refuses to answer: {}", refusal::read(&data, &message))))
            }
        }
    }

    /// A token as it is known here.
    pub(crate) fn token(&self, address: Address) -> Option<&windlass_core::money::Token> {
        self.tokens.as_ref().and_then(|tokens| tokens.all().get(&address))
    }
}

impl Vault {
    /// The vault that was named, or that of `[pay]`, once it has answered as one.
    pub(crate) async fn open(
        config: &Config,
        chain: Option<&ChainName>,
        address: Option<Address>,
    ) -> Result<Self, Failure> {
        let site = Site::open(config, chain).await?;
        let configured = config.pay.as_ref().filter(|pay| pay.chain == site.name);
        let address = match (address, configured) {
            (Some(address), _) => address,
            (None, Some(pay)) => pay.vault.0,
            (None, None) => return Err(unnamed("--vault", "vault")),
        };
        let vault = Self { site, address };
        vault.ask(&ask::admin(), BlockTag::Latest).await?;
        Ok(vault)
    }

    /// The vault as the core names it.
    pub(crate) const fn reference(&self) -> VaultRef {
        VaultRef { chain: self.site.id, address: self.address }
    }

    /// Asks the vault something.
    pub(crate) async fn ask<T>(&self, question: &Question<T>, at: BlockTag) -> Result<T, Failure> {
        let answer = self.site.call(self.address, question.data.clone(), at).await?;
        self.read(question.read(&answer))
    }

    /// An answer of the vault's, or what is wrong with it.
    pub(crate) fn read<T>(&self, answer: Result<T, VaultAnswerError>) -> Result<T, Failure> {
        answer.map_err(|error| unusable(self.address, error))
    }

    /// What the vault holds of a token or of the chain's coin; `None` where the token does not tell.
    pub(crate) async fn balance(&self, token: Address, at: BlockTag) -> Result<Option<U256>, Failure> {
        if token == NATIVE_COIN {
            return Ok(Some(self.site.chain.balance(self.address, at).await?));
        }
        let call = Call { from: Address::ZERO, to: Some(token), data: calldata::balance_of(self.address) };
        Ok(match self.site.chain.call(&call, at).await? {
            CallOutcome::Returned(told) => answer::balance_of(&told).ok(),
            CallOutcome::Reverted { .. } => None,
        })
    }

    /// Whether the vault has functions that pay the chain's own coin: older ones have not.
    pub(crate) async fn pays_native_coin(&self) -> Result<bool, Failure> {
        let call = Call { from: Address::ZERO, to: Some(self.address), data: calldata::native_coin() };
        match self.site.chain.call(&call, BlockTag::Latest).await? {
            CallOutcome::Returned(told) => Ok(self.read(answer::native_coin(&told))? == NATIVE_COIN),
            CallOutcome::Reverted { .. } => Ok(false),
        }
    }

    /// Refuses the chain's own coin where the vault was deployed before it could pay that.
    pub(crate) async fn check_asset(&self, token: Address) -> Result<(), Failure> {
        if token != NATIVE_COIN || self.pays_native_coin().await? {
            return Ok(());
        }
        let message = format!(
            "{} cannot pay or withdraw the chain's own coin: it was deployed before vaults could",
            self.address
        );
        Err(Failure::coded(Code::VaultUnusable, message)
            .hint("deploy another vault with `windlass vault deploy`; send this one no coin"))
    }

    /// The time of the newest block, in seconds since 1970: the vault's clock.
    pub(crate) async fn now_s(&self) -> Result<u64, Failure> {
        let header = self.site.chain.header(BlockTag::Latest).await?;
        header.map(|header| header.block.timestamp_s).ok_or_else(|| {
            Failure::coded(Code::RpcFailed, "the endpoint does not tell its newest block")
                .hint("`windlass doctor` looks closer")
        })
    }
}

fn unusable(vault: Address, why: impl std::fmt::Display) -> Failure {
    Failure::coded(Code::VaultUnusable, format_args!("{vault} cannot be used as a vault: {why}")).hint(
        "check --vault and --chain, or `vault` and `chain` in `[pay]`; `windlass vault deploy` makes one",
    )
}

fn unnamed(flag: &str, what: &str) -> Failure {
    let message = format!("which {what} is meant is said nowhere: there is no {flag}, and no `[pay]` for it");
    Failure::coded(Code::PayMissing, message).hint(format_args!("give {flag}, or `{what}` in `[pay]`"))
}

/// An instant of the chain's, for people.
pub(crate) fn instant(at_s: u64) -> String {
    let at_ms = i64::try_from(at_s).unwrap_or(i64::MAX).saturating_mul(1_000);
    output::time::instant(windlass_core::time::Timestamp::from_ms(at_ms))
}
