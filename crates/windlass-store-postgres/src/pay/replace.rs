//! Putting right what somebody has written past the audit log: rows that are replaced or removed
//! whatever the schema's rules say. The rules are out of the way within the transaction alone.

use windlass_core::error::StoreError;
use windlass_core::payout::ledger::{Intent, IntentId, IntentState, Payout, ReplacedRow, RowId};
use windlass_core::payout::memo::{Memo, Reference};

use super::{access, approval, budget, ids, intent, payout, signer};
use crate::error::Outcome;
use crate::row::{get, signed};
use crate::tx::Tx;

/// Tables whose rules stand in the way.
const TABLES: [&str; 7] = ["payout", "approval", "intent", "intent_payout", "attempt", "signer", "api_key"];

/// Puts a row in the place of whatever stands there.
pub(super) async fn replace(tx: &Tx, row: &ReplacedRow) -> Outcome<()> {
    set_rules(tx, "DISABLE").await?;
    match row {
        ReplacedRow::Payout(row) => put_payout(tx, row).await?,
        ReplacedRow::Approval(row) => {
            let id = RowId::Approval { payout: row.payout, approver: row.approver.clone() };
            remove_row(tx, &id).await?;
            approval::put(tx, std::slice::from_ref(row)).await?;
        }
        ReplacedRow::Budget(row) => {
            remove_row(tx, &RowId::Budget(row.key)).await?;
            budget::insert(tx, row).await?;
        }
        ReplacedRow::Signer(row) => {
            remove_row(tx, &RowId::Signer { chain: row.chain, address: row.address }).await?;
            signer::insert(tx, row).await?;
        }
        ReplacedRow::ApiKey(row) => {
            remove_row(tx, &RowId::ApiKey(row.name.clone())).await?;
            access::insert(tx, row).await?;
        }
        ReplacedRow::Intent(row, attempts) => {
            remove_row(tx, &RowId::Intent(row.id)).await?;
            put_intent(tx, row).await?;
            intent::put_attempts(tx, attempts).await?;
        }
    }
    set_rules(tx, "ENABLE").await
}

/// Takes a row away.
pub(super) async fn remove(tx: &Tx, row: &RowId) -> Outcome<()> {
    set_rules(tx, "DISABLE").await?;
    remove_row(tx, row).await?;
    set_rules(tx, "ENABLE").await
}

async fn remove_row(tx: &Tx, row: &RowId) -> Outcome<()> {
    match row {
        RowId::Payout(id) => remove_payout(tx, &id.to_string()).await?,
        RowId::Approval { payout, approver } => {
            let sql = "DELETE FROM approval WHERE payout_id = $1 AND approver = $2";
            tx.execute(sql, &[&payout.to_string(), approver]).await?;
        }
        RowId::Budget(key) => {
            let sql = "DELETE FROM budget \
                       WHERE chain_id = $1 AND vault = $2 AND token = $3 AND day = $4 AND recipient = $5";
            let (vault, token) = (key.vault.address.as_slice(), key.token.as_slice());
            let to = budget::recipient(key);
            tx.execute(sql, &[&key.vault.chain.as_i64(), &vault, &token, &key.day.0, &to]).await?;
        }
        RowId::Intent(id) => remove_intent(tx, *id).await?,
        RowId::Signer { chain, address } => {
            let sql = "DELETE FROM signer WHERE chain_id = $1 AND address = $2";
            tx.execute(sql, &[&chain.as_i64(), &address.as_slice()]).await?;
        }
        RowId::ApiKey(name) => {
            tx.execute("DELETE FROM api_key WHERE name = $1", &[name]).await?;
        }
        RowId::Attempt { intent, number } => {
            let sql =
                "DELETE FROM attempt WHERE chain_id = $1 AND signer = $2 AND nonce = $3 AND number = $4";
            let (chain, nonce) = (intent.chain.as_i64(), signed("nonce", intent.nonce)?);
            tx.execute(sql, &[&chain, &intent.signer.as_slice(), &nonce, &i64::from(*number)]).await?;
        }
        RowId::Unreadable { table, key } => ids::remove(tx, table, key).await?,
        // It is kept among the states, and learned anew.
        RowId::ChainIdentity(_) => {}
    }
    Ok(())
}

