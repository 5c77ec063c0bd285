//! `windlass doctor`

use super::global::Global;
use crate::failure::Failure;
use crate::output::exit::Exit;
use crate::{doctor, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let report = doctor::examine(global.load()).await;
    if args.json {
        output::json(&report)?;
    } else {
        output::print(&report.render())?;
    }
    if report.has_failures() { Err(Failure::silent(Exit::No)) } else { Ok(()) }
}
