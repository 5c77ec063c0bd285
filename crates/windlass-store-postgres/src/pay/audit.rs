//! The audit log. Who appends to it holds its head, so entries are one chain.

use serde_json::{Value, json};
use tokio_postgres::Row;
use windlass_core::error::StoreError;
use windlass_core::payout::audit::{AuditEntry, AuditHead, AuditKey, AuditRow};
use windlass_core::payout::ledger::{MAX_TAIL, check_tail};
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE};

use super::put_rows;
use super::value::hex;
use crate::error::Outcome;
use crate::row::{get, hash, timestamp};
use crate::tx::Tx;

const INSERT: &str = "INSERT INTO audit (seq, at_ms, actor, action, subject, detail, mac, rows) \
     SELECT seq, at_ms, actor, action, subject, detail, decode(mac, 'hex'), rows \
     FROM jsonb_to_recordset($1::text::jsonb) AS r (seq bigint, at_ms bigint, actor text, action text, \
         subject text, detail text, mac text, rows text) ORDER BY seq";

/// Chains entries to the log's end.
pub(super) async fn append(
    tx: &Tx,
    key: &AuditKey,
    entries: &[AuditEntry],
    followed: Option<AuditHead>,
) -> Outcome<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let sql = "SELECT seq, mac, windlass_now($1) FROM audit_head FOR UPDATE";
    let row = tx.query_one(sql, &[&tx.now_ms]).await?;
    let (mut head, at) = (read_head(&row)?, timestamp(&row, 2)?);
    if let Some(followed) = followed.filter(|followed| *followed != head) {
        let tail = rows(tx, (followed.seq - 1).max(0), i64::from(MAX_TAIL) + 1).await?;
        if tail.len() > MAX_TAIL as usize {
            return Err(StoreError::Stale("the audit log".to_owned()).into());
        }
        check_tail(key, followed, head, &tail, entries)?;
    }
    let mut rows = Vec::with_capacity(entries.len());
    for entry in entries {
        let row = key.row(head, at, entry.clone());
        head = AuditHead::of(&row);
        rows.push(json!({
            "seq": row.seq,
            "at_ms": row.at.as_ms(),
            "actor": row.entry.actor,
            "action": row.entry.action,
            "subject": row.entry.subject,
            "detail": row.entry.detail,
            "mac": hex(row.mac),
            "rows": row.entry.rows,
        }));
    }
    let what = || format!("entry {} of the audit log", head.seq);
    put_rows(tx, what, rows.len(), INSERT, &[&Value::Array(rows.clone()).to_string()]).await?;
    let sql = "UPDATE audit_head SET seq = $1, mac = $2";
    put_rows(tx, what, 1, sql, &[&head.seq, &head.mac.as_slice()]).await
}

pub(super) async fn head(tx: &Tx) -> Outcome<AuditHead> {
    read_head(&tx.query_one("SELECT seq, mac FROM audit_head", &[]).await?)
}

pub(super) async fn list(tx: &Tx, query: &AuditQuery) -> Outcome<Vec<AuditRow>> {
    let limit = i64::from(query.limit.min(MAX_PAYOUT_PAGE));
    let rows = match &query.subject {
        None => return rows(tx, query.after, limit).await,
        Some(subject) => {
            let sql = "SELECT seq, at_ms, actor, action, subject, detail, mac, rows FROM audit \
                       WHERE subject = $3 AND seq > $1 ORDER BY seq LIMIT $2";
            tx.query(sql, &[&query.after, &limit, subject]).await?
        }
    };
    rows.iter().map(read).collect()
}

async fn rows(tx: &Tx, after: i64, limit: i64) -> Outcome<Vec<AuditRow>> {
    let sql = "SELECT seq, at_ms, actor, action, subject, detail, mac, rows FROM audit \
               WHERE seq > $1 ORDER BY seq LIMIT $2";
    tx.query(sql, &[&after, &limit]).await?.iter().map(read).collect()
}

fn read_head(row: &Row) -> Outcome<AuditHead> {
    Ok(AuditHead { seq: get(row, 0)?, mac: hash(row, 1)? })
}

/// An entry, readable or not.
fn read(row: &Row) -> Outcome<AuditRow> {
    let seq = get(row, 0)?;
    Ok(read_columns(seq, row).unwrap_or_else(|_| AuditRow::unreadable(seq)))
}

fn read_columns(seq: i64, row: &Row) -> Outcome<AuditRow> {
    let entry = AuditEntry {
        actor: get(row, 2)?,
        action: get(row, 3)?,
        subject: get(row, 4)?,
        detail: get(row, 5)?,
        rows: get(row, 7)?,
    };
    Ok(AuditRow { seq, at: timestamp(row, 1)?, entry, mac: hash(row, 6)? })
}
