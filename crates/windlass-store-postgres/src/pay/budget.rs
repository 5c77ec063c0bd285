//! Sums of days.

use windlass_core::payout::ledger::{Budget, BudgetKey};

use super::put_rows;
use super::value::number;
use crate::error::Outcome;
use crate::row::get;
use crate::tx::Tx;

const INSERT: &str = "INSERT INTO budget (chain_id, vault, token, day, recipient, version, total) \
     VALUES ($1, $2, $3, $4, $5, $6, $7::text::numeric)";
const UPDATE: &str = "UPDATE budget SET version = $6, total = $7::text::numeric WHERE chain_id = $1 \
     AND vault = $2 AND token = $3 AND day = $4 AND recipient = $5 AND version + 1 = $6";

/// In the order of their keys, so that two commits do not lock each other out.
pub(super) async fn put(tx: &Tx, budgets: &[Budget]) -> Outcome<()> {
    let mut sorted: Vec<&Budget> = budgets.iter().collect();
    sorted.sort_by_key(|budget| (budget.key, budget.version));
    for budget in sorted {
        let key = &budget.key;
        put_rows(
            tx,
            || format!("the budget of {} for {}", key.day, key.token),
            1,
            if budget.version == 1 { INSERT } else { UPDATE },
            &[
                &key.vault.chain.as_i64(),
                &key.vault.address.as_slice(),
                &key.token.as_slice(),
                &key.day.0,
                &recipient(key),
                &budget.version,
                &budget.total.to_string(),
            ],
        )
        .await?;
    }
    Ok(())
}

pub(super) async fn find(tx: &Tx, keys: &[BudgetKey]) -> Outcome<Vec<Budget>> {
    let mut budgets = Vec::with_capacity(keys.len());
    for key in keys {
        let sql = "SELECT version, total::text FROM budget \
                   WHERE chain_id = $1 AND vault = $2 AND token = $3 AND day = $4 AND recipient = $5";
        let (vault, token) = (key.vault.address, key.token);
        let row = tx
            .query_opt(
                sql,
                &[
                    &key.vault.chain.as_i64(),
                    &vault.as_slice(),
                    &token.as_slice(),
                    &key.day.0,
                    &recipient(key),
                ],
            )
            .await?;
        budgets.push(match row {
            Some(row) => Budget { key: *key, version: get(&row, 0)?, total: number(&row, 1)? },
            None => Budget::empty(*key),
        });
    }
    Ok(budgets)
}

/// Nobody in particular is an empty recipient.
fn recipient(key: &BudgetKey) -> &[u8] {
    key.to.as_ref().map_or(&[], |to| to.as_slice())
}
