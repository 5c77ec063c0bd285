//! `windlass audit-log head`

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let head = store.audit_head().await;
    store.close().await;
    let head = head?;
    if args.json {
        return Ok(output::json(&head)?);
    }
    Ok(output::print(&format!("{}:{}\n", head.seq, head.mac))?)
}
