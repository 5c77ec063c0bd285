//! Transactions and their signed forms.

use tokio_postgres::Row;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::ledger::{Attempt, Intent, IntentId, IntentState};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::MAX_PAYOUT_PAGE;

use super::ids::readable;
use super::put_rows;
use super::value::{chain, inclusion, number, receipt};
use crate::error::Outcome;
use crate::row::{address, damaged, get, hash, signed, timestamp, unsigned};
use crate::tx::Tx;

const UPDATE: &str = "UPDATE intent SET version = $4, state = $5, updated_at_ms = $6, attempts = $7, \
         signed_at_block = $8, transaction_hash = $9, block_number = $10, block_hash = $11, mac = $12, \
         gas_used = $13, effective_gas_price = $14::text::numeric, block_timestamp_s = $15 \
     WHERE chain_id = $1 AND signer = $2 AND nonce = $3 AND version + 1 = $4";
const INSERT: &str = "INSERT INTO intent (chain_id, signer, nonce, version, recipient, data, gas_limit, \
         created_at_ms, state, updated_at_ms, attempts, signed_at_block, mac) \
     VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
const INSERT_PAYOUTS: &str = "INSERT INTO intent_payout (chain_id, signer, nonce, place, payout_id) \
     SELECT $1, $2, $3, r.place - 1, r.id FROM unnest($4::text[]) WITH ORDINALITY AS r (id, place)";
const INSERT_ATTEMPT: &str = "INSERT INTO attempt (chain_id, signer, nonce, number, hash, max_fee, \
         priority_fee, raw, created_at_ms) \
     VALUES ($1, $2, $3, $4, $5, $6::text::numeric, $7::text::numeric, $8, $9)";

/// Makes transactions, or replaces them by the version that follows.
pub(super) async fn put(tx: &Tx, intents: &[Intent]) -> Outcome<()> {
    free_ended(tx, intents).await?;
    for intent in intents {
        if intent.version == 1 { insert(tx, intent).await? } else { update(tx, intent).await? }
    }
    Ok(())
}

/// Only a transaction that is live keeps a payout from another one, whatever stands beside it.
async fn free_ended(tx: &Tx, intents: &[Intent]) -> Outcome<()> {
    let new = intents.iter().filter(|intent| intent.version == 1);
    let payouts: Vec<String> = new.flat_map(|intent| &intent.payouts).map(PayoutId::to_string).collect();
    if payouts.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE intent_payout p SET is_live = FALSE WHERE payout_id = ANY($1) AND is_live \
               AND NOT EXISTS (SELECT 1 FROM intent i WHERE i.chain_id = p.chain_id AND i.signer = p.signer \
                   AND i.nonce = p.nonce AND i.state IN ('OPEN', 'MINED'))";
    tx.execute(sql, &[&payouts]).await?;
    Ok(())
}

async fn update(tx: &Tx, intent: &Intent) -> Outcome<()> {
    let at = intent.inclusion.as_ref();
    put_rows(
        tx,
        || format!("transaction {}", intent.id),
        1,
        UPDATE,
        &[
            &intent.id.chain.as_i64(),
            &intent.id.signer.as_slice(),
            &signed("nonce", intent.id.nonce)?,
            &intent.version,
            &intent.state.as_str(),
            &intent.updated_at.as_ms(),
            &i64::from(intent.attempts),
            &signed("block", intent.signed_at_block)?,
            &at.map(|at| at.transaction.as_slice()),
            &at.map(|at| signed("block", at.block.number)).transpose()?,
            &at.map(|at| at.block.hash.as_slice()),
            &intent.mac.as_slice(),
            &intent.receipt.map(|receipt| signed("gas", receipt.gas_used)).transpose()?,
            &intent.receipt.map(|receipt| receipt.effective_gas_price.to_string()),
            &intent.receipt.map(|receipt| signed("time", receipt.block_timestamp_s)).transpose()?,
        ],
    )
    .await
}

