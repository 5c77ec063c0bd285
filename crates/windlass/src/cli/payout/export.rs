//! `windlass payout export`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::payout::store::Payouts;
use windlass_core::store::Store;

use super::filter::Filter;
use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::export::payouts::PayoutExport;
use crate::export::target::Target;
use crate::export::{Format, Trouble};
use crate::failure::Failure;
use crate::output::{self, human};
use crate::pay::options;
use crate::pay::tokens::Tokens;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    filter: Filter,
    /// How rows are written
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
    /// Write to a file, a pipe or a device, not to standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file, if there is one
    #[arg(long, requires = "output")]
    force: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    args.format.check_output(args.output.as_deref())?;
    let loaded = global.load()?;
    let tokens = Tokens::of(&loaded.config)?;
    let query = args.filter.query(&tokens)?;
    let export = PayoutExport { query, format: args.format, tokens: &tokens };
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let written = write(&loaded.config, &store, &export, args.output.as_deref(), args.force).await;
    store.close().await;
    let rows = written?;
    if let Some(path) = args.output {
        let plural = if rows == 1 { "" } else { "s" };
        output::note(&format!("wrote {} payout{plural} to {}", human::count(rows), path.display()));
    }
    Ok(())
}

/// Writes everything; says how many payouts there were. Books are complete or not written: a file
/// from which payouts are missing, because their rows were tampered with, gets no name.
async fn write(
    config: &Config,
    store: &Arc<dyn Store>,
    export: &PayoutExport<'_>,
    output: Option<&Path>,
    force: bool,
) -> Result<u64, Failure> {
    let verified = options::verified(config, store).await?;
    let ledger: Arc<dyn Payouts> = match &verified {
        Some(ledger) => ledger.clone(),
        None => store.clone(),
    };
    let mut target = Target::open(output, force)?;
    let rows = match export.write(&*ledger, &mut target).await {
        Ok(rows) => rows,
        Err(Trouble::Output(error)) => return Err(target.trouble(error)),
        Err(Trouble::Store(error)) => return Err(error.into()),
        Err(Trouble::Other(failure)) => return Err(failure),
        Err(Trouble::TakenBack { block }) => {
            return Err(Failure::unexpected(format_args!("block {block} was taken back")));
        }
    };
    let refused = verified.map(|ledger| ledger.forgeries()).unwrap_or_default();
    if !refused.is_empty() {
        let message =
            format!("{} rows were tampered with and are missing from what was written", refused.len());
        return Err(Failure::coded(Code::RowForged, message)
            .details(refused.iter().take(10).map(ToString::to_string))
            .hint("`windlass audit-log verify` names every row that was tampered with"));
    }
    target.finish()?;
    Ok(rows)
}
