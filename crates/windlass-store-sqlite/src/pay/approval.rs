//! Approvals.

use std::collections::BTreeSet;

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::Approval;
use windlass_core::payout::request::PayoutId;

use super::put_one;
use crate::error::Translate;
use crate::row::{get, hash, timestamp};
use crate::writer::Tx;

pub(super) fn put(tx: &Tx<'_>, approval: &Approval) -> StoreResult<()> {
    put_one(
        tx,
        || format!("the approval of payout {} by {}", approval.payout, approval.approver),
        "INSERT INTO approval (payout_id, approver, at_ms, mac) VALUES (?1, ?2, ?3, ?4)",
        (approval.payout.to_string(), &approval.approver, approval.at.as_ms(), approval.mac.as_slice()),
    )
}

/// Those of payouts, in the order of their ids.
pub(super) fn of(tx: &Tx<'_>, payouts: &BTreeSet<PayoutId>) -> StoreResult<Vec<Approval>> {
    let mut statement =
        tx.prepare("SELECT approver, at_ms, mac FROM approval WHERE payout_id = ?1 ORDER BY approver")?;
    let mut approvals = Vec::new();
    for payout in payouts {
        let mut rows = statement.query([payout.to_string()]).translate()?;
        while let Some(row) = rows.next().translate()? {
            // One of an approver that cannot be read is named among such rows.
            let Ok(approver) = get::<String>(row, 0) else { continue };
            approvals.push(match (timestamp(row, 1), hash(row, 2)) {
                (Ok(at), Ok(mac)) => Approval { payout: *payout, approver, at, mac },
                _ => Approval::unreadable(*payout, approver),
            });
        }
    }
    Ok(approvals)
}
