//! `windlass pay`: what concerns paying as a whole.

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
    /// Compare the store with what the vault says it has paid, and mend the store
    Reconcile(reconcile::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Reconcile(args) => reconcile::run(args, global).await,
    }
}
