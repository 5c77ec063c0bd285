//! `windlass audit-log accept`

use std::sync::Arc;

use serde_json::json;
use windlass_core::code::Code;
use windlass_core::commit::{Commit, Write};
use windlass_core::payout::audit::{AuditEntry, AuditKey};
use windlass_core::payout::ledger::PayWrite;
use windlass_core::store::Store;
use windlass_engine::pay::audit_check;
use windlass_engine::pay::head_file::HeadFile;
use windlass_engine::pay::ledger::Ledger;

use super::verify::unreadable;
use crate::cli::global::Global;
use crate::cli::key::actor;
use crate::compose::store::{self, Access};
use crate::config::Config;
use crate::failure::Failure;
use crate::output;
use crate::pay::options;

/// What is left to do once the log goes on.
const NEXT: &str =
    "make revocations, rejections and approvals again that were lost, then start the processes that pay";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Skip the confirmation: a backup was restored on purpose, and nothing that pays is running
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let key = options::audit_key(&loaded.config)?;
    let Some(file) = options::head_file(&loaded.config, &key) else {
        return Err(Failure::refused("no file outside the database keeps the end of the audit log")
            .hint("`pay.audit_head` names one"));
    };
    let store = store::open(&loaded.config.database, Access::Change).await?;
    let accepted = accept(&args, &loaded.config, &store, key, &file).await;
    store.close().await;
    accepted
}

async fn accept(
    args: &Args,
    config: &Config,
    store: &Arc<dyn Store>,
    key: AuditKey,
    file: &HeadFile,
) -> Result<(), Failure> {
    let head = match audit_check::follow(store, &key, None).await? {
        Ok(named) => named.head,
        // Only what is whole is gone on from.
        Err(fault) => {
            return Err(Failure::coded(Code::AuditBroken, format_args!("the audit log is broken: {fault}"))
                .hint("compare with a backup: a log that was altered is not accepted"));
        }
    };
    let kept = file.read().map_err(|error| unreadable(file, &error))?;
    let lost = kept.map_or(0, |kept| (kept.seq - head.seq).max(0));
    if !args.yes {
        let was = kept.map_or(0, |kept| kept.seq);
        let message = format!("the log ends at entry {}, and {was} entries were written", head.seq);
        return Err(Failure::coded(Code::AuditBroken, message).hint(
            "stop every process that pays or serves the API, then --yes; after it, make the revocations, rejections \
             and approvals again that are gone, before any process pays. Nothing is paid twice: the vault refuses it",
        ));
    }
    // By the log as it is now: what the file names besides is what is to be given up.
    let actor = actor(config, &*Ledger::new(store.clone(), key.clone()), false).await?;
    file.replace(head).map_err(|error| unreadable(file, &error))?;
    let entry = AuditEntry {
        actor,
        action: "audit.accepted".to_owned(),
        subject: "audit log".to_owned(),
        detail: json!({"head": head, "was": kept, "lost": lost}).to_string(),
        rows: String::new(),
    };
    let write = PayWrite::audit(key.clone(), vec![entry]);
    let ledger = Ledger::with_head_file(store.clone(), key, Some(file.clone()));
    ledger.commit(Commit::of(vec![Write::Pay(write)])).await?;
    if args.json {
        return Ok(output::json(&json!({"head": head, "was": kept, "lost": lost}))?);
    }
    Ok(output::print(&format!(
        "the log goes on from entry {}; {lost} entries are gone for good\nnext: {NEXT}\n",
        head.seq
    ))?)
}
