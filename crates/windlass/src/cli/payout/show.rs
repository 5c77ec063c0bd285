//! `windlass payout show`

use std::sync::Arc;

use windlass_api::payout_json::{PayoutDetail, is_undecided};
use windlass_core::error::StoreError;
use windlass_core::payout::desk::DeskInfo;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::risk_report::RiskReport;
use windlass_core::payout::store::{AuditQuery, Payouts};
use windlass_core::store::Store;
use windlass_core::time::Timestamp;
use windlass_engine::pay::desk::risk_report;
use windlass_engine::pay::options::PayOptions;
use windlass_engine::pay::unattended::is_attended;

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output::{self, time};
use crate::pay::find::{self, PayoutName};
use crate::pay::options;
use crate::pay::tokens::Tokens;
use crate::pay::view::PayoutView;

/// The most entries of the audit log that are shown; `audit-log list` has all.
const MAX_TRAIL: u32 = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The payout's id, its first 8 or last 6 digits or more, or its key
    id: PayoutName,
    /// Include the audit entries
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
    let id = find::payout(&*ledger, &args.id).await?;
    let payout = ledger.payouts(&[id]).await?.pop();
    let payout = payout.ok_or_else(|| find::missing(format_args!("there is no payout {id}")))?;
    let needed = options.approvals.needed(payout.request.token, payout.request.amount);
    let tokens = Tokens::of(config)?;
    let info = DeskInfo { vault: options.vault, tokens: tokens.all().clone(), rules: options.rules.clone() };
    let report = match is_undecided(&payout, &info) {
        true => report(&*ledger, &options, &payout, store.now().await?).await?,
        false => None,
    };
    if args.json {
        let detail = PayoutDetail::read(&*ledger, tokens.all(), payout, needed, report).await?;
        return Ok(output::json(&detail)?);
    }
    let view = PayoutView {
        tokens: &tokens,
        approvals: ledger.approvals(&[id]).await?,
        approvals_needed: needed,
        transactions: PayoutView::transactions_of(&*ledger, id).await?,
        report,
        configured: options.vault,
        is_attended: is_attended(&**store, payout.request.vault).await?,
        payout,
    };
    let mut text = view.render();
    if args.trail {
        let query = AuditQuery { subject: Some(id.to_string()), after: 0, limit: MAX_TRAIL };
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

/// What the rules say. A day's sum that was tampered with is told, and hides nothing else.
async fn report(
    ledger: &dyn Payouts,
    options: &PayOptions,
    payout: &Payout,
    now: Timestamp,
) -> Result<Option<RiskReport>, Failure> {
    match risk_report(ledger, options, payout, now).await {
        Ok(report) => Ok(Some(report)),
        Err(error @ StoreError::Forged(_)) => {
            output::note(&format!("what the rules say is not known: {error}"));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}
