//! Approvals.

use windlass_core::payout::ledger::Approval;
use windlass_core::payout::request::PayoutId;

use super::put_rows;
use crate::error::Outcome;
use crate::row::{get, hash, name, timestamp};
use crate::tx::Tx;

pub(super) async fn put(tx: &Tx, approvals: &[Approval]) -> Outcome<()> {
    for one in approvals {
        put_rows(
            tx,
            || format!("the approval of payout {} by {}", one.payout, one.approver),
            1,
            "INSERT INTO approval (payout_id, approver, at_ms, mac) VALUES ($1, $2, $3, $4)",
            &[&one.payout.to_string(), &one.approver, &one.at.as_ms(), &one.mac.as_slice()],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn of(tx: &Tx, payouts: &[PayoutId]) -> Outcome<Vec<Approval>> {
    let ids: Vec<String> = payouts.iter().map(ToString::to_string).collect();
    let sql = "SELECT payout_id, approver, at_ms, mac FROM approval WHERE payout_id = ANY($1) ORDER BY payout_id, approver";
    tx.query(sql, &[&ids]).await?.iter().map(read).collect()
}

fn read(row: &tokio_postgres::Row) -> Outcome<Approval> {
    let (payout, approver, at) = (name(row, 0)?, get(row, 1)?, timestamp(row, 2)?);
    Ok(Approval { payout, approver, at, mac: hash(row, 3)? })
}
