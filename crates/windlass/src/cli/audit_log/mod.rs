//! `windlass audit-log`: what was done with payouts, and whether that was tampered with.

mod accept;
mod head;
mod list;
mod repair;
mod verify;

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
    /// Check every entry and every row that it names: states, approvals, keys, transactions
    Verify(verify::Args),
    /// List entries, oldest first
    List(list::Args),
    /// Print the log's end, to be kept elsewhere
    Head(head::Args),
    /// Go on from the log as it stands, after a backup was restored
    Accept(accept::Args),
    /// List rows that were refused, or put one right from what the log says
    Repair(repair::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Verify(args) => verify::run(args, global).await,
        Verb::List(args) => list::run(args, global).await,
        Verb::Head(args) => head::run(args, global).await,
        Verb::Accept(args) => accept::run(args, global).await,
        Verb::Repair(args) => repair::run(args, global).await,
    }
}
