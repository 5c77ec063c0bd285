//! `windlass vault show`

use super::common::Where;
use crate::cli::global::Global;
use crate::failure::Failure;
use crate::output;
use crate::vault::show;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    place: Where,
    /// Leave out what only events tell: roles, whom it does not pay, tokens that are not configured
    #[arg(long)]
    no_events: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let vault = args.place.open(&loaded.config).await?;
    let state = show::read(&vault, !args.no_events).await?;
    if args.json {
        return Ok(output::json(&state)?);
    }
    Ok(output::print(&state.render())?)
}
