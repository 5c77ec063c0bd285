//! `windlass pay reconcile`

use windlass_core::code::Code;
use windlass_core::name::Owner;
use windlass_engine::pay::reconcile::Reconciled;

use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::failure::Failure;
use crate::output;
use crate::output::human::count;
use crate::pay::caller::Deed;
use crate::pay::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only what came since the last time, not from the vault's deployment on
    #[arg(long)]
    recent: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    output::log::start(&loaded.config.log);
    let session = Session::begin(&loaded.config, Deed::Operate).await?;
    let done = reconcile(&session, !args.recent).await;
    session.store.close().await;
    let done = done?;
    if args.json {
        output::json(&done)?;
    } else {
        output::print(&render(&done))?;
    }
    if done.contradictions > 0 {
        let message =
            format!("the vault tells otherwise than what is stored of {} requests", done.contradictions);
        return Err(Failure::coded(Code::VaultDiffers, message)
            .hint("the audit log names them: `windlass audit-log list`, action payout.contradicted"));
    }
    Ok(())
}

async fn reconcile(session: &Session, is_whole: bool) -> Result<Reconciled, Failure> {
    session.paying.check().await?;
    let owner = Owner::new(session.actor.clone()).map_err(unnamed)?;
    let auditor = session.paying.auditor(session.ledger.clone(), owner)?;
    Ok(auditor.reconcile(is_whole).await?)
}

fn render(done: &Reconciled) -> String {
    let mut text = format!(
        "compared {} events of the vault, up to block {}: {} payouts repaired in the store",
        count(done.events),
        done.through,
        count(done.repaired)
    );
    if done.unknown > 0 {
        text.push_str(&format!(", {} requests that this store does not know", count(done.unknown)));
    }
    if done.contradictions > 0 {
        text.push_str(&format!(", {} that cannot be repaired", count(done.contradictions)));
    }
    text.push('\n');
    text
}
