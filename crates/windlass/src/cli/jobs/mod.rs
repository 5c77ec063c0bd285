//! `windlass jobs`: look at jobs, and retry those that were given up.

mod dead;
mod list;
mod page;
mod retry;
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
    /// List open jobs
    List(page::PageArgs),
    /// List dead jobs
    Dead(page::PageArgs),
    /// Show one job
    Show(show::Args),
    /// Requeue dead jobs at the end of their lanes
    Retry(retry::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::List(args) => list::run(args, global).await,
        Verb::Dead(args) => dead::run(args, global).await,
        Verb::Show(args) => show::run(args, global).await,
        Verb::Retry(args) => retry::run(args, global).await,
    }
}
