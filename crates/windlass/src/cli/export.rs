//! `windlass export`

use std::path::{Path, PathBuf};

use windlass_core::code::Code;
use windlass_core::store::Store;

use super::global::Global;
use crate::compose::store::{self, Access};
use crate::config::index::IndexName;
use crate::export::bound::Bound;
use crate::export::target::Target;
use crate::export::{Export, Format, Trouble};
use crate::failure::Failure;
use crate::output::{self, human};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The index
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
    /// Write to a file, a pipe or a device, not to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file, if there is one
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    args.format.check_output(args.output.as_deref())?;
    if args.from.zip(args.to).is_some_and(|(from, to)| from.is_behind(to)) {
        return Err(Failure::usage("nothing lies between --from and --to")
            .hint("--from comes first; a block given with --to is included, a time is not"));
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
    let written = write(&*store, &export, args.output.as_deref(), args.force).await;
    store.close().await;
    let rows = written?;
    if let Some(path) = args.output {
        let plural = if rows == 1 { "" } else { "s" };
        output::note(&format!("wrote {} row{plural} to {}", human::count(rows), path.display()));
    }
    Ok(())
}

/// A file is begun anew so often when the chain takes back what is in it.
const MAX_TRIES: u32 = 5;

/// Writes everything; says how many rows there were.
async fn write(
    store: &dyn Store,
    export: &Export,
    output: Option<&Path>,
    force: bool,
) -> Result<u64, Failure> {
    let table = export.table(store).await?;
    let mut tries = 1;
    loop {
        let mut target = Target::open(output, force)?;
        match export.write(store, table.clone(), &mut target).await {
            Ok(rows) => return target.finish().map(|()| rows),
            Err(Trouble::Store(error)) => return Err(error.into()),
            Err(Trouble::Output(error)) => return Err(target.trouble(error)),
            Err(Trouble::Other(failure)) => return Err(failure),
            // What was not finished is gone with its target.
            Err(Trouble::TakenBack { block }) if target.is_file() && tries < MAX_TRIES => {
                output::note(&format!(
                    "the chain has taken back blocks up to {block} that were written; the file is begun anew"
                ));
                tries += 1;
            }
            Err(Trouble::TakenBack { block }) => return Err(taken_back(block)),
        }
    }
}

/// What was written so far has rows that the chain does not have any more.
fn taken_back(block: u64) -> Failure {
    let what = format!("the chain has taken back blocks up to {block} while they were exported");
    Failure::coded(Code::TakenBack, what).hint(
        "what was written is not to be used; export again: a file named with --output is begun anew by itself, and blocks that are final (--to) are never taken back",
    )
}