async fn insert(tx: &Tx, intent: &Intent) -> Outcome<()> {
    let (chain, nonce) = (intent.id.chain.as_i64(), signed("nonce", intent.id.nonce)?);
    let signer = intent.id.signer.as_slice();
    put_rows(
        tx,
        || format!("transaction {}", intent.id),
        1,
        INSERT,
        &[
            &chain,
            &signer,
            &nonce,
            &intent.to.as_slice(),
            &&intent.data[..],
            &signed("gas limit", intent.gas_limit)?,
            &intent.created_at.as_ms(),
            &intent.state.as_str(),
            &intent.updated_at.as_ms(),
            &i64::from(intent.attempts),
            &signed("block", intent.signed_at_block)?,
            &intent.mac.as_slice(),
        ],
    )
    .await?;
    let payouts: Vec<String> = intent.payouts.iter().map(PayoutId::to_string).collect();
    let what = || format!("the live transaction of what {} pays", intent.id);
    put_rows(tx, what, payouts.len(), INSERT_PAYOUTS, &[&chain, &signer, &nonce, &payouts]).await
}

/// Keeps signed forms.
pub(super) async fn put_attempts(tx: &Tx, attempts: &[Attempt]) -> Outcome<()> {
    for attempt in attempts {
        put_rows(
            tx,
            || format!("attempt {} of transaction {}", attempt.number, attempt.intent),
            1,
            INSERT_ATTEMPT,
            &[
                &attempt.intent.chain.as_i64(),
                &attempt.intent.signer.as_slice(),
                &signed("nonce", attempt.intent.nonce)?,
                &i64::from(attempt.number),
                &attempt.hash.as_slice(),
                &attempt.fees.max_fee.to_string(),
                &attempt.fees.priority_fee.to_string(),
                &&attempt.raw[..],
                &attempt.created_at.as_ms(),
            ],
        )
        .await?;
    }
    Ok(())
}

/// What is read of transactions.
macro_rules! select {
    ($($rest:expr),+) => {
        concat!(
            "SELECT chain_id, signer, nonce, version, recipient, data, gas_limit, created_at_ms, state, \
                 updated_at_ms, attempts, signed_at_block, transaction_hash, block_number, block_hash, \
                 ARRAY(SELECT payout_id FROM intent_payout p WHERE p.chain_id = i.chain_id \
                     AND p.signer = i.signer AND p.nonce = i.nonce ORDER BY place), mac, \
                 gas_used, effective_gas_price::text, block_timestamp_s \
             FROM intent i ",
            $($rest),+
        )
    };
}

pub(super) async fn find(tx: &Tx, id: IntentId) -> Outcome<Option<Intent>> {
    let sql = select!("WHERE chain_id = $1 AND signer = $2 AND nonce = $3");
    let params = (id.chain.as_i64(), id.signer, signed("nonce", id.nonce)?);
    let row = tx.query_opt(sql, &[&params.0, &params.1.as_slice(), &params.2]).await?;
    Ok(row.map(|row| read(id, &row)))
}

/// A page of transactions, by their ids.
pub(super) async fn list(tx: &Tx, after: Option<IntentId>, limit: u32) -> Outcome<Vec<Intent>> {
    let sql = select!(
        "WHERE (chain_id, signer, nonce) > ($1, $2, $3) AND ",
        readable!(intent),
        " ORDER BY chain_id, signer, nonce LIMIT $4"
    );
    // No chain has the id 0.
    let chain = after.map_or(0, |id| id.chain.as_i64());
    let nonce = after.map_or(Ok(0), |id| signed("nonce", id.nonce))?;
    let signer = after.as_ref().map_or(&[][..], |id| id.signer.as_slice());
    let limit = i64::from(limit.min(MAX_PAYOUT_PAGE));
    read_all(&tx.query(sql, &[&chain, &signer, &nonce, &limit]).await?)
}

pub(super) async fn of_payout(tx: &Tx, payout: PayoutId) -> Outcome<Vec<Intent>> {
    let sql = "SELECT chain_id, signer, nonce FROM intent_payout WHERE payout_id = $1 \
               ORDER BY chain_id, signer, nonce";
    let mut intents = Vec::new();
    for row in tx.query(sql, &[&payout.to_string()]).await? {
        // What names no transaction belongs to none.
        if let Ok(id) = id_of(&row) {
            intents.extend(find(tx, id).await?);
        }
    }
    Ok(intents)
}

/// The transactions of many payouts, by id.
pub(super) async fn of_payouts(tx: &Tx, payouts: &[String]) -> Outcome<Vec<Intent>> {
    let sql = select!(
        "WHERE (chain_id, signer, nonce) IN \
             (SELECT chain_id, signer, nonce FROM intent_payout WHERE payout_id = ANY($1)) AND ",
        readable!(intent),
        " ORDER BY chain_id, signer, nonce"
    );
    read_all(&tx.query(sql, &[&payouts]).await?)
}

