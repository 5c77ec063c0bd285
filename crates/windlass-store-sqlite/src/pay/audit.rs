//! The audit log. There is one writer, so the last row is the head.

use rusqlite::Row;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::audit::{AuditEntry, AuditHead, AuditKey, AuditRow};
use windlass_core::payout::ledger::{MAX_TAIL, check_tail};
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE};

use super::put_one;
use crate::error::Translate;
use crate::row::{get, hash, timestamp};
use crate::writer::Tx;

/// Chains entries to the log's end.
pub(super) fn append(
    tx: &Tx<'_>,
    key: &AuditKey,
    entries: &[AuditEntry],
    followed: Option<AuditHead>,
) -> StoreResult<()> {
    let mut head = head(tx)?;
    if let Some(followed) = followed.filter(|followed| *followed != head) {
        let tail = rows(tx, None, (followed.seq - 1).max(0), MAX_TAIL + 1)?;
        if tail.len() > MAX_TAIL as usize {
            return Err(StoreError::Stale("the audit log".to_owned()));
        }
        check_tail(key, followed, head, &tail, entries)?;
    }
    for entry in entries {
        let row = key.row(head, tx.now, entry.clone());
        head = AuditHead::of(&row);
        put_one(
            tx,
            || format!("entry {} of the audit log", row.seq),
            "INSERT INTO audit (seq, at_ms, actor, action, subject, detail, mac, rows) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            rusqlite::params![
                row.seq,
                row.at.as_ms(),
                row.entry.actor,
                row.entry.action,
                row.entry.subject,
                row.entry.detail,
                row.mac.as_slice(),
                row.entry.rows,
            ],
        )?;
    }
    Ok(())
}

pub(super) fn head(tx: &Tx<'_>) -> StoreResult<AuditHead> {
    let mut statement = tx.prepare("SELECT seq, mac FROM audit ORDER BY seq DESC LIMIT 1")?;
    let mut rows = statement.query([]).translate()?;
    match rows.next().translate()? {
        Some(row) => Ok(AuditHead { seq: get(row, 0)?, mac: hash(row, 1)? }),
        None => Ok(AuditHead::default()),
    }
}

pub(super) fn list(tx: &Tx<'_>, query: &AuditQuery) -> StoreResult<Vec<AuditRow>> {
    rows(tx, query.subject.as_deref(), query.after, query.limit.min(MAX_PAYOUT_PAGE))
}

fn rows(tx: &Tx<'_>, subject: Option<&str>, after: i64, limit: u32) -> StoreResult<Vec<AuditRow>> {
    let of_subject = if subject.is_some() { "subject = ?3" } else { "?3 IS NULL" };
    let mut statement = tx.prepare(&format!(
        "SELECT seq, at_ms, actor, action, subject, detail, mac, rows FROM audit \
         WHERE seq > ?1 AND typeof(seq) = 'integer' AND {of_subject} ORDER BY seq LIMIT ?2"
    ))?;
    let mut rows = statement.query((after, limit, subject)).translate()?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().translate()? {
        entries.push(read(row)?);
    }
    Ok(entries)
}

/// An entry, readable or not.
fn read(row: &Row<'_>) -> StoreResult<AuditRow> {
    let seq = get(row, 0)?;
    Ok(read_columns(seq, row).unwrap_or_else(|_| AuditRow::unreadable(seq)))
}

fn read_columns(seq: i64, row: &Row<'_>) -> StoreResult<AuditRow> {
    let entry = AuditEntry {
        actor: get(row, 2)?,
        action: get(row, 3)?,
        subject: get(row, 4)?,
        detail: get(row, 5)?,
        rows: get(row, 7)?,
    };
    Ok(AuditRow { seq, at: timestamp(row, 1)?, entry, mac: hash(row, 6)? })
}
