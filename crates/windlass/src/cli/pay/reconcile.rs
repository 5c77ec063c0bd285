//! `windlass pay reconcile`

use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_engine::pay::reconcile::Reconciled;
use windlass_engine::pay::reconcile::recheck::Recheck;

use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::failure::Failure;
use crate::output;
use crate::output::human::count;
use crate::pay::caller::Deed;
use crate::pay::session::Session;
use crate::pay::tokens::Tokens;
use crate::pay::view;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what came since the last time, not from the vault's deployment on
    #[arg(long)]
    recent: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What came of comparing both ways.
#[derive(Debug, serde::Serialize)]
struct Compared {
    #[serde(flatten)]
    events: Reconciled,
    /// How many payments that are stored as final the vault does not know.
    gone: usize,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    output::log::start(&loaded.config.log);
    let session = Session::begin(&loaded.config, Deed::Operate).await?;
    let done = reconcile(&session, !args.recent).await;
    session.store.close().await;
    let compared = done?;
    if args.json {
        output::json(&compared)?;
    } else {
        output::print(&render(&compared, &session.tokens))?;
    }
    let Compared { events: done, gone } = compared;
    if gone > 0 {
        let message = format!("the vault does not know {gone} payments that are stored as final");
        return Err(Failure::coded(Code::VaultDiffers, message)
            .hint("`windlass payout list --state confirmed` gives each with what to do"));
    }
    if done.contradictions > 0 {
        let message =
            format!("the vault tells otherwise than what is stored of {} requests", done.contradictions);
        return Err(Failure::coded(Code::VaultDiffers, message)
            .hint("the audit log names them: `windlass audit-log list`, action payout.contradicted"));
    }
    if done.unknown > 0 {
        let message =
            format!("the vault has {} payments or cancellations that no payout is stored for", done.unknown);
        return Err(Failure::coded(Code::VaultDiffers, message).hint(
            "who else sends from this vault? After a backup was put back, they are payouts that it has lost",
        ));
    }
    Ok(())
}

async fn reconcile(session: &Session, is_whole: bool) -> Result<Compared, Failure> {
    session.paying.check_with(&session.ledger).await?;
    let owner = Owner::new(session.actor.clone()).map_err(unnamed)?;
    let auditor = session.paying.auditor(session.ledger.clone(), owner)?;
    let events = auditor.reconcile(is_whole).await?;
    let mut recheck = Recheck::new(auditor);
    let done = if is_whole { recheck.whole().await? } else { recheck.step().await? };
    Ok(Compared { events, gone: done.gone })
}

fn render(Compared { events: done, gone }: &Compared, tokens: &Tokens) -> String {
    let mut text = format!(
        "compared {} events of the vault, up to block {}: {} payouts repaired in the store",
        count(done.events),
        done.through,
        count(done.repaired)
    );
    if done.unknown > 0 {
        text.push_str(&format!(", {} requests that no payout is stored for", count(done.unknown)));
    }
    if done.contradictions > 0 {
        text.push_str(&format!(", {} that cannot be repaired", count(done.contradictions)));
    }
    if done.disputed > 0 {
        text.push_str(&format!(", {} on which the endpoints do not agree", count(done.disputed)));
    }
    if *gone > 0 {
        text.push_str(&format!(", {} final payments that the vault does not know", count(*gone as u64)));
    }
    text.push('\n');
    for payment in &done.unknown_payments {
        let amount = payment.amount.parse().unwrap_or_default();
        let amount = view::amount(tokens, payment.token, amount);
        text.push_str(&format!(
            "  {amount} to {} by {} in block {}, request {}\n",
            payment.to, payment.transaction, payment.block, payment.request_id
        ));
    }
    text
}
