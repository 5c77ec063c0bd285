//! `windlass payout show`

use std::sync::Arc;

use windlass_core::code::Code;
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::AuditQuery;
use windlass_core::store::Store;

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, time};
use crate::pay::options;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view::PayoutView;

/// The most entries of the audit log that are shown; `audit-log list` has all.
const MAX_TRAIL: u32 = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The payout's id
    #[arg(value_parser = Session::id)]
    id: PayoutId,
    /// With what the audit log says of it
    #[arg(long)]
    trail: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let done = show(&args, &loaded.config, &store).await;
    store.close().await;
    done
}

async fn show(args: &Args, config: &Config, store: &Arc<dyn Store>) -> Result<(), Failure> {
    let options = options::read(config)?;
    let ledger = options::looked_at(config, store).await?;
    let payout = ledger.payouts(&[args.id]).await?.pop().ok_or_else(|| {
        Failure::coded(Code::PayoutMissing, format_args!("there is no payout {}", args.id))
            .hint("`windlass payout list` shows what there is")
    })?;
    let needed = options.approvals.needed(payout.request.token, payout.request.amount);
    let view = PayoutView::read(&*ledger, &Tokens::of(config)?, payout, needed).await?;
    if args.json {
        return Ok(output::json(&view)?);
    }
    let mut text = view.render();
    if args.trail {
        let query = AuditQuery { subject: Some(args.id.to_string()), after: 0, limit: MAX_TRAIL };
        for row in store.audit_rows(&query).await? {
            let (at, entry) = (time::instant(row.at), &row.entry);
            text.push_str(&format!(
                "{:>6}  {at}  {}  {}  {}\n",
                row.seq, entry.action, entry.actor, entry.detail
            ));
        }
    }
    Ok(output::print(&text)?)
}
