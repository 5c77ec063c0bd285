//! `windlass audit-log verify`

use std::str::FromStr;
use std::sync::Arc;

use serde_json::json;
use windlass_core::chain::B256;
use windlass_core::code::Code;
use windlass_core::payout::audit::{AuditFault, AuditHead, AuditKey};
use windlass_core::store::Store;
use windlass_engine::pay::audit_check;
use windlass_engine::pay::head_file::HeadFile;

use super::repair::RepairCommand;
use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output::{self, human};
use crate::pay::options;

/// How many rows that differ are shown; all of them with --json.
const MAX_SHOWN: usize = 100;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A head that was kept elsewhere, as `audit-log head` prints it: the log has to hold it
    #[arg(long, value_name = "NUMBER:CODE")]
    head: Option<PublishedHead>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A head as it is typed.
#[derive(Debug, Clone, Copy)]
struct PublishedHead(AuditHead);

impl FromStr for PublishedHead {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, &'static str> {
        let wrong = "a head is an entry's number, a colon and its code of 64 hexadecimal digits";
        let (seq, mac) = text.split_once(':').ok_or(wrong)?;
        let seq = seq.parse::<i64>().ok().filter(|seq| *seq > 0).ok_or(wrong)?;
        let mac: B256 = mac.parse().map_err(|_| wrong)?;
        Ok(Self(AuditHead { seq, mac }))
    }
}

pub(crate) async fn run(args: Args, global: &Global) -> Result<(), Failure> {
    let loaded = global.load()?;
    let key = options::audit_key(&loaded.config)?;
    let kept = options::head_file(&loaded.config, &key);
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let repairs = RepairCommand::new(global);
    let verified = verify(&args, &store, (&key, kept.as_ref()), &repairs).await;
    store.close().await;
    verified
}

async fn verify(
    args: &Args,
    store: &Arc<dyn Store>,
    (key, file): (&AuditKey, Option<&HeadFile>),
    repairs: &RepairCommand,
) -> Result<(), Failure> {
    let kept = match (args.head, file) {
        (Some(head), _) => Some(head.0),
        (None, Some(file)) => file.read().map_err(|error| unreadable(file, &error))?,
        (None, None) => None,
    };
    let named = match audit_check::follow(store, key, kept).await? {
        Ok(named) => named,
        Err(fault) => {
            if args.json {
                output::json(&json!({"is_whole": false, "fault": fault.to_string(), "rows": []}))?;
            }
            return Err(broken(fault));
        }
    };
    let head = named.head;
    let compared = audit_check::compare(store, key, named).await?;
    let differing: Vec<String> = compared.forgeries.iter().map(ToString::to_string).collect();
    let commands: Vec<String> = compared.forgeries.iter().map(|forgery| repairs.of(&forgery.row)).collect();
    if args.json {
        let is_whole = differing.is_empty();
        output::json(&json!({
            "is_whole": is_whole, "entries": head.seq, "head": head, "compared": compared.rows, "rows": differing,
            "repairs": commands,
        }))?;
    } else {
        let (entries, rows) = (human::count(head.seq.unsigned_abs()), human::count(compared.rows));
        output::print(&format!(
            "{entries} entries, each as it was written; {rows} rows compared with them; the head is {}:{}\n",
            head.seq, head.mac
        ))?;
        let shown = differing.iter().zip(&commands).take(MAX_SHOWN);
        for (row, command) in shown {
            output::print(&format!("  {row}\n    {command}\n"))?;
        }
        if kept.is_none() {
            output::note(
                "that nothing was cut off at the end shows only against a head that was kept elsewhere: --head",
            );
        }
    }
    match differing.len() {
        0 => Ok(()),
        count => {
            let message = format!("{count} rows are not what the audit log says");
            Err(Failure::coded(Code::RowForged, message)
                .hint("somebody else has written to the database: put the rows back from a backup, or let an admin run the command below each row, payouts first"))
        }
    }
}

fn broken(fault: AuditFault) -> Failure {
    let hint = match fault {
        AuditFault::Cut(_) => {
            "if a backup was restored on purpose: look at what was lost, then `windlass audit-log accept`"
        }
        _ => "compare with a backup; with another `pay.audit_key` than it was written with no entry fits",
    };
    Failure::coded(Code::AuditBroken, format_args!("the audit log is broken: {fault}")).hint(hint)
}

/// The file outside the database cannot be read.
pub(super) fn unreadable(file: &HeadFile, error: &std::io::Error) -> Failure {
    Failure::coded(Code::AuditBroken, format_args!("`{}` cannot be read: {error}", file.path().display()))
        .hint("it is where the end of the audit log is kept: let this user read it, or correct `pay.audit_head`")
}
