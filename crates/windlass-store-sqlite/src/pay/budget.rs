//! Sums of days.

use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::{Budget, BudgetKey};

use super::put_one;
use super::value::{amount, bytes_of};
use crate::error::Translate;
use crate::row::get;
use crate::writer::Tx;

pub(super) fn put(tx: &Tx<'_>, budget: &Budget) -> StoreResult<()> {
    let key = &budget.key;
    let sql = if budget.version == 1 {
        "INSERT INTO budget (chain_id, vault, token, day, recipient, version, total) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"
    } else {
        "UPDATE budget SET version = ?6, total = ?7 WHERE chain_id = ?1 AND vault = ?2 AND token = ?3 \
             AND day = ?4 AND recipient = ?5 AND version = ?6 - 1"
    };
    put_one(
        tx,
        || format!("the budget of {} for {}", key.day, key.token),
        sql,
        rusqlite::params![
            key.vault.chain.as_i64(),
            bytes_of(&key.vault.address),
            bytes_of(&key.token),
            key.day.0,
            recipient(key),
            budget.version,
            budget.total.to_be_bytes::<32>(),
        ],
    )
}

pub(super) fn find(tx: &Tx<'_>, key: BudgetKey) -> StoreResult<Budget> {
    let mut statement = tx.prepare(
        "SELECT version, total FROM budget \
         WHERE chain_id = ?1 AND vault = ?2 AND token = ?3 AND day = ?4 AND recipient = ?5",
    )?;
    let vault = bytes_of(&key.vault.address);
    let params = (key.vault.chain.as_i64(), vault, bytes_of(&key.token), key.day.0, recipient(&key));
    let mut rows = statement.query(params).translate()?;
    match rows.next().translate()? {
        Some(row) => Ok(Budget { key, version: get(row, 0)?, total: amount(row, 1)? }),
        None => Ok(Budget::empty(key)),
    }
}

/// Nobody in particular is an empty recipient.
fn recipient(key: &BudgetKey) -> &[u8] {
    key.to.as_ref().map_or(&[], bytes_of)
}
