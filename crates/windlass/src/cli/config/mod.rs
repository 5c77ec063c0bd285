//! `windlass config`: show, check and document the configuration.

mod check;
mod example;
mod schema;
mod show;

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
    /// Print what is in force and where each value came from; secrets are not shown
    Show(show::Args),
    /// Say whether the configuration is accepted, with every problem
    Check,
    /// Print the JSON Schema of the configuration
    Schema,
    /// Print a commented file that is accepted
    Example,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Show(args) => show::run(args, global),
        Verb::Check => check::run(global),
        Verb::Schema => schema::run(),
        Verb::Example => example::run(),
    }
}
