//! Sums of days.

use tokio_postgres::Row;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Budget, BudgetKey};
use windlass_core::payout::request::VaultRef;
use windlass_core::payout::store::MAX_PAYOUT_PAGE;

use super::ids::readable;
use super::put_rows;
use super::value::{chain, number};
use crate::error::Outcome;
use crate::row::{address, damaged, get, hash, unsigned};
use crate::tx::Tx;

const INSERT: &str = "INSERT INTO budget (chain_id, vault, token, day, recipient, version, total, mac) \
     VALUES ($1, $2, $3, $4, $5, $6, $7::text::numeric, $8)";
const UPDATE: &str = "UPDATE budget SET version = $6, total = $7::text::numeric, mac = $8 WHERE chain_id = $1 \
     AND vault = $2 AND token = $3 AND day = $4 AND recipient = $5 AND version + 1 = $6";

/// In the order of their keys, so that two commits do not lock each other out.
pub(super) async fn put(tx: &Tx, budgets: &[Budget]) -> Outcome<()> {
    let mut sorted: Vec<&Budget> = budgets.iter().collect();
    sorted.sort_by_key(|budget| (budget.key, budget.version));
    for budget in sorted {
        write(tx, budget, if budget.version == 1 { INSERT } else { UPDATE }).await?;
    }
    Ok(())
}

/// Makes a sum at whatever version it has.
pub(super) async fn insert(tx: &Tx, budget: &Budget) -> Outcome<()> {
    write(tx, budget, INSERT).await
}

async fn write(tx: &Tx, budget: &Budget, sql: &str) -> Outcome<()> {
    let key = &budget.key;
    put_rows(
        tx,
        || format!("the budget of {} for {}", key.day, key.token),
        1,
        sql,
        &[
            &key.vault.chain.as_i64(),
            &key.vault.address.as_slice(),
            &key.token.as_slice(),
            &key.day.0,
            &recipient(key),
            &budget.version,
            &budget.total.to_string(),
            &budget.mac.as_slice(),
        ],
    )
    .await
}

pub(super) async fn find(tx: &Tx, keys: &[BudgetKey]) -> Outcome<Vec<Budget>> {
    let chains: Vec<i64> = keys.iter().map(|key| key.vault.chain.as_i64()).collect();
    let vaults: Vec<&[u8]> = keys.iter().map(|key| key.vault.address.as_slice()).collect();
    let tokens: Vec<&[u8]> = keys.iter().map(|key| key.token.as_slice()).collect();
    let days: Vec<i64> = keys.iter().map(|key| key.day.0).collect();
    let recipients: Vec<&[u8]> = keys.iter().map(recipient).collect();
    let sql = "SELECT k.place, b.version, b.total::text, b.mac \
               FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bytea[]) \
                   WITH ORDINALITY AS k (chain_id, vault, token, day, recipient, place) \
               JOIN budget b ON b.chain_id = k.chain_id AND b.vault = k.vault AND b.token = k.token \
                   AND b.day = k.day AND b.recipient = k.recipient";
    let mut budgets: Vec<Budget> = keys.iter().map(|key| Budget::empty(*key)).collect();
    for row in tx.query(sql, &[&chains, &vaults, &tokens, &days, &recipients]).await? {
        let place: usize = unsigned(&row, 0)?;
        let budget = place.checked_sub(1).and_then(|place| budgets.get_mut(place));
        let budget = budget.ok_or_else(|| damaged("a budget that was not asked for"))?;
        *budget = read(budget.key, &row, 1);
    }
    Ok(budgets)
}

/// A page of sums, by their keys.
pub(super) async fn list(tx: &Tx, after: Option<BudgetKey>, limit: u32) -> Outcome<Vec<Budget>> {
    let sql = concat!(
        "SELECT chain_id, vault, token, day, recipient, version, total::text, mac FROM budget \
         WHERE (chain_id, vault, token, day, recipient) > ($1, $2, $3, $4, $5) AND ",
        readable!(budget),
        " ORDER BY chain_id, vault, token, day, recipient LIMIT $6"
    );
    // No chain has the id 0.
    let (chain_id, day) = after.map_or((0, 0), |key| (key.vault.chain.as_i64(), key.day.0));
    let key = after.as_ref();
    let vault = key.map_or(&[][..], |key| key.vault.address.as_slice());
    let token = key.map_or(&[][..], |key| key.token.as_slice());
    let to = key.map_or(&[][..], recipient);
    let limit = i64::from(limit.min(MAX_PAYOUT_PAGE));
    let mut budgets = Vec::new();
    for row in tx.query(sql, &[&chain_id, &vault, &token, &day, &to, &limit]).await? {
        let to = if get::<&[u8]>(&row, 4)?.is_empty() { None } else { Some(address(&row, 4)?) };
        let vault = VaultRef { chain: chain(&row, 0)?, address: address(&row, 1)? };
        let key = BudgetKey { vault, token: address(&row, 2)?, day: UtcDay(get(&row, 3)?), to };
        budgets.push(read(key, &row, 5));
    }
    Ok(budgets)
}

/// A sum, readable or not: its version, how much, and its code stand in columns from one on.
fn read(key: BudgetKey, row: &Row, column: usize) -> Budget {
    match (get(row, column), number(row, column + 1), hash(row, column + 2)) {
        (Ok(version), Ok(total), Ok(mac)) => Budget { key, version, total, mac },
        _ => Budget::unreadable(key),
    }
}

/// Nobody in particular is an empty recipient.
pub(super) fn recipient(key: &BudgetKey) -> &[u8] {
    key.to.as_ref().map_or(&[], |to| to.as_slice())
}
