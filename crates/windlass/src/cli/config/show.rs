//! `windlass config show`

use crate::cli::global::Global;
use crate::config::render;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let settings = render::settings(&global.load()?).map_err(std::io::Error::other)?;
    if args.json {
        return Ok(output::json(&settings)?);
    }
    Ok(output::print(&render::toml_text(&settings))?)
}
