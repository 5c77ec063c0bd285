//! `windlass signer`: keys that sign, and the accounts they are of.

mod create;
mod list;
mod resume;

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
    /// Create a signing key in a keystore file
    Create(create::Args),
    /// Open every configured signing key and show its account
    List(list::Args),
    /// Resume a halted signer
    Resume(resume::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Create(args) => create::run(args).await,
        Verb::List(args) => list::run(args, global).await,
        Verb::Resume(args) => resume::run(args, global).await,
    }
}
