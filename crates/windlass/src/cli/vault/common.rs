//! Flags that many verbs share: where, and how.

use std::path::PathBuf;

use windlass_core::chain::Address;
use windlass_core::payout::vault::admin::AdminCall;

use crate::cli::global::Global;
use crate::config::Config;
use crate::config::address::parse_address;
use crate::config::chain::ChainName;
use crate::config::duration::HumanDuration;
use crate::config::signer::SignerName;
use crate::failure::Failure;
use crate::output;
use crate::vault::act::{self, How, Way};
use crate::vault::announced::Announcement;
use crate::vault::plan::Planned;
use crate::vault::site::Vault;

/// Where.
#[derive(Debug, clap::Args)]
pub(super) struct Where {
    /// Which chain, by its name in the configuration [default: that of `[pay]`]
    #[arg(long, value_name = "NAME", value_parser = chain_name)]
    chain: Option<ChainName>,
    /// The vault's address [default: that of `[pay]`]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    vault: Option<Address>,
}

impl Where {
    /// The vault, once it has answered as one.
    pub(super) async fn open(&self, config: &Config) -> Result<Vault, Failure> {
        Vault::open(config, self.chain.as_ref(), self.vault).await
    }
}

/// How.
#[derive(Debug, clap::Args)]
pub(super) struct HowArgs {
    /// Who sends: the name of a `[signer.<name>]` [default: the only one that neither pays nor approves]
    #[arg(long, value_name = "NAME", conflicts_with = "calldata")]
    signer: Option<SignerName>,
    /// Show what would be sent and what would become of it; send nothing
    #[arg(long, conflicts_with = "calldata")]
    dry_run: bool,
    /// Write a file for the Transaction Builder of a Safe; send nothing
    #[arg(long, value_name = "FILE")]
    calldata: Option<PathBuf>,
    /// With --dry-run or --calldata: the account or Safe that would send
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address, conflicts_with = "signer")]
    from: Option<Address>,
    /// Send with this nonce, in the place of what waits with it
    #[arg(long, value_name = "N", conflicts_with_all = ["dry_run", "calldata"])]
    nonce: Option<u64>,
    /// How long to wait for it to be in a block
    #[arg(long, value_name = "DURATION", default_value = "2m")]
    timeout: HumanDuration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl HowArgs {
    /// What it means, where nobody has to agree.
    pub(super) fn read(self) -> Result<How, Failure> {
        let way = match (self.calldata, self.dry_run) {
            (Some(file), _) => Way::Calldata { file, safe: self.from },
            (None, true) => Way::DryRun { from: self.from },
            (None, false) if self.from.is_some() => {
                return Err(Failure::usage("--from goes with --dry-run or --calldata")
                    .hint("what is sent is signed: name a signer with --signer"));
            }
            (None, false) => Way::Send,
        };
        let HumanDuration(timeout) = self.timeout;
        Ok(How { way, signer: self.signer, nonce: self.nonce, timeout, yes: None, json: self.json })
    }

    /// What it means, where somebody has to.
    pub(super) fn read_with(self, consent: &Consent) -> Result<How, Failure> {
        Ok(How { yes: Some(consent.yes), ..self.read()? })
    }
}

/// For what cannot be taken back, or is dangerous.
#[derive(Debug, clap::Args)]
pub(super) struct Consent {
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
}

/// A call that takes nothing but what was typed.
pub(super) async fn act(
    place: &Where,
    how: &How,
    global: &Global,
    call: &AdminCall,
    purpose: String,
) -> Result<(), Failure> {
    let loaded = global.load()?;
    let vault = place.open(&loaded.config).await?;
    let planned = Planned::call(&vault, call, purpose);
    act::run(&loaded.config, &vault.site, &planned, how).await.map(drop)
}

/// What is announced now, to be carried out later.
pub(super) struct Announced {
    pub(super) call: AdminCall,
    pub(super) what: Announcement,
    /// How the vault would tell it, if it were announced already.
    pub(super) same: String,
    pub(super) purpose: String,
}

/// Announces something.
pub(super) async fn announce(
    place: &Where,
    how: &How,
    global: &Global,
    announced: Announced,
    again: bool,
) -> Result<(), Failure> {
    let loaded = global.load()?;
    let vault = place.open(&loaded.config).await?;
    announce_at(&loaded.config, &vault, how, announced, again).await
}

/// The same, of a vault that is known.
pub(super) async fn announce_at(
    config: &Config,
    vault: &Vault,
    how: &How,
    announced: Announced,
    again: bool,
) -> Result<(), Failure> {
    let planned = Planned::call(vault, &announced.call, announced.purpose);
    how.agreed(&vault.site, &planned)?;
    if how.is_sending() && !again {
        announced.what.refuse_again(vault, &announced.same).await?;
    }
    if act::run(config, &vault.site, &planned, how).await?.is_some() {
        announced.what.say_when(vault).await?;
    }
    Ok(())
}

/// Carries out what was announced, if its time has come.
pub(super) async fn carry_out(
    place: &Where,
    how: &How,
    global: &Global,
    call: impl FnOnce(&Vault) -> Result<(AdminCall, Announcement), Failure>,
    purpose: String,
) -> Result<(), Failure> {
    let loaded = global.load()?;
    let vault = place.open(&loaded.config).await?;
    let (call, announced) = call(&vault)?;
    let planned = Planned::call(&vault, &call, purpose);
    how.agreed(&vault.site, &planned)?;
    match announced.require_ready(&vault).await {
        Err(failure) if how.is_sending() => return Err(failure),
        // What is only shown or written down may have its time still to come.
        Err(failure) => output::note(&format!("note: {}", failure.message)),
        Ok(()) => {}
    }
    act::run(&loaded.config, &vault.site, &planned, how).await.map(drop)
}

/// A chain's name.
pub(super) fn chain_name(text: &str) -> Result<ChainName, String> {
    ChainName::try_from(text.to_owned())
}
