//! Paying: the vault, its tokens and limits against the rules, and the accounts that send.

use std::sync::Arc;

use windlass_core::chain::{Address, U256};
use windlass_core::code::Code;
use windlass_core::money::Token;
use windlass_core::payout::gas::{GasBalance, GasLevel, TYPICAL_GAS};
use windlass_core::payout::ledger::ChainIdentity;
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery, Payouts};
use windlass_core::payout::vault::admin::VaultRole;
use windlass_core::payout::vault::admin::ask::{self, TokenPolicy};
use windlass_core::payout::vault::{answer, calldata};
use windlass_core::reader::BlockTag;
use windlass_core::store::Store;
use windlass_engine::pay::identity::Known;
use windlass_engine::pay::ledger::Ledger;
use windlass_engine::pay::options::PayOptions;

use super::progress::Progress;
use super::report::Finding;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::config::pay::Pay;
use crate::config::signer::SignerName;
use crate::failure::Failure;
use crate::pay::{keys, known_chain, options, unattended, view};
use crate::vault::site::{Site, Vault};

/// A look at paying.
struct Look<'a> {
    config: &'a Config,
    options: PayOptions,
    vault: Vault,
    /// What is stored of payouts, where there is a database.
    ledger: Option<Arc<Ledger>>,
}

/// Looks at everything that paying takes; nothing where nothing is paid.
pub(super) async fn examine(config: &Config, progress: &Progress) -> Vec<Finding> {
    let Some(pay) = &config.pay else { return Vec::new() };
    progress.say("pay");
    let options = match options::read(config) {
        Ok(options) => options,
        Err(failure) => return vec![Finding::failed("pay", failure)],
    };
    // What is wrong with the database has findings of its own.
    let store = store::open(&config.database, Access::Look).await.ok();
    let key = options::audit_key(config);
    let ledger =
        store.as_ref().zip(key.as_ref().ok()).map(|(store, key)| Ledger::new(store.clone(), key.clone()));
    let mut findings = match &store {
        Some(store) => unattended(&**store, options.vault).await,
        None => Vec::new(),
    };
    findings.extend(key.err().map(|failure| Finding::failed("pay.audit_key", failure)));
    findings.extend(on_chain(config, pay, options, ledger).await);
    if let Some(store) = store {
        store.close().await;
    }
    findings
}

/// What the endpoints say. The chain comes first: on another one than that of the payouts everything
/// else is wrong because of it.
async fn on_chain(
    config: &Config,
    pay: &Pay,
    options: PayOptions,
    ledger: Option<Arc<Ledger>>,
) -> Vec<Finding> {
    let site = match Site::open(config, None).await {
        Ok(site) => site,
        Err(failure) => return vec![Finding::failed("pay.vault", failure)],
    };
    let known = match &ledger {
        Some(ledger) => known_chain::compare(&*site.chain, ledger, options.vault).await,
        None => Ok(None),
    };
    let other = match &known {
        Ok(Some((_, Known::Other(why)))) => Some(why.clone()),
        _ => None,
    };
    let vault = match (Vault::open(config, None, None).await, other) {
        (Ok(vault), _) => vault,
        (Err(_), Some(why)) => {
            return vec![Finding::failed("pay.chain", known_chain::without_vault(&why, options.vault))];
        }
        (Err(failure), None) => {
            let findings = chain(known).into_iter();
            return findings.chain([Finding::failed("pay.vault", failure)]).collect();
        }
    };
    let look = Look { config, options, vault, ledger };
    let mut findings: Vec<Finding> = chain(known).into_iter().collect();
    findings.push(look.paused().await);
    findings.push(look.risk_signer().await);
    for token in look.options.tokens.values() {
        findings.push(look.token(token).await);
    }
    for name in &pay.signers {
        findings.push(look.signer(name).await);
    }
    findings
}

/// Payouts that wait while no process pays from their vault.
async fn unattended(store: &dyn Store, configured: VaultRef) -> Vec<Finding> {
    match unattended::find(store, configured).await {
        Ok(found) => found
            .iter()
            .map(|one| Finding::failed("pay.payouts", unattended::failure(one, configured)))
            .collect(),
        Err(error) => vec![Finding::failed("pay.payouts", error)],
    }
}

