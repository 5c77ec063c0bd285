//! `windlass export`

use std::io::IsTerminal;
use std::path::PathBuf;

use super::global::Global;
use crate::compose::store::{self, Access};
use crate::config::index::IndexName;
use crate::export::bound::Bound;
use crate::export::target::Target;
use crate::export::{Export, Format};
use crate::failure::Failure;
use crate::output::{self, human};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which index
    name: IndexName,
    /// Which event, by name or signature; it can be left out where there is only one
    #[arg(long)]
    event: Option<String>,
    /// How rows are written
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
    /// From this block or time on, such as 78600000, 2025-11-01 or 2025-11-01T12:00:00Z
    #[arg(long, value_name = "BLOCK|TIME")]
    from: Option<Bound>,
    /// Up to this block, or before this time
    #[arg(long, value_name = "BLOCK|TIME")]
    to: Option<Bound>,
    /// Write to a file, not to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    if args.format == Format::Parquet && args.output.is_none() && std::io::stdout().is_terminal() {
        return Err(
            Failure::usage("Parquet is nothing to read on a terminal").hint("name a file with --output")
        );
    }
    let loaded = global.load()?;
    let export = Export {
        index: args.name.identifier().clone(),
        event: args.event,
        from: args.from,
        to: args.to,
        format: args.format,
    };
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let written = async {
        let mut target = Target::open(args.output.as_deref(), args.force)?;
        let rows = export.write(&*store, &mut target).await?;
        target.finish()?;
        Ok::<_, Failure>(rows)
    };
    let written = written.await;
    store.close().await;
    let rows = written?;
    if let Some(path) = args.output {
        let plural = if rows == 1 { "" } else { "s" };
        output::note(&format!("wrote {} row{plural} to {}", human::count(rows), path.display()));
    }
    Ok(())
}
