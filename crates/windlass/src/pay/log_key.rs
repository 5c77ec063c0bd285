//! Whether the configured key is the one that the audit log was written with: a log that
//! is continued with another can never be verified again.

use windlass_core::code::Code;
use windlass_core::payout::audit::{AuditHead, AuditKey};
use windlass_core::payout::store::AuditQuery;
use windlass_core::store::Store;

use crate::failure::Failure;

/// Holds the key against the end of the log, before anything is added to it.
pub(crate) async fn check(store: &dyn Store, key: &AuditKey) -> Result<(), Failure> {
    let head = store.audit_head().await?;
    if head.seq == 0 {
        return Ok(());
    }
    // The last entry, and the one it stands on.
    let query = AuditQuery { subject: None, after: head.seq - 2, limit: 2 };
    let rows = store.audit_rows(&query).await?;
    let stands_on = match rows.as_slice() {
        [_] if head.seq == 1 => AuditHead::default(),
        [before, _] => AuditHead::of(before),
        // Somebody writes right now, or an entry is gone: `audit-log verify` tells.
        _ => return Ok(()),
    };
    let is_ours = rows.last().is_none_or(|last| key.follow(stands_on, last).is_ok());
    if is_ours {
        return Ok(());
    }
    let message =
        format!("`pay.audit_key` is not the key that entry {} of the audit log was written with", head.seq);
    Err(Failure::coded(Code::AuditBroken, message).hint(
        "give this process the key that the log was begun with; `windlass audit-log verify` tells more",
    ))
}
