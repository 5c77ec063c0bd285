//! Sums of days.

use rusqlite::Row;
use windlass_core::error::StoreResult;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Budget, BudgetKey};
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::store::MAX_PAYOUT_PAGE;

use super::ids;
use super::put_one;
use super::value::{amount, bytes_of, chain};
use crate::error::Translate;
use crate::row::{address, get, hash};
use crate::writer::Tx;

const INSERT: &str = "INSERT INTO budget (chain_id, vault, token, day, recipient, version, total, mac) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
const UPDATE: &str = "UPDATE budget SET version = ?6, total = ?7, mac = ?8 WHERE chain_id = ?1 AND vault = ?2 \
     AND token = ?3 AND day = ?4 AND recipient = ?5 AND version = ?6 - 1";

pub(super) fn put(tx: &Tx<'_>, budget: &Budget) -> StoreResult<()> {
    write(tx, budget, if budget.version == 1 { INSERT } else { UPDATE })
}

/// Makes a sum at whatever version it has.
pub(super) fn insert(tx: &Tx<'_>, budget: &Budget) -> StoreResult<()> {
    write(tx, budget, INSERT)
}

fn write(tx: &Tx<'_>, budget: &Budget, sql: &str) -> StoreResult<()> {
    let key = &budget.key;
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
            budget.mac.as_slice(),
        ],
    )
}

pub(super) fn find(tx: &Tx<'_>, key: BudgetKey) -> StoreResult<Budget> {
    let mut statement = tx.prepare(
        "SELECT version, total, mac FROM budget \
         WHERE chain_id = ?1 AND vault = ?2 AND token = ?3 AND day = ?4 AND recipient = ?5",
    )?;
    let vault = bytes_of(&key.vault.address);
    let params = (key.vault.chain.as_i64(), vault, bytes_of(&key.token), key.day.0, recipient(&key));
    let mut rows = statement.query(params).translate()?;
    match rows.next().translate()? {
        Some(row) => Ok(read(key, row, 0)),
        None => Ok(Budget::empty(key)),
    }
}

/// A page of sums, by their keys.
pub(super) fn list(tx: &Tx<'_>, after: Option<BudgetKey>, limit: u32) -> StoreResult<Vec<Budget>> {
    let readable = ids::BUDGET;
    let mut statement = tx.prepare(&format!(
        "SELECT chain_id, vault, token, day, recipient, version, total, mac FROM budget \
         WHERE (chain_id, vault, token, day, recipient) > (?1, ?2, ?3, ?4, ?5) AND {readable} \
         ORDER BY chain_id, vault, token, day, recipient LIMIT ?6"
    ))?;
    let limit = limit.min(MAX_PAYOUT_PAGE);
    let mut rows = match &after {
        // No chain has the id 0.
        None => statement.query((0, [0_u8; 0], [0_u8; 0], 0, [0_u8; 0], limit)),
        Some(key) => {
            let (vault, token) = (bytes_of(&key.vault.address), bytes_of(&key.token));
            statement.query((key.vault.chain.as_i64(), vault, token, key.day.0, recipient(key), limit))
        }
    }
    .translate()?;
    let mut budgets = Vec::new();
    while let Some(row) = rows.next().translate()? {
        let to = if get::<Vec<u8>>(row, 4)?.is_empty() { None } else { Some(address(row, 4)?) };
        let vault = VaultRef { chain: chain(row, 0)?, address: address(row, 1)? };
        let key = BudgetKey { vault, token: address(row, 2)?, day: UtcDay(get(row, 3)?), to };
        budgets.push(read(key, row, 5));
    }
    Ok(budgets)
}

/// A sum, readable or not: its version, how much, and its code stand in columns from one on.
fn read(key: BudgetKey, row: &Row<'_>, column: usize) -> Budget {
    match (get(row, column), amount(row, column + 1), hash(row, column + 2)) {
        (Ok(version), Ok(total), Ok(mac)) => Budget { key, version, total, mac },
        _ => Budget::unreadable(key),
    }
}

/// Nobody in particular is an empty recipient.
fn recipient(key: &BudgetKey) -> &[u8] {
    key.to.as_ref().map_or(&[], bytes_of)
}
