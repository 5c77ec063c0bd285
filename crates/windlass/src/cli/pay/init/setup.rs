//! The part of `pay init` that happens on the chain. On a test chain everything is done; on any
//! other, nothing is sent without a yes, and the commands that are left are printed.

use std::sync::Arc;
use std::time::Duration;

use windlass_core::chain::Address;
use windlass_core::code::Code;
use windlass_core::money::Token;
use windlass_core::payout::signer::Signer;
use windlass_core::payout::submit::NonceTag;
use windlass_core::payout::vault::admin::deploy::Deployment;
use windlass_core::payout::vault::admin::{AdminCall, VaultRole};
use windlass_core::reader::BlockTag;

use super::Args;
use super::faucet::{self, Faucet};
use super::steps::{self, Parties, Step};
use super::text::ADMIN;
use crate::config::Config;
use crate::failure::Failure;
use crate::output;
use crate::output::prompt::Prompt;
use crate::pay::{keys, options};
use crate::vault::account::Account;
use crate::vault::artifact::Artifact;
use crate::vault::plan::Planned;
use crate::vault::send::{self, Mined};
use crate::vault::site::{Site, Vault};
use crate::vault::trial::{self, Trial};

/// How long a new risk signer, a withdrawal and a hand-over wait.
pub(super) const DELAY: Duration = Duration::from_secs(48 * 60 * 60);
/// How long a receipt is waited for.
const MAX_WAIT: Duration = Duration::from_secs(120);

/// The chain, the accounts, and the key that sets the vault's rules.
struct Setup<'a> {
    config: &'a Config,
    site: Site,
    admin: Account,
    parties: Parties,
    treasury: Address,
    faucet: Option<Faucet>,
}

/// What is left to do on the chain; does nothing.
pub(super) async fn left(config: &Config, args: &Args) -> Result<Vec<String>, Failure> {
    let setup = Setup::open(config, args).await?;
    let steps = steps::left(config, &setup.site, &setup.parties).await?;
    Ok(steps.iter().map(|step| step.command(&setup.site, &setup.parties, setup.treasury)).collect())
}

/// Does what can be done on the chain; gives what is left.
pub(super) async fn run(config: &Config, args: &Args) -> Result<Vec<String>, Failure> {
    let setup = Setup::open(config, args).await?;
    let steps = steps::left(config, &setup.site, &setup.parties).await?;
    let is_agreed = setup.agree(&steps, args)?;
    let mut left = Vec::new();
    for step in steps {
        let is_done = setup.can_do(&step, is_agreed).await? && setup.perform(&step).await?;
        if !is_done {
            left.push(step.command(&setup.site, &setup.parties, setup.treasury));
        }
    }
    Ok(left)
}

impl<'a> Setup<'a> {
    async fn open(config: &'a Config, args: &Args) -> Result<Self, Failure> {
        let (pay, _) = options::section(config)?;
        let site = Site::open(config, Some(&pay.chain)).await?;
        let ops = pay.signers.first().ok_or_else(|| {
            Failure::coded(Code::SignerUnusable, "`pay.signers` names no account that could pay")
                .hint("name one: `signers = [\"ops\"]`")
        })?;
        let ops = keys::open(config, ops).await?.address();
        let risk: Option<Arc<dyn Signer>> = match &pay.risk_signer {
            Some(name) => Some(keys::open(config, name).await?),
            None => None,
        };
        let named = config.signer.keys().find(|name| name.to_string() == ADMIN);
        let admin = Account::open(config, &site, named).await?;
        let faucet = Faucet::find(&site).await?;
        let parties = Parties {
            vault: pay.vault.0,
            ops,
            risk: risk.map(|signer| signer.address()),
            admin: admin.address(),
        };
        let treasury = args.treasury.unwrap_or(parties.admin);
        Ok(Self { config, site, admin, parties, treasury, faucet })
    }

    /// Whether the admin may send: always on a test chain, and after a yes on any other.
    fn agree(&self, steps: &[Step], args: &Args) -> Result<bool, Failure> {
        let is_poor = steps.contains(&Step::Fund(ADMIN, self.parties.admin));
        if self.faucet.is_some() || args.yes {
            return Ok(!is_poor || self.faucet.is_some());
        }
        let asked: Vec<&Step> = steps.iter().filter(|step| step.is_transaction_of_admin()).collect();
        let Some(prompt) = Prompt::open().filter(|_| !asked.is_empty() && !is_poor) else { return Ok(false) };
        output::note(&format!("signer {ADMIN} would now send, on {}:", self.site.name));
        for step in asked {
            output::note(&format!("  {}", step.command(&self.site, &self.parties, self.treasury)));
        }
        prompt.confirm("send it")
    }

