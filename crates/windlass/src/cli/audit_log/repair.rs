//! `windlass audit-log repair`

use serde_json::{Value, json};
use windlass_core::code::Code;
use windlass_core::payout::ledger::{Forgery, RowId};
use windlass_engine::pay::repair::{Repair, RepairAction, RepairError, Repairer};

use crate::cli::global::Global;
use crate::collect::ledger::unnamed;
use crate::failure::{Failure, store_hint};
use crate::output;
use crate::pay::caller::Deed;
use crate::pay::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The row, as the list of refused rows names it; without one, list them
    #[arg(value_parser = row)]
    row: Option<RowId>,
    /// Skip the confirmation
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn row(text: &str) -> Result<RowId, String> {
    RowId::from_key(text).map_err(|error| error.to_string())
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    output::log::start(&loaded.config.log);
    let deed = if args.row.is_some() && args.yes { Deed::Administer } else { Deed::Look };
    let session = Session::begin(&loaded.config, deed).await?;
    let done = async {
        let repairer = Repairer::new(session.ledger.clone(), &session.actor).map_err(unnamed)?;
        match &args.row {
            None => list(&args, &repairer).await,
            Some(row) => repair(&args, &repairer, row).await,
        }
    };
    let done = done.await;
    session.store.close().await;
    done
}

async fn list(args: &Args, repairer: &Repairer) -> Result<(), Failure> {
    let refused = repairer.refused().await.map_err(failed)?;
    if args.json {
        return Ok(output::json(&refused.iter().map(shown).collect::<Vec<_>>())?);
    }
    if refused.is_empty() {
        return Ok(output::print("every row is what the audit log says\n")?);
    }
    for forgery in &refused {
        output::print(&format!("{}\n  {forgery}\n", forgery.row.key()))?;
    }
    output::note(
        "put them right from a backup if there is one; otherwise `windlass audit-log repair ROW`, payouts first",
    );
    Ok(())
}

async fn repair(args: &Args, repairer: &Repairer, row: &RowId) -> Result<(), Failure> {
    if !args.yes {
        let Repair { forgery, action, next } = repairer.preview(row).await.map_err(failed)?;
        let does = match action {
            RepairAction::Removed => "this removes it",
            RepairAction::Rebuilt => "this makes it anew from what the audit log says",
        };
        let next = next.map_or_else(String::new, |next| format!("; then {next}"));
        return Err(Failure::coded(Code::RowForged, format_args!("{forgery}; {does}{next}"))
            .hint("a backup of the same time is better, if there is one; otherwise say --yes"));
    }
    let done = repairer.repair(row).await.map_err(failed)?;
    if args.json {
        let Repair { forgery, action, next } = &done;
        return Ok(output::json(
            &json!({"row": forgery.row.key(), "was": forgery.kind.as_str(), "action": action, "next": next}),
        )?);
    }
    let word = match done.action {
        RepairAction::Removed => "removed",
        RepairAction::Rebuilt => "made anew",
    };
    output::print(&format!("{} is {word}\n", row))?;
    if let Some(next) = done.next {
        output::print(&format!("next: {next}\n"))?;
    }
    Ok(())
}

fn shown(forgery: &Forgery) -> Value {
    json!({"row": forgery.row.key(), "kind": forgery.kind.as_str(), "message": forgery.to_string()})
}

fn failed(error: RepairError) -> Failure {
    match error {
        RepairError::Store(error) => {
            let code = error.code();
            Failure::coded(code, error).hint(store_hint(code))
        }
        RepairError::Name(error) => unnamed(error),
        error @ RepairError::Broken(_) => Failure::coded(Code::AuditBroken, error)
            .hint("compare with a backup: nothing is made anew from a log that was altered"),
        error @ RepairError::Sound(_) => {
            Failure::refused(error).hint("`windlass audit-log repair` lists what was refused")
        }
        error => {
            Failure::coded(Code::RowForged, error).hint("`windlass explain W0612` says what else can be done")
        }
    }
}