/// The endpoints serve the chain that the vault is known on; nothing where none is known yet.
fn chain(known: Result<Option<(ChainIdentity, Known)>, Failure>) -> Option<Finding> {
    let subject = "pay.chain";
    let (identity, known) = match known {
        Ok(known) => known?,
        Err(failure) => return Some(Finding::failed(subject, failure)),
    };
    let blocks: Vec<String> = identity.blocks.iter().map(ToString::to_string).collect();
    let blocks = blocks.join(", ");
    Some(match known {
        Known::Same => Finding::ok(subject, format!("the vault's chain, by block {blocks}")),
        Known::Unknown => Finding::warning(
            subject,
            format!("no endpoint keeps block {blocks}: a chain that began anew would not be noticed"),
            "add an endpoint that keeps old headers to `rpc`",
        ),
        Known::Other(why) => {
            let message = format!("{why}; nothing is signed");
            Finding::failed(subject, Failure::coded(Code::FinalityViolated, message).hint(known_chain::HINT))
        }
    })
}

/// What was found, or why it could not be.
fn finding(subject: &str, found: Result<Finding, Failure>) -> Finding {
    found.unwrap_or_else(|failure| Finding::failed(subject, failure))
}

impl Look<'_> {
    /// What the payouts take that are approved and not signed yet: of the oldest thousand.
    async fn approved(&self, token: Address) -> Result<U256, Failure> {
        let Some(ledger) = &self.ledger else { return Ok(U256::ZERO) };
        let query = PayoutQuery {
            state: Some(PayoutState::Approved),
            token: Some(token),
            limit: MAX_PAYOUT_PAGE,
            ..PayoutQuery::default()
        };
        let payouts = ledger.list_payouts(&query).await?;
        Ok(payouts.iter().fold(U256::ZERO, |sum, payout| sum.saturating_add(payout.request.amount)))
    }

    /// Why an account signs nothing, if it was halted.
    async fn halted(&self, account: Address) -> Result<Option<String>, Failure> {
        let Some(ledger) = &self.ledger else { return Ok(None) };
        Ok(ledger.signer(self.options.vault.chain, account).await?.and_then(|row| row.halted))
    }

    async fn paused(&self) -> Finding {
        let subject = "pay.vault";
        let look = async {
            let told = self.vault.site.call(self.vault.address, calldata::paused(), BlockTag::Latest).await?;
            Ok(match self.vault.read(answer::paused(&told))? {
                false => Finding::ok(subject, format!("{} answers and is not paused", self.vault.address)),
                true => Finding::warning(
                    subject,
                    format!("{} is paused: payouts wait", self.vault.address),
                    "`windlass vault unpause`, once the reason is gone",
                ),
            })
        };
        finding(subject, look.await)
    }

    /// The vault's risk signer is the one whose key is configured.
    async fn risk_signer(&self) -> Finding {
        let subject = "pay.risk_signer";
        let look = async {
            let address = self.vault.address;
            let ask = |data| self.vault.site.call(address, data, BlockTag::Latest);
            let required =
                self.vault.read(answer::approval_required(&ask(calldata::approval_required()).await?))?;
            if !required {
                return Ok(Finding::ok(subject, "the vault asks for no approval"));
            }
            let wanted = self.vault.read(answer::risk_signer(&ask(calldata::risk_signer()).await?))?;
            let configured = match self.config.pay.as_ref().and_then(|pay| pay.risk_signer.as_ref()) {
                Some(name) => Some(keys::open(self.config, name).await?.address()),
                None => None,
            };
            match (wanted, configured) {
                (Some(wanted), Some(own)) if wanted == own => {
                    Ok(Finding::ok(subject, format!("approves as {own}")))
                }
                (None, _) => Err(unusable("the vault's risk signer was revoked: it pays nothing")
                    .hint("`windlass vault set-risk-signer` announces another")),
                (Some(wanted), _) => Err(unusable(format_args!(
                    "the vault wants approvals of {wanted}, whose key is not configured"
                ))
                .hint("name its `[signer.<name>]` as `risk_signer` in `[pay]`")),
            }
        };
        finding(subject, look.await)
    }

    /// The token is payable, the vault has some of it, and the vault's limits are no stricter than the rules.
    async fn token(&self, token: &Token) -> Finding {
        let subject = format!("pay.token.{}", token.symbol);
        let look = async {
            let contract = token.address();
            self.vault.check_asset(contract).await?;
            let policy = self.vault.ask(&ask::token_policy(contract), BlockTag::Latest).await?;
            if !policy.enabled {
                return Err(unusable(format_args!("the vault does not pay {}", token.symbol))
                    .hint(format_args!("`windlass vault set-limit --token {} …` enables it", token.symbol)));
            }
            let balance = self.vault.balance(contract, BlockTag::Latest).await?.ok_or_else(|| {
                unusable(format_args!("{contract} does not tell balances: it is no token"))
                    .hint(format_args!("correct `address` in `[pay.token.{}]`", token.symbol))
            })?;
            let holds = format!("the vault holds {}", view::shown(token, balance));
            if balance.is_zero() {
                return Ok(Finding::warning(&*subject, holds, "send the vault some, or payouts of it wait"));
            }
            let approved = self.approved(contract).await?;
            if approved > balance {
                let (takes, missing) = (view::shown(token, approved), view::shown(token, approved - balance));
                return Ok(Finding::warning(
                    &*subject,
                    format!("{holds}, and approved payouts take {takes}"),
                    &format!("send the vault {missing} more, or the last of them wait"),
                ));
            }
            Ok(match self.stricter_limit(token, contract, &policy) {
                Some(stricter) => Finding::warning(
                    &*subject,
                    format!("{holds}; {stricter}"),
                    "bring `[pay.risk]` and `windlass vault set-limit` into line",
                ),
                None => Finding::ok(&*subject, holds),
            })
        };
        finding(&subject, look.await)
    }

    /// Where the vault's limit is below that of the rules, so that what the rules let pass waits or fails.
    fn stricter_limit(&self, token: &Token, contract: Address, policy: &TokenPolicy) -> Option<String> {
        let limits = self.options.rules.limits_of(contract);
        let pairs = [
            ("of one payout", limits.max_per_request, policy.payout_limit),
            ("of a day", limits.max_daily_total, policy.day_limit),
        ];
        pairs.into_iter().find_map(|(what, rule, of_vault)| {
            let is_stricter = !of_vault.is_zero() && rule.is_none_or(|rule| rule > of_vault);
            let rule = rule.map_or("none".to_owned(), |rule| view::shown(token, rule));
            is_stricter.then(|| {
                format!("its limit {what} is {}, that of the rules {rule}", view::shown(token, of_vault))
            })
        })
    }

    /// The account opens, may pay, and has gas.
    async fn signer(&self, name: &SignerName) -> Finding {
        let subject = format!("pay.signer.{name}");
        let look = async {
            let account = keys::open(self.config, name).await?.address();
            let role = VaultRole::Operator;
            if !self.vault.ask(&ask::has_role(role.id(), account), BlockTag::Latest).await? {
                return Err(unusable(format_args!("{account} lacks the vault's role {role}"))
                    .hint(format_args!("`windlass vault grant operator {account}`, by the vault's admin")));
            }
            if let Some(why) = self.halted(account).await? {
                let message = format!("{account} is halted: {why}");
                return Err(Failure::coded(Code::SignerHalted, message).hint(format_args!(
                    "look at its transactions, then `windlass signer resume {name} --yes`"
                )));
            }
            let gas = self.gas(account).await?;
            let found = format!("{account} may pay, and {gas}");
            Ok(match gas.level() {
                GasLevel::Enough => Finding::ok(&*subject, found),
                GasLevel::Low => Finding::warning(&*subject, found, "send it more"),
                GasLevel::Short => {
                    return Err(Failure::coded(Code::SignerShortOfGas, format_args!("{account} {gas}"))
                        .hint("send it more of the chain's coin"));
                }
            })
        };
        finding(&subject, look.await)
    }

    async fn gas(&self, account: Address) -> Result<GasBalance, Failure> {
        let chain = &self.vault.site.chain;
        let balance: U256 = chain.balance(account, BlockTag::Latest).await?;
        let fees = chain.gas_fees().await?;
        Ok(GasBalance::new(balance, TYPICAL_GAS, fees.max_fee, self.options.warn_below_wei))
    }
}

fn unusable(what: impl std::fmt::Display) -> Failure {
    Failure::coded(Code::VaultUnusable, what)
}