    async fn can_do(&self, step: &Step, is_agreed: bool) -> Result<bool, Failure> {
        Ok(match step {
            Step::Fund(..) | Step::MakeToken(_) => self.faucet.is_some(),
            step if step.is_transaction_of_admin() => is_agreed,
            Step::Fill(Token { contract: None, .. }) => self.faucet.is_some(),
            Step::Fill(token) if self.faucet.is_some() => {
                let planned = faucet::mint(token, self.parties.vault);
                matches!(trial::run(&self.site, &planned, self.admin.address()).await?, Trial::Taken(_))
            }
            _ => false,
        })
    }

    /// Performs a step; whether it was performed.
    async fn perform(&self, step: &Step) -> Result<bool, Failure> {
        match step {
            Step::Fund(name, account) => {
                let Some(faucet) = &self.faucet else { return Ok(false) };
                let sum = faucet.fund(&self.site, *account).await?;
                output::note(&format!("sent {sum} of the test chain's coin to {account} (signer {name})"));
            }
            Step::MakeToken(token) => {
                let address = token.address();
                self.expect_contract(address).await?;
                self.send(&faucet::make_token(token)?).await?;
                output::note(&format!("made the test token {} at {address}", token.symbol));
            }
            Step::Deploy => self.deploy().await?,
            Step::Grant(account) => {
                let call = AdminCall::GrantRole(VaultRole::Operator, *account);
                self.call(&call, &format!("give {} to {account}", VaultRole::Operator)).await?;
                output::note(&format!("gave {} to {account}", VaultRole::Operator));
            }
            Step::Enable(token, limits) => {
                let call = limits.call(token.address());
                self.call(&call, &format!("make {} payable", token.symbol)).await?;
                output::note(&format!("the vault pays {} within its limits", token.symbol));
            }
            Step::Fill(Token { contract: None, symbol, .. }) => {
                let Some(faucet) = &self.faucet else { return Ok(false) };
                let sum = faucet.fund(&self.site, self.parties.vault).await?;
                output::note(&format!("sent {sum} {symbol} of a development account to the vault"));
            }
            Step::Fill(token) => {
                self.send(&faucet::mint(token, self.parties.vault)).await?;
                output::note(&format!("minted {} to the vault", token.symbol));
            }
        }
        Ok(true)
    }

    async fn deploy(&self) -> Result<(), Failure> {
        let Parties { vault, ops, risk, admin } = self.parties;
        self.expect_contract(vault).await?;
        let deployment = Deployment {
            admin,
            operator: ops,
            guardian: None,
            treasury: self.treasury,
            risk_signer: risk,
            delay_s: DELAY.as_secs(),
        };
        deployment.validate().map_err(Failure::usage)?;
        self.send(&Planned::deployment(&deployment, &Artifact::read()?.bytecode)).await?;
        output::note(&format!("deployed the vault at {vault}"));
        Ok(())
    }

    async fn call(&self, call: &AdminCall, purpose: &str) -> Result<Mined, Failure> {
        let vault = Vault::open(self.config, Some(&self.site.name), Some(self.parties.vault)).await?;
        self.send(&Planned::call(&vault, call, purpose)).await
    }

    async fn send(&self, planned: &Planned) -> Result<Mined, Failure> {
        let account = self.admin.address();
        let nonce = send::nonce_of(&self.site, account, None).await?;
        let cost = trial::run(&self.site, planned, account).await?.taken(planned)?;
        send::run(&self.site, planned, &self.admin, (nonce, cost), MAX_WAIT).await
    }

    /// Makes sure that the admin's next contract gets the address that the configuration names.
    async fn expect_contract(&self, address: Address) -> Result<(), Failure> {
        let admin = self.admin.address();
        let nonce = self.site.chain.nonce(admin, NonceTag::Block(BlockTag::Latest)).await?;
        if admin.create(nonce) == address {
            return Ok(());
        }
        let message = format!(
            "there is no contract at {address}, and the next one of {admin} (signer {ADMIN}) would be at {}",
            admin.create(nonce)
        );
        Err(Failure::coded(Code::VaultUnusable, message).hint(
            "the account has sent something else since; name the address that exists, or that one, in the configuration",
        ))
    }
}
