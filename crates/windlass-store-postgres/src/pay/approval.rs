//! Approvals.

use windlass_core::payout::ledger::Approval;
use windlass_core::payout::request::PayoutId;

use super::put_rows;
use crate::error::Outcome;
use crate::row::{get, timestamp};
use crate::tx::Tx;

pub(super) async fn put(tx: &Tx, approvals: &[Approval]) -> Outcome<()> {
    for one in approvals {
        put_rows(
            tx,
            || format!("the approval of payout {} by {}", one.payout, one.approver),
            1,
            "INSERT INTO approval (payout_id, approver, at_ms) VALUES ($1, $2, $3)",
            &[&one.payout.to_string(), &one.approver, &one.at.as_ms()],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn of(tx: &Tx, payout: PayoutId) -> Outcome<Vec<Approval>> {
    let sql = "SELECT approver, at_ms FROM approval WHERE payout_id = $1 ORDER BY approver";
    let rows = tx.query(sql, &[&payout.to_string()]).await?;
    let read = |row| Ok(Approval { payout, approver: get(row, 0)?, at: timestamp(row, 1)? });
    rows.iter().map(read).collect()
}
