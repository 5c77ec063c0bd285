//! `windlass audit-log list`

use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE};

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output::table::{self, Side};
use crate::output::{self, time};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only entries about this: a payout's id, an account, a key's name
    #[arg(long)]
    subject: Option<String>,
    /// Continue after this entry, the last of the previous page
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: i64,
    /// Maximum number of rows
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_PAYOUT_PAGE)))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let query = AuditQuery { subject: args.subject, after: args.after, limit: args.limit };
    let rows = store.audit_rows(&query).await;
    store.close().await;
    let rows = rows?;
    if args.json {
        return Ok(output::json(&rows)?);
    }
    if rows.is_empty() {
        return Ok(output::print("no entries\n")?);
    }
    let header = [
        ("entry", Side::Right),
        ("at", Side::Left),
        ("action", Side::Left),
        ("by", Side::Left),
        ("subject", Side::Left),
        ("detail", Side::Left),
    ];
    let cells = rows.iter().map(|row| {
        let entry = &row.entry;
        vec![
            row.seq.to_string(),
            time::instant(row.at),
            entry.action.clone(),
            entry.actor.clone(),
            entry.subject.clone(),
            entry.detail.clone(),
        ]
    });
    output::print(&table::render(&header, cells))?;
    if let Some(last) = rows.last().filter(|_| rows.len() as u64 == u64::from(args.limit)) {
        output::note(&format!("there may be more: --after {}", last.seq));
    }
    Ok(())
}
