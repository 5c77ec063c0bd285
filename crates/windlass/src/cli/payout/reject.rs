//! `windlass payout reject`, and what it shares with `cancel`.

use windlass_api::payout_json::PayoutBody;
use windlass_core::payout::desk::Reason;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::state::PayoutState;

use crate::cli::global::Global;
use crate::failure::Failure;
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::find::PayoutName;
use crate::pay::rule_names::readable;
use crate::pay::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The payout's id, its first 8 or last 6 digits or more, or its key
    id: PayoutName,
    /// The reason, recorded in the audit log
    #[arg(long, value_parser = reason)]
    reason: Reason,
    /// Show whether it could be ended, without ending it
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn reason(text: &str) -> Result<Reason, String> {
    Reason::new(text).map_err(|error| error.to_string())
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    end(&args, global, Ending::Reject).await
}

/// Who ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Somebody who says no.
    Reject,
    /// Whoever asked.
    Cancel,
}

/// Ends a payout that nothing was signed for.
pub(super) async fn end(args: &Args, global: &Global, ending: Ending) -> Result<(), Failure> {
    let loaded = global.load()?;
    let deed = if ending == Ending::Cancel { Deed::Operate } else { Deed::Approve };
    let session = Session::begin(&loaded.config, deed).await?;
    let ended = ended(args, &session, ending).await;
    session.store.close().await;
    let payout = ended?;
    if args.json {
        return Ok(output::json(&PayoutBody::new(session.tokens.all(), payout))?);
    }
    let text = match (args.dry_run, payout.state) {
        (true, PayoutState::Rejected) => format!("payout {} is REJECTED already\n", payout.id),
        (true, state) => format!("payout {} is {state} and would be REJECTED\n", payout.id),
        (false, state) => {
            let reason = readable(payout.reason.as_deref().unwrap_or_default());
            format!("payout {} is {state}: {reason}\n", payout.id)
        }
    };
    Ok(output::print(&text)?)
}

async fn ended(args: &Args, session: &Session, ending: Ending) -> Result<Payout, Failure> {
    let (desk, actor, id) = (&session.desk, &session.actor, session.payout_id(&args.id).await?);
    let ended = match (args.dry_run, ending) {
        (true, _) => desk.preview_reject(id).await,
        (false, Ending::Reject) => desk.reject(id, actor, &args.reason).await,
        (false, Ending::Cancel) => desk.cancel(id, actor, &args.reason).await,
    };
    Ok(ended?)
}
