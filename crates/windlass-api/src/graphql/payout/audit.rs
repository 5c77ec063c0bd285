//! The log of what was done.

use async_graphql::{Json, Result, SimpleObject};
use serde_json::Value;
use windlass_core::payout::audit::{AuditHead, AuditRow};

use super::connection::{Page, connection, cursor};
use super::node::seconds;
use crate::payouts::read::PageOf;

/// Something that was done.
#[derive(Debug, SimpleObject)]
#[graphql(name = "AuditEntry")]
pub(crate) struct AuditNode {
    /// Its number, from 1 on without a gap.
    seq: String,
    at: String,
    /// Who did it: a key's name, a worker.
    actor: String,
    /// What, such as `payout.approved`.
    action: String,
    /// To what: a payout's id, a signer.
    subject: String,
    detail: Json<Value>,
    /// The code over this entry and the one before.
    mac: String,
}

/// The end of the log: kept elsewhere, it shows if the end is ever cut off.
#[derive(Debug, SimpleObject)]
pub(crate) struct AuditEnd {
    /// The number of the last entry; 0 before the first.
    seq: String,
    mac: String,
}

pub(crate) type AuditPage = Page<AuditNode>;

impl AuditNode {
    /// A page of entries.
    pub(super) fn page(page: PageOf<AuditRow>, is_behind: bool) -> Result<AuditPage> {
        connection(page, is_behind, |row| Ok((cursor("seq", row.seq), row.into())))
    }
}

impl From<AuditRow> for AuditNode {
    fn from(row: AuditRow) -> Self {
        // What is no JSON, which nobody here has written, is shown all the same.
        let detail = serde_json::from_str(&row.entry.detail).unwrap_or(Value::String(row.entry.detail));
        Self {
            seq: row.seq.to_string(),
            at: seconds(row.at),
            actor: row.entry.actor,
            action: row.entry.action,
            subject: row.entry.subject,
            detail: Json(detail),
            mac: row.mac.to_string(),
        }
    }
}

impl From<AuditHead> for AuditEnd {
    fn from(head: AuditHead) -> Self {
        Self { seq: head.seq.to_string(), mac: head.mac.to_string() }
    }
}
