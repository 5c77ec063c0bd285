//! A new vault.

use windlass_core::chain::Address;
use windlass_core::payout::submit::CallOutcome;
use windlass_core::payout::vault::admin::ask;
use windlass_core::payout::vault::admin::code;
use windlass_core::payout::vault::admin::deploy::Deployment;
use windlass_core::payout::vault::{answer, calldata};
use windlass_core::reader::BlockTag;

use super::account::Account;
use super::act::{self, How, Way};
use super::artifact::Artifact;
use super::plan::Planned;
use super::safe;
use super::send;
use super::site::{Site, Vault};
use crate::config::Config;
use crate::failure::Failure;
use crate::output;

/// Whoever asks where a deployment is only tried: has never sent anything, on any chain.
const NOBODY: Address = Address::repeat_byte(0x57);

/// What a vault is to be made with; whoever deploys is the admin unless another is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// The admin.
    pub(crate) admin: Option<Address>,
    /// The rest; its admin is not used.
    pub(crate) rest: Deployment,
    /// Whether a second one is wanted right after a first.
    pub(crate) again: bool,
}

/// Puts a vault on a chain.
pub(crate) async fn run(config: &Config, site: &Site, wanted: Wanted, how: &How) -> Result<(), Failure> {
    let artifact = Artifact::read()?;
    let planned = |admin| {
        let deployment = Deployment { admin, ..wanted.rest };
        deployment.validate().map_err(Failure::usage)?;
        Ok::<_, Failure>(Planned::deployment(&deployment, &artifact.bytecode))
    };
    match (&how.way, wanted.admin) {
        (Way::Calldata { .. }, _) => Err(safe::no_factory()),
        (Way::DryRun { from: Some(from) }, admin) => {
            act::run(config, site, &planned(admin.unwrap_or(*from))?, how).await.map(drop)
        }
        (way, admin) => {
            // Wrong arguments are told before a key is opened.
            planned(admin.unwrap_or(NOBODY))?;
            let account = Account::open(config, site, how.signer.as_ref()).await?;
            let planned = planned(admin.unwrap_or(account.address()))?;
            if let Way::DryRun { .. } = way {
                return act::dry_run(site, &planned, how, (account.address(), Some(&account.name))).await;
            }
            send(site, &planned, how, &account, wanted.again).await
        }
    }
}

/// Sends it, after saying where it will be.
async fn send(
    site: &Site,
    planned: &Planned,
    how: &How,
    account: &Account,
    again: bool,
) -> Result<(), Failure> {
    let nonce = send::nonce_of(site, account.address(), how.nonce).await?;
    if !again {
        refuse_second(site, account.address(), nonce).await?;
    }
    let address = account.address().create(nonce);
    output::note(&format!("the vault will be at {address}"));
    let mined = act::send_from(site, planned, how, account, nonce).await?;
    let vault = mined.receipt.contract.unwrap_or(address);
    output::note(&format!(
        "name it in the configuration: `vault = \"{vault}\"` in `[pay]`; then enable tokens: windlass vault set-limit"
    ));
    Ok(())
}

/// Refuses a second vault where the account's last transaction made one: that is what happens
/// to one who lost the first answer.
async fn refuse_second(site: &Site, account: Address, nonce: u64) -> Result<(), Failure> {
    let Some(before) = nonce.checked_sub(1) else { return Ok(()) };
    let address = account.create(before);
    if site.chain.code(address, BlockTag::Latest).await?.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(format_args!("the last transaction of {account} made a contract, at {address}"))
        .hint("it may be the vault of this command, sent before: `windlass vault show --vault` tells; --again makes another"))
}

/// Whether a vault on a chain is the one that this binary carries, seen from a block. `None`
/// where the endpoint cannot try a deployment.
pub(crate) async fn is_carried(vault: &Vault, found: &[u8], block: u64) -> Result<Option<bool>, Failure> {
    let at = BlockTag::Number(block);
    // Who has which role is no part of the code.
    let deployment = Deployment {
        admin: NOBODY,
        operator: NOBODY,
        guardian: None,
        treasury: vault.ask(&ask::treasury(), at).await?,
        risk_signer: None,
        delay_s: vault.ask(&ask::delay_s(), at).await?,
    };
    let told = vault.site.call(vault.address, calldata::deployed_at_block(), at).await?;
    let deployed_at = vault.read(answer::deployed_at_block(&told))?;
    let own = code::own_values(vault.reference(), deployed_at);
    let planned = Planned::deployment(&deployment, &Artifact::read()?.bytecode);
    let mut is_same = None;
    // At two blocks: the number of one may be some other value of the contract's, such as its delay.
    for number in [block, block.saturating_sub(1)] {
        let tried = vault.site.chain.call(&planned.from(NOBODY), BlockTag::Number(number)).await;
        if let Ok(CallOutcome::Returned(left)) = tried {
            is_same = Some(is_same == Some(true) || code::is_same(&left, found, &own));
        }
    }
    Ok(is_same)
}
