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
    /// Verify every audit entry against the rows it names
    Verify(verify::Args),
    /// List entries, oldest first
    List(list::Args),
    /// Print the audit head, to be stored elsewhere
    Head(head::Args),
    /// Accept the audit log as it is after restoring a backup
    Accept(accept::Args),
    /// List refused rows, or repair one from the audit log
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
