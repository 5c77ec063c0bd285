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
    /// Ask for a payout, or for many of a CSV file
    Create(create::Args),
    /// List payouts, newest first
    List(list::Args),
    /// Export payouts for bookkeeping, as CSV, JSON lines or Parquet
    Export(export::Args),
    /// Show one payout with its approvals and transactions
    Show(show::Args),
    /// Say yes to payouts
    Approve(approve::Args),
    /// Say no to a payout
    Reject(reject::Args),
    /// Take a payout back that nothing was signed for
    Cancel(reject::Args),
    /// Ask again for what was rejected or has failed
    Retry(retry::Args),
    /// Send a payment again that was final and that a reorg has removed
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
