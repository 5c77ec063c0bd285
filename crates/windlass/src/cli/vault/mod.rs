//! `windlass vault`: deploy a vault, look at it, set its rules.

mod accept_admin;
mod allow;
mod begin_admin;
mod cancel;
mod common;
mod deny;
mod deploy;
mod emergency_withdraw;
mod execute;
mod grant;
mod pause;
mod revoke;
mod revoke_risk_signer;
mod set_limit;
mod set_risk_signer;
mod show;
mod sweep;
mod unpause;

use clap::Subcommand;

use super::global::Global;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Whatever is sent is tried first, and its hash is printed before it leaves. What takes the delay of the vault is announced by one command and carried out by another."
)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Deploy a new vault
    Deploy(deploy::Args),
    /// Show a vault's state, roles and limits
    Show(show::Args),
    /// Pause payouts
    Pause(pause::Args),
    /// Unpause payouts
    Unpause(unpause::Args),
    /// Enable or disable a token and set its limits
    SetLimit(set_limit::Args),
    /// Add an account to the deny list
    Deny(deny::Args),
    /// Remove an account from the deny list
    Allow(allow::Args),
    /// Cancel a request or an announced operation
    Cancel(cancel::Args),
    /// Grant a role to an account
    Grant(grant::Args),
    /// Revoke a role from an account
    Revoke(revoke::Args),
    /// Announce another risk signer, or none
    SetRiskSigner(set_risk_signer::Args),
    /// Revoke the risk signer and pause the vault
    RevokeRiskSigner(revoke_risk_signer::Args),
    /// Announce another admin
    BeginAdmin(begin_admin::Args),
    /// Accept the admin role
    AcceptAdmin(accept_admin::Args),
    /// Sweep a token that is not configured for payouts
    Sweep(sweep::Args),
    /// Announce a withdrawal to the treasury
    EmergencyWithdraw(emergency_withdraw::Args),
    /// Execute an announced operation after its delay
    Execute(execute::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Deploy(args) => deploy::run(args, global).await,
        Verb::Show(args) => show::run(args, global).await,
        Verb::Pause(args) => pause::run(args, global).await,
        Verb::Unpause(args) => unpause::run(args, global).await,
        Verb::SetLimit(args) => set_limit::run(args, global).await,
        Verb::Deny(args) => deny::run(args, global).await,
        Verb::Allow(args) => allow::run(args, global).await,
        Verb::Cancel(args) => cancel::run(args, global).await,
        Verb::Grant(args) => grant::run(args, global).await,
        Verb::Revoke(args) => revoke::run(args, global).await,
        Verb::SetRiskSigner(args) => set_risk_signer::run(args, global).await,
        Verb::RevokeRiskSigner(args) => revoke_risk_signer::run(args, global).await,
        Verb::BeginAdmin(args) => begin_admin::run(args, global).await,
        Verb::AcceptAdmin(args) => accept_admin::run(args, global).await,
        Verb::Sweep(args) => sweep::run(args, global).await,
        Verb::EmergencyWithdraw(args) => emergency_withdraw::run(args, global).await,
        Verb::Execute(args) => execute::run(args, global).await,
    }
}
