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
    /// Print the effective values and their origins, without secrets
    Show(show::Args),
    /// Check the configuration and report every problem
    Check,
    /// Print the JSON Schema of the configuration
    Schema,
    /// Print a commented example configuration
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
