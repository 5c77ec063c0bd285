//! `windlass pay`: what concerns paying as a whole.

mod accept_chain;
mod init;
mod reconcile;

use clap::Subcommand;

use super::global::Global;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create signing keys, configuration and vault for payouts
    Init(Box<init::Args>),
    /// Compare the database with the vault's payments and repair the database
    Reconcile(reconcile::Args),
    /// Accept a replaced chain for a vault
    AcceptChain(accept_chain::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Init(args) => init::run(*args, global).await,
        Verb::Reconcile(args) => reconcile::run(args, global).await,
        Verb::AcceptChain(args) => accept_chain::run(args, global).await,
    }
}