async fn remove_payout(tx: &Tx, id: &str) -> Outcome<()> {
    if tx.query_opt("SELECT 1 FROM intent_payout WHERE payout_id = $1 LIMIT 1", &[&id]).await?.is_some() {
        return Err(StoreError::Forbidden(format!("a transaction pays payout {id}: it comes first")).into());
    }
    tx.execute("DELETE FROM approval WHERE payout_id = $1", &[&id]).await?;
    tx.execute("DELETE FROM payout WHERE id = $1", &[&id]).await?;
    Ok(())
}

async fn remove_intent(tx: &Tx, id: IntentId) -> Outcome<()> {
    let nonce = signed("nonce", id.nonce)?;
    for sql in [
        "DELETE FROM attempt WHERE chain_id = $1 AND signer = $2 AND nonce = $3",
        "DELETE FROM intent_payout WHERE chain_id = $1 AND signer = $2 AND nonce = $3",
        "DELETE FROM intent WHERE chain_id = $1 AND signer = $2 AND nonce = $3",
    ] {
        tx.execute(sql, &[&id.chain.as_i64(), &id.signer.as_slice(), &nonce]).await?;
    }
    Ok(())
}

/// What belongs to a payout names it, so its row stays where it is there.
async fn put_payout(tx: &Tx, row: &Payout) -> Outcome<()> {
    let (id, request) = (row.id.to_string(), &row.request);
    let (key, request_id) = (request.key.as_str(), request.request_id());
    let others = "SELECT id FROM payout WHERE id <> $1 AND (key = $2 OR request_id = $3)";
    for other in tx.query(others, &[&id, &key, &request_id.as_slice()]).await? {
        remove_payout(tx, get(&other, 0)?).await?;
    }
    let is_there = tx.query_opt("SELECT 1 FROM payout WHERE id = $1", &[&id]).await?.is_some();
    if !is_there {
        let new = Payout::new(row.id, request.clone(), &row.created_by, row.created_at);
        payout::put(tx, &[Payout { retry_of: row.retry_of, ..new }]).await?;
    }
    let asked = "UPDATE payout SET version = $2::bigint - 1, key = $3, request_id = $4, chain_id = $5, vault = $6, \
                     token = $7, recipient = $8, amount = $9::text::numeric, created_by = $10, \
                     created_at_ms = $11, retry_of = $12, memo = $13, reference = $14 \
                 WHERE id = $1";
    let retry_of = row.retry_of.map(|id| id.to_string());
    let (memo, reference) =
        (row.memo.as_ref().map(Memo::as_str), row.reference.as_ref().map(Reference::as_str));
    tx.execute(
        asked,
        &[
            &id,
            &row.version,
            &key,
            &request_id.as_slice(),
            &request.vault.chain.as_i64(),
            &request.vault.address.as_slice(),
            &request.token.as_slice(),
            &request.to.as_slice(),
            &request.amount.to_string(),
            &row.created_by,
            &row.created_at.as_ms(),
            &retry_of,
            &memo,
            &reference,
        ],
    )
    .await?;
    payout::update(tx, std::slice::from_ref(row)).await
}

async fn put_intent(tx: &Tx, row: &Intent) -> Outcome<()> {
    // Made as every transaction is, and then brought to where it stands.
    let new = Intent { version: 1, state: IntentState::Open, inclusion: None, ..row.clone() };
    intent::put(tx, &[new]).await?;
    let (chain, signer, nonce) =
        (row.id.chain.as_i64(), row.id.signer.as_slice(), signed("nonce", row.id.nonce)?);
    let sql = "UPDATE intent SET version = $4::bigint - 1 WHERE chain_id = $1 AND signer = $2 AND nonce = $3";
    tx.execute(sql, &[&chain, &signer, &nonce, &row.version]).await?;
    intent::put(tx, std::slice::from_ref(row)).await?;
    if !row.state.is_live() {
        let sql =
            "UPDATE intent_payout SET is_live = FALSE WHERE chain_id = $1 AND signer = $2 AND nonce = $3";
        tx.execute(sql, &[&chain, &signer, &nonce]).await?;
    }
    Ok(())
}

async fn set_rules(tx: &Tx, verb: &str) -> Outcome<()> {
    let alter = |table: &&str| format!("ALTER TABLE {table} {verb} TRIGGER USER;");
    tx.batch(&TABLES.iter().map(alter).collect::<String>()).await
}
