//! `windlass index`: look at what is collected, add to it, hold it up, take it away.

mod add;
mod drop;
pub(crate) mod inspect;
pub(crate) mod list;
mod misfits;
mod pause;
mod resume;
mod rewind;
pub(crate) mod section;
mod show;

pub(in crate::cli) use add::replace;

use clap::Subcommand;
use windlass_core::store::Store;

use super::global::Global;
use crate::collect::progress::{self, Known, Overview};
use crate::config::Config;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List indexes with their progress
    List(list::Args),
    /// Show one index with its tables
    Show(show::Args),
    /// List undecodable logs; they are kept as received
    Misfits(misfits::Args),
    /// Check an index and add it to the configuration file
    Add(add::Args),
    /// Pause an index
    Pause(pause::Args),
    /// Resume a paused index
    Resume(resume::Args),
    /// Delete the collected data of an index
    Drop(drop::Args),
    /// Delete everything of a chain above a block and collect it again
    Rewind(rewind::Args),
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    match args.verb {
        Verb::List(args) => list::run(args, global).await,
        Verb::Show(args) => show::run(args, global).await,
        Verb::Misfits(args) => misfits::run(args, global).await,
        Verb::Add(args) => add::run(args, global).await,
        Verb::Pause(args) => pause::run(args, global).await,
        Verb::Resume(args) => resume::run(args, global).await,
        Verb::Drop(args) => drop::run(args, global).await,
        Verb::Rewind(args) => rewind::run(args, global).await,
    }
}

/// How far everything is; with how fast it goes, where somebody is at work.
pub(super) async fn look(store: &dyn Store, config: &Config) -> Result<Overview, Failure> {
    let known = Known::of(config);
    let mut overview = progress::read(store, &known).await?;
    if overview.is_moving() {
        let mut paces = progress::rate::Paces::default();
        paces.fill_in(&mut overview, std::time::Duration::ZERO);
        tokio::time::sleep(BETWEEN_LOOKS).await;
        overview = progress::read(store, &known).await?;
        paces.fill_in(&mut overview, BETWEEN_LOOKS);
    }
    Ok(overview)
}

/// How long to wait for a second look: long enough to see something move.
const BETWEEN_LOOKS: std::time::Duration = std::time::Duration::from_secs(1);
