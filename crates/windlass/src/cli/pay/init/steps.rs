//! What has to happen on the chain before the first payout, and what of it is left: found out by
//! asking the chain each time, so that a second run does only what the first one did not.

use windlass_core::chain::{Address, U256};
use windlass_core::code::Code;
use windlass_core::money::{NATIVE_COIN, Token};
use windlass_core::payout::vault::admin::{AdminCall, VaultRole, ask};
use windlass_core::payout::vault::{answer, calldata};
use windlass_core::reader::BlockTag;

use super::setup::DELAY;
use super::text::{ADMIN, OPS};
use crate::config::Config;
use crate::config::duration::HumanDuration;
use crate::failure::Failure;
use crate::pay::rules;
use crate::pay::tokens::Tokens;
use crate::vault::amount::shown_limit;
use crate::vault::site::Site;

/// Whether what an account has is enough is found out when it is spent; nothing is never enough.
const MIN_GAS: U256 = U256::ONE;

/// The accounts of the configuration, and the vault's address.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parties {
    pub(super) vault: Address,
    pub(super) ops: Address,
    pub(super) risk: Option<Address>,
    pub(super) admin: Address,
}

/// Something that is left to do on the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// An account has no gas.
    Fund(&'static str, Address),
    /// There is no contract at the token's address.
    MakeToken(Token),
    /// There is no contract at the vault's address.
    Deploy,
    /// The account that sends payouts may not.
    Grant(Address),
    /// The vault does not pay a token.
    Enable(Token, Limits),
    /// The vault has none of a token.
    Fill(Token),
}

/// What the vault pays at most; zero for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) per_payout: U256,
    pub(super) per_day: U256,
}

/// Everything that is left to do, in order.
pub(super) async fn left(config: &Config, site: &Site, parties: &Parties) -> Result<Vec<Step>, Failure> {
    let mut steps = Vec::new();
    for (name, account) in [(ADMIN, parties.admin), (OPS, parties.ops)] {
        if site.chain.balance(account, BlockTag::Latest).await? < MIN_GAS {
            steps.push(Step::Fund(name, account));
        }
    }
    let tokens = tokens(config)?;
    for (token, _) in &tokens {
        if let Some(contract) = token.contract
            && is_empty(site, contract).await?
        {
            steps.push(Step::MakeToken(token.clone()));
        }
    }
    let has_vault = !is_empty(site, parties.vault).await?;
    if !has_vault {
        steps.push(Step::Deploy);
    } else if !asked(site, parties.vault, &ask::has_role(VaultRole::Operator.id(), parties.ops)).await? {
        steps.push(Step::Grant(parties.ops));
    }
    for (token, limits) in tokens {
        let address = token.address();
        let is_enabled = has_vault && asked(site, parties.vault, &ask::token_policy(address)).await?.enabled;
        if !is_enabled {
            steps.push(Step::Enable(token.clone(), limits));
        }
        if !steps.contains(&Step::MakeToken(token.clone()))
            && balance(site, address, parties.vault).await? > U256::ZERO
        {
            continue;
        }
        steps.push(Step::Fill(token));
    }
    Ok(steps)
}

/// The tokens of the configuration, each with the limits that the vault is to have.
fn tokens(config: &Config) -> Result<Vec<(Token, Limits)>, Failure> {
    let Some(pay) = &config.pay else { return Ok(Vec::new()) };
    let all = Tokens::of(config)?;
    let (rules, _) = rules::read(pay, &all);
    let limits = |address: &Address| {
        let limits = rules.risk.limits_of(*address);
        let [per_payout, per_day] =
            [limits.max_per_request, limits.max_daily_total].map(Option::unwrap_or_default);
        Limits { per_payout, per_day }
    };
    Ok(all.all().iter().map(|(address, token)| (token.clone(), limits(address))).collect())
}

async fn is_empty(site: &Site, address: Address) -> Result<bool, Failure> {
    Ok(site.chain.code(address, BlockTag::Latest).await?.is_empty())
}

async fn asked<T>(site: &Site, vault: Address, question: &ask::Question<T>) -> Result<T, Failure> {
    let returned = site.call(vault, question.data.clone(), BlockTag::Latest).await?;
    question.read(&returned).map_err(|error| {
        Failure::coded(Code::VaultUnusable, format_args!("{vault} is no vault: {error}"))
            .hint("correct `vault` in `[pay]`")
    })
}

async fn balance(site: &Site, token: Address, owner: Address) -> Result<U256, Failure> {
    if token == NATIVE_COIN {
        return Ok(site.chain.balance(owner, BlockTag::Latest).await?);
    }
    let returned = site.call(token, calldata::balance_of(owner), BlockTag::Latest).await?;
    answer::balance_of(&returned).map_err(|error| {
        Failure::coded(Code::VaultUnusable, format_args!("{token} is no token: {error}"))
            .hint("correct `address` in `[pay.token.<symbol>]`")
    })
}

impl Limits {
    /// The call that puts them in force.
    pub(super) fn call(self, token: Address) -> AdminCall {
        let Self { per_payout, per_day } = self;
        AdminCall::SetToken { token, enabled: true, payout_limit: per_payout, day_limit: per_day }
    }
}

impl Step {
    /// What a person does about it: a command as it is typed, or a sentence.
    pub(super) fn command(&self, site: &Site, parties: &Parties, treasury: Address) -> String {
        let Parties { vault, ops, risk, .. } = parties;
        let chain = &site.name;
        match self {
            Self::Fund(name, account) => {
                format!("send some of {chain}'s coin for gas to {account} (signer {name})")
            }
            Self::MakeToken(token) => {
                let address = token.address();
                format!("correct `[pay.token.{}]`: there is no contract at {address}", token.symbol)
            }
            Self::Deploy => {
                let risk = risk.map_or_else(String::new, |risk| format!(" --risk-signer {risk}"));
                let delay = HumanDuration(DELAY);
                format!(
                    "windlass vault deploy --chain {chain} --signer {ADMIN} --operator {ops} --treasury {treasury}{risk} --delay {delay}"
                )
            }
            Self::Grant(account) => format!("windlass vault grant operator {account} --signer {ADMIN}"),
            Self::Enable(token, limits) => {
                let limit =
                    |units| shown_limit(Some(token), units).replace(&format!(" {}", token.symbol), "");
                format!(
                    "windlass vault set-limit --signer {ADMIN} --token {} --per-payout {} --per-day {}",
                    token.symbol,
                    limit(limits.per_payout),
                    limit(limits.per_day)
                )
            }
            Self::Fill(token) => format!("send some {} to the vault, {vault}", token.symbol),
        }
    }

    /// Whether the admin sends it.
    pub(super) fn is_transaction_of_admin(&self) -> bool {
        matches!(self, Self::Deploy | Self::Grant(_) | Self::Enable(..))
    }
}
