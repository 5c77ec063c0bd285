//! `windlass audit-log verify`

use std::str::FromStr;

use serde_json::json;
use windlass_core::chain::B256;
use windlass_core::code::Code;
use windlass_core::payout::audit::{AuditFault, AuditHead, AuditKey};
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE};
use windlass_core::store::Store;

use crate::cli::global::Global;
use crate::compose::store::{self, Access};
use crate::failure::Failure;
use crate::output::{self, human};
use crate::pay::options;

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
    let store = store::open(&loaded.config.database, Access::Look).await?;
    let verified = verify(&*store, &key, args.head.map(|head| head.0)).await;
    store.close().await;
    let head = match verified? {
        Ok(head) => head,
        Err(fault) => {
            if args.json {
                output::json(&json!({"is_whole": false, "fault": fault.to_string()}))?;
            }
            return Err(Failure::coded(Code::AuditBroken, format_args!("the audit log is broken: {fault}"))
                .hint("compare with a backup; with another `pay.audit_key` than it was written with no entry fits"));
        }
    };
    if args.json {
        return Ok(output::json(&json!({"is_whole": true, "entries": head.seq, "head": head}))?);
    }
    let entries = human::count(head.seq.unsigned_abs());
    output::print(&format!(
        "{entries} entries, each as it was written; the head is {}:{}\n",
        head.seq, head.mac
    ))?;
    if args.head.is_none() {
        output::note(
            "that nothing was cut off at the end shows only against a head that was kept elsewhere: --head",
        );
    }
    Ok(())
}

/// Follows the log from its first entry to the end that the store says it has.
async fn verify(
    store: &dyn Store,
    key: &AuditKey,
    published: Option<AuditHead>,
) -> Result<Result<AuditHead, AuditFault>, Failure> {
    // Read first: what is written meanwhile comes behind it.
    let end = store.audit_head().await?;
    let mut head = AuditHead::default();
    // Entries are counted from 1 on: what stands before was put there.
    let mut after = i64::MIN;
    loop {
        let query = AuditQuery { subject: None, after, limit: MAX_PAYOUT_PAGE };
        let rows = store.audit_rows(&query).await?;
        for row in &rows {
            after = row.seq;
            if row.seq < 1 {
                return Ok(Err(AuditFault::Altered(row.seq)));
            }
            let checked = key.follow(head, row).and_then(|next| {
                published.map_or(Ok(()), |published| published.check(row))?;
                Ok(next)
            });
            match checked {
                Ok(next) => head = next,
                Err(fault) => return Ok(Err(fault)),
            }
        }
        if rows.is_empty() {
            break;
        }
    }
    if head.seq < end.seq {
        return Ok(Err(AuditFault::Missing(head.seq + 1)));
    }
    let is_cut = published.is_some_and(|published| published.seq > head.seq);
    Ok(if is_cut { Err(AuditFault::Cut(published.map_or(0, |head| head.seq))) } else { Ok(head) })
}
