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
    /// Set up paying: keys, configuration and vault
    Init(Box<init::Args>),
    /// Compare the store with what the vault says it has paid, and mend the store
    Reconcile(reconcile::Args),
    /// Accept the chain that the endpoints serve in the place of the one that the vault is known on
    AcceptChain(accept_chain::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Init(args) => init::run(*args, global).await,
        Verb::Reconcile(args) => reconcile::run(args, global).await,
        Verb::AcceptChain(args) => accept_chain::run(args, global).await,
    }
}
