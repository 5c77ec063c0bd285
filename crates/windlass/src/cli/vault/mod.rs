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
    /// Put a new vault on a chain
    Deploy(deploy::Args),
    /// Show everything that there is to know of a vault
    Show(show::Args),
    /// Stop payouts
    Pause(pause::Args),
    /// Let payouts go on
    Unpause(unpause::Args),
    /// Make a token payable or not, and set its limits
    SetLimit(set_limit::Args),
    /// Refuse to pay an account
    Deny(deny::Args),
    /// Pay an account again
    Allow(allow::Args),
    /// Make sure that a request is never paid, or drop what was announced
    Cancel(cancel::Args),
    /// Give an account a role
    Grant(grant::Args),
    /// Take a role from an account
    Revoke(revoke::Args),
    /// Announce another risk signer, or none
    SetRiskSigner(set_risk_signer::Args),
    /// Take the risk signer's power at once, and pause
    RevokeRiskSigner(revoke_risk_signer::Args),
    /// Announce another admin
    BeginAdmin(begin_admin::Args),
    /// Take the admin's role over
    AcceptAdmin(accept_admin::Args),
    /// Send on a token that came here by mistake
    Sweep(sweep::Args),
    /// Announce a withdrawal to the treasury
    EmergencyWithdraw(emergency_withdraw::Args),
    /// Carry out what was announced, once its time has come
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
