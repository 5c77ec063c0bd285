//! `windlass index resume`

use super::pause;
use crate::cli::global::Global;
use crate::config::index::IndexName;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index
    name: IndexName,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    pause::change(&args.name, global, false).await
}
