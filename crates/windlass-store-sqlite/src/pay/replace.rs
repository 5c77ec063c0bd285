//! Putting right what somebody has written past the audit log: rows that are replaced or removed
//! whatever the schema's rules say. The rules are out of the way within the commit alone.

use windlass_core::error::{StoreError, StoreResult};
use windlass_core::payout::ledger::{Intent, IntentId, IntentState, Payout, ReplacedRow, RowId};
use windlass_core::payout::request::PayoutId;

use super::value::bytes_of;
use super::{access, approval, budget, ids, intent, payout, signer};
use crate::error::Translate;
use crate::row::{get, signed};
use crate::writer::Tx;

/// Puts a row in the place of whatever stands there.
pub(super) fn replace(tx: &Tx<'_>, row: &ReplacedRow) -> StoreResult<()> {
    without_rules(tx, || match row {
        ReplacedRow::Payout(row) => put_payout(tx, row),
        ReplacedRow::Approval(row) => {
            delete_approval(tx, row.payout, &row.approver)?;
            approval::put(tx, row)
        }
        ReplacedRow::Budget(row) => {
            remove_row(tx, &RowId::Budget(row.key))?;
            budget::insert(tx, row)
        }
        ReplacedRow::Signer(row) => {
            remove_row(tx, &RowId::Signer { chain: row.chain, address: row.address })?;
            signer::insert(tx, row)
        }
        ReplacedRow::ApiKey(row) => {
            remove_row(tx, &RowId::ApiKey(row.name.clone()))?;
            access::insert(tx, row)
        }
        ReplacedRow::Intent(row, attempts) => {
            remove_row(tx, &RowId::Intent(row.id))?;
            put_intent(tx, row)?;
            attempts.iter().try_for_each(|attempt| intent::put_attempt(tx, attempt))
        }
    })
}

/// Takes a row away.
pub(super) fn remove(tx: &Tx<'_>, row: &RowId) -> StoreResult<()> {
    without_rules(tx, || remove_row(tx, row))
}

fn remove_row(tx: &Tx<'_>, row: &RowId) -> StoreResult<()> {
    match row {
        RowId::Payout(id) => {
            not_paid_by_a_transaction(tx, &id.to_string())?;
            tx.execute("DELETE FROM approval WHERE payout_id = ?1", [id.to_string()])?;
            tx.execute("DELETE FROM payout WHERE id = ?1", [id.to_string()])?;
        }
        RowId::Approval { payout, approver } => delete_approval(tx, *payout, approver)?,
        RowId::Budget(key) => {
            let to = key.to.as_ref().map_or(&[][..], bytes_of);
            let vault = bytes_of(&key.vault.address);
            let params = (key.vault.chain.as_i64(), vault, bytes_of(&key.token), key.day.0, to);
            let sql = "DELETE FROM budget \
                       WHERE chain_id = ?1 AND vault = ?2 AND token = ?3 AND day = ?4 AND recipient = ?5";
            tx.execute(sql, params)?;
        }
        RowId::Intent(id) => remove_intent(tx, *id)?,
        RowId::Signer { chain, address } => {
            let sql = "DELETE FROM signer WHERE chain_id = ?1 AND address = ?2";
            tx.execute(sql, (chain.as_i64(), bytes_of(address)))?;
        }
        RowId::ApiKey(name) => {
            tx.execute("DELETE FROM api_key WHERE name = ?1", [name])?;
        }
        RowId::Attempt { intent, number } => {
            let sql =
                "DELETE FROM attempt WHERE chain_id = ?1 AND signer = ?2 AND nonce = ?3 AND number = ?4";
            let nonce = signed("nonce", intent.nonce)?;
            tx.execute(sql, (intent.chain.as_i64(), bytes_of(&intent.signer), nonce, number))?;
        }
        RowId::Unreadable { table, key } => ids::remove(tx, table, key)?,
        // It is kept among the states, and learned anew.
        RowId::ChainIdentity(_) => {}
    }
    Ok(())
}

