//! `windlass key list`

use serde::Serialize;
use windlass_core::payout::ledger::{ApiKey, Forgery, ForgeryKind, LedgerRow, is_unreadable};

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output::table::{self, Side};
use crate::output::{self, time};
use crate::pay::refused;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A key, without what is secret or could be tried against it.
#[derive(Debug, Serialize)]
struct Listed {
    name: String,
    role: String,
    created_at: String,
    revoked_at: Option<String>,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let keys = store.list_api_keys().await;
    store.close().await;
    let (unreadable, keys): (Vec<ApiKey>, Vec<ApiKey>) = keys?.into_iter().partition(is_unreadable);
    let unreadable =
        unreadable.iter().map(|key| Forgery { row: key.row_id(), kind: ForgeryKind::Unreadable });
    refused::note(&unreadable.collect::<Vec<_>>());
    let listed: Vec<Listed> = keys
        .into_iter()
        .map(|key| Listed {
            name: key.name,
            role: key.role.to_string(),
            created_at: time::instant(key.created_at),
            revoked_at: key.revoked_at.map(time::instant),
        })
        .collect();
    if args.json {
        return Ok(output::json(&listed)?);
    }
    if listed.is_empty() {
        return Ok(output::print("no keys\n")?);
    }
    let header =
        [("name", Side::Left), ("role", Side::Left), ("created", Side::Left), ("revoked", Side::Left)];
    let rows = listed.into_iter().map(|key| {
        vec![key.name, key.role, key.created_at, key.revoked_at.unwrap_or_else(|| "-".to_owned())]
    });
    Ok(output::print(&table::render(&header, rows))?)
}
