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
    Ok(tx.query(sql, &[&ids]).await?.iter().filter_map(read).collect())
}

/// An approval, readable or not; nothing where its approver cannot be read.
fn read(row: &tokio_postgres::Row) -> Option<Approval> {
    let (payout, approver) = (name(row, 0).ok()?, get::<String>(row, 1).ok()?);
    Some(match (timestamp(row, 2), hash(row, 3)) {
        (Ok(at), Ok(mac)) => Approval { payout, approver, at, mac },
        _ => Approval::unreadable(payout, approver),
    })
}