fn not_paid_by_a_transaction(tx: &Tx<'_>, payout: &str) -> StoreResult<()> {
    let mut statement = tx.prepare("SELECT 1 FROM intent_payout WHERE payout_id = ?1")?;
    match statement.exists([payout]).translate()? {
        true => Err(StoreError::Forbidden(format!("a transaction pays payout {payout}: it comes first"))),
        false => Ok(()),
    }
}

fn delete_approval(tx: &Tx<'_>, payout: PayoutId, approver: &str) -> StoreResult<()> {
    tx.execute(
        "DELETE FROM approval WHERE payout_id = ?1 AND approver = ?2",
        (payout.to_string(), approver),
    )?;
    Ok(())
}

fn remove_intent(tx: &Tx<'_>, id: IntentId) -> StoreResult<()> {
    let nonce = signed("nonce", id.nonce)?;
    for table in ["attempt", "intent_payout", "intent"] {
        let sql = format!("DELETE FROM {table} WHERE chain_id = ?1 AND signer = ?2 AND nonce = ?3");
        tx.execute(&sql, (id.chain.as_i64(), bytes_of(&id.signer), nonce))?;
    }
    Ok(())
}

/// What belongs to a payout names it, so that its row is not taken away meanwhile.
fn put_payout(tx: &Tx<'_>, row: &Payout) -> StoreResult<()> {
    let request = &row.request;
    let others: Vec<String> = {
        let sql = "SELECT id FROM payout WHERE id <> ?1 AND (key = ?2 OR request_id = ?3)";
        let mut statement = tx.prepare(sql)?;
        let params = (row.id.to_string(), request.key.as_str(), request.request_id().0);
        let mut rows = statement.query(params).translate()?;
        let mut others = Vec::new();
        while let Some(row) = rows.next().translate()? {
            others.push(get(row, 0)?);
        }
        others
    };
    for other in others {
        not_paid_by_a_transaction(tx, &other)?;
        tx.execute("DELETE FROM approval WHERE payout_id = ?1", [&other])?;
        tx.execute("DELETE FROM payout WHERE id = ?1", [&other])?;
    }
    tx.execute("DELETE FROM payout WHERE id = ?1", [row.id.to_string()])?;
    let new = Payout::new(row.id, request.clone(), &row.created_by, row.created_at);
    payout::insert(tx, &Payout { memo: row.memo.clone(), reference: row.reference.clone(), ..new })?;
    if let Some(retried) = row.retry_of {
        let sql = "UPDATE payout SET retry_of = ?2 WHERE id = ?1";
        tx.execute(sql, (row.id.to_string(), retried.to_string()))?;
    }
    payout::update(tx, row, "version = 1")
}

fn put_intent(tx: &Tx<'_>, row: &Intent) -> StoreResult<()> {
    // Made as every transaction is, and then brought to where it stands.
    intent::insert(tx, &Intent { state: IntentState::Open, inclusion: None, ..row.clone() })?;
    intent::update(tx, row, "version = 1")?;
    if !row.state.is_live() {
        let sql = "UPDATE intent_payout SET is_live = 0 WHERE chain_id = ?1 AND signer = ?2 AND nonce = ?3";
        let nonce = signed("nonce", row.id.nonce)?;
        tx.execute(sql, (row.id.chain.as_i64(), bytes_of(&row.id.signer), nonce))?;
    }
    Ok(())
}

/// Works without triggers, and looks at what rows name only at the end of the commit.
fn without_rules(tx: &Tx<'_>, work: impl FnOnce() -> StoreResult<()>) -> StoreResult<()> {
    tx.execute("PRAGMA defer_foreign_keys = ON", [])?;
    let mut rules: Vec<(String, String)> = Vec::new();
    {
        let sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN \
                   ('payout', 'approval', 'intent', 'intent_payout', 'attempt', 'signer', 'api_key', 'budget')";
        let mut statement = tx.prepare(sql)?;
        let mut rows = statement.query([]).translate()?;
        while let Some(row) = rows.next().translate()? {
            rules.push((get(row, 0)?, get(row, 1)?));
        }
    }
    for (name, _) in &rules {
        tx.execute(&format!("DROP TRIGGER {name}"), [])?;
    }
    work()?;
    for (_, sql) in &rules {
        tx.execute(sql, [])?;
    }
    Ok(())
}
