//! Approvals.

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::Approval;
use windlass_core::payout::request::PayoutId;

use super::put_one;
use crate::error::Translate;
use crate::row::{get, timestamp};
use crate::writer::Tx;

pub(super) fn put(tx: &Tx<'_>, approval: &Approval) -> StoreResult<()> {
    put_one(
        tx,
        || format!("the approval of payout {} by {}", approval.payout, approval.approver),
        "INSERT INTO approval (payout_id, approver, at_ms) VALUES (?1, ?2, ?3)",
        (approval.payout.to_string(), &approval.approver, approval.at.as_ms()),
    )
}

pub(super) fn of(tx: &Tx<'_>, payout: PayoutId) -> StoreResult<Vec<Approval>> {
    let mut statement =
        tx.prepare("SELECT approver, at_ms FROM approval WHERE payout_id = ?1 ORDER BY approver")?;
    let mut rows = statement.query([payout.to_string()]).translate()?;
    let mut approvals = Vec::new();
    while let Some(row) = rows.next().translate()? {
        approvals.push(Approval { payout, approver: get(row, 0)?, at: timestamp(row, 1)? });
    }
    Ok(approvals)
}
