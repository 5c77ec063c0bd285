//! `windlass payout`: ask for payouts, approve them, look at them.

mod approve;
mod batch;
mod cancel;
mod create;
mod export;
mod filter;
mod list;
mod reject;
mod resend;
mod retry;
mod show;

pub(super) use create::{amount, key, request};

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
    /// Create a payout, or many from a CSV file
    Create(create::Args),
    /// List payouts, newest first
    List(list::Args),
    /// Export payouts for bookkeeping, as CSV, JSON lines or Parquet
    Export(export::Args),
    /// Show one payout with its approvals and transactions
    Show(show::Args),
    /// Approve payouts
    Approve(approve::Args),
    /// Reject a payout
    Reject(reject::Args),
    /// Cancel a payout that has not been signed
    Cancel(reject::Args),
    /// Create a new payout from a rejected or failed one
    Retry(retry::Args),
    /// Resend a final payment that a reorg removed
    Resend(resend::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::Create(args) => create::run(args, global).await,
        Verb::List(args) => list::run(args, global).await,
        Verb::Export(args) => export::run(args, global).await,
        Verb::Show(args) => show::run(args, global).await,
        Verb::Approve(args) => approve::run(args, global).await,
        Verb::Reject(args) => reject::run(args, global).await,
        Verb::Cancel(args) => cancel::run(args, global).await,
        Verb::Retry(args) => retry::run(args, global).await,
        Verb::Resend(args) => resend::run(args, global).await,
    }
}
