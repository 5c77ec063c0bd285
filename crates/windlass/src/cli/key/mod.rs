//! `windlass key`: keys of the API, which say who may do what with payouts.

mod create;
mod list;
mod revoke;

use clap::Subcommand;

use windlass_core::payout::ledger::Role;
use windlass_core::payout::store::Payouts;

use super::global::Global;
use crate::config::Config;
use crate::failure::Failure;
use crate::pay::caller::{Caller, Deed};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create an API key; it is shown once
    Create(create::Args),
    /// List API keys without their secrets
    List(list::Args),
    /// Revoke an API key permanently
    Revoke(revoke::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Create(args) => create::run(args, global).await,
        Verb::List(args) => list::run(args, global).await,
        Verb::Revoke(args) => revoke::run(args, global).await,
    }
}

/// Who stands in the log. As long as there is no admin's key, whoever reaches the database
/// and the log's key makes the first; from then on keys are an admin's to make, and who
/// has lost them all says so.
pub(super) async fn actor(
    config: &Config,
    ledger: &dyn Payouts,
    is_recovery: bool,
) -> Result<String, Failure> {
    let keys = ledger.list_api_keys().await?;
    let has_admin = keys.iter().any(|key| key.role == Role::Admin && key.revoked_at.is_none());
    if !has_admin || is_recovery {
        let is_plain = |user: &String| user.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let user = std::env::var("USER").ok().filter(|user| !user.is_empty() && is_plain(user));
        let user = user.as_deref().unwrap_or("unknown");
        let recovery = if has_admin { "/recovery" } else { "" };
        return Ok(format!("cli/{user}{recovery}"));
    }
    Caller::of(config, ledger).await?.may(Deed::Administer)
}

impl From<windlass_engine::pay::keyring::KeyringError> for Failure {
    fn from(error: windlass_engine::pay::keyring::KeyringError) -> Self {
        use windlass_engine::pay::keyring::KeyringError;
        match error {
            KeyringError::Store(error) => error.into(),
            error @ KeyringError::Name => Self::usage(error),
            error @ (KeyringError::Taken(_) | KeyringError::Missing(_) | KeyringError::Revoked(_)) => {
                Self::refused(error).hint("`windlass key list` shows what there is")
            }
        }
    }
}