pub(super) async fn attempts(tx: &Tx, intent: IntentId) -> Outcome<Vec<Attempt>> {
    let sql = "SELECT chain_id, signer, nonce, number, hash, max_fee::text, priority_fee::text, raw, \
                   created_at_ms FROM attempt \
               WHERE chain_id = $1 AND signer = $2 AND nonce = $3 ORDER BY number";
    let params = (intent.chain.as_i64(), intent.signer, signed("nonce", intent.nonce)?);
    let rows = tx.query(sql, &[&params.0, &params.1.as_slice(), &params.2]).await?;
    Ok(rows.iter().map(|row| read_attempt(intent, row)).collect())
}

/// A page of signed forms, by transaction and number.
pub(super) async fn list_attempts(
    tx: &Tx,
    after: Option<(IntentId, u32)>,
    limit: u32,
) -> Outcome<Vec<Attempt>> {
    let sql = concat!(
        "SELECT chain_id, signer, nonce, number, hash, max_fee::text, priority_fee::text, raw, created_at_ms \
         FROM attempt WHERE (chain_id, signer, nonce, number) > ($1, $2, $3, $4) AND ",
        readable!(attempt),
        " ORDER BY chain_id, signer, nonce, number LIMIT $5"
    );
    // No chain has the id 0.
    let chain = after.map_or(0, |(id, _)| id.chain.as_i64());
    let nonce = after.map_or(Ok(0), |(id, _)| signed("nonce", id.nonce))?;
    let signer = after.as_ref().map_or(&[][..], |(id, _)| id.signer.as_slice());
    let number = after.map_or(0, |(_, number)| i64::from(number));
    let limit = i64::from(limit.min(MAX_PAYOUT_PAGE));
    let rows = tx.query(sql, &[&chain, &signer, &nonce, &number, &limit]).await?;
    rows.iter().map(|row| Ok(read_attempt(id_of(row)?, row))).collect()
}

/// A signed form, readable or not.
fn read_attempt(intent: IntentId, row: &Row) -> Attempt {
    let read = || -> Outcome<Attempt> {
        Ok(Attempt {
            intent,
            number: unsigned(row, 3)?,
            hash: hash(row, 4)?,
            fees: GasFees { max_fee: number(row, 5)?, priority_fee: number(row, 6)? },
            raw: get::<Vec<u8>>(row, 7)?.into(),
            created_at: timestamp(row, 8)?,
        })
    };
    read().unwrap_or_else(|_| Attempt::unreadable(intent, unsigned(row, 3).unwrap_or(0)))
}

fn id_of(row: &Row) -> Outcome<IntentId> {
    Ok(IntentId { chain: chain(row, 0)?, signer: address(row, 1)?, nonce: unsigned(row, 2)? })
}

fn read_all(rows: &[Row]) -> Outcome<Vec<Intent>> {
    rows.iter().map(|row| Ok(read(id_of(row)?, row))).collect()
}

/// A transaction, readable or not.
fn read(id: IntentId, row: &Row) -> Intent {
    read_columns(id, row).unwrap_or_else(|_| Intent::unreadable(id))
}

fn read_columns(id: IntentId, row: &Row) -> Outcome<Intent> {
    let payouts: Vec<&str> = get(row, 15)?;
    let state: &str = get(row, 8)?;
    Ok(Intent {
        id,
        version: get(row, 3)?,
        to: address(row, 4)?,
        data: get::<Vec<u8>>(row, 5)?.into(),
        gas_limit: unsigned(row, 6)?,
        payouts: payouts
            .into_iter()
            .map(|id| id.parse().map_err(|_| damaged(format!("{id} is no payout's id"))))
            .collect::<Outcome<_>>()?,
        created_at: timestamp(row, 7)?,
        state: IntentState::named(state).ok_or_else(|| damaged(format!("{state} is no state")))?,
        updated_at: timestamp(row, 9)?,
        attempts: unsigned(row, 10)?,
        signed_at_block: unsigned(row, 11)?,
        inclusion: inclusion(row, 12)?,
        mac: hash(row, 16)?,
        receipt: receipt(row, 17)?,
    })
}
