//! Transactions and their signed forms.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Row;
use windlass_core::error::StoreResult;
use windlass_core::payout::fees::GasFees;
use windlass_core::payout::ledger::{Attempt, Intent, IntentId, IntentState};
use windlass_core::payout::request::PayoutId;
use windlass_core::payout::store::MAX_PAYOUT_PAGE;

use super::ids;
use super::put_one;
use super::value::{InclusionColumns, bytes_of, chain, fee, inclusion, receipt, text};
use crate::error::Translate;
use crate::row::{address, damaged, get, hash, signed, timestamp, unsigned};
use crate::writer::Tx;

const COLUMNS: &str = "chain_id, signer, nonce, version, recipient, data, gas_limit, created_at_ms, state, \
     updated_at_ms, attempts, signed_at_block, transaction_hash, block_number, block_hash, mac, \
     gas_used, effective_gas_price, block_timestamp_s";

/// Makes a transaction, or replaces it by the version that follows.
pub(super) fn put(tx: &Tx<'_>, intent: &Intent) -> StoreResult<()> {
    if intent.version == 1 {
        return insert(tx, intent);
    }
    update(tx, intent, "version = ?4 - 1")
}

/// Writes whatever may change of a transaction, where its row meets a condition.
pub(super) fn update(tx: &Tx<'_>, intent: &Intent, condition: &str) -> StoreResult<()> {
    let at = InclusionColumns::of(intent.inclusion.as_ref())?;
    put_one(
        tx,
        || format!("transaction {}", intent.id),
        &format!(
            "UPDATE intent SET version = ?4, state = ?5, updated_at_ms = ?6, attempts = ?7, signed_at_block = ?8, \
             transaction_hash = ?9, block_number = ?10, block_hash = ?11, mac = ?12, \
             gas_used = ?13, effective_gas_price = ?14, block_timestamp_s = ?15 \
         WHERE chain_id = ?1 AND signer = ?2 AND nonce = ?3 AND {condition}"
        ),
        rusqlite::params![
            intent.id.chain.as_i64(),
            bytes_of(&intent.id.signer),
            signed("nonce", intent.id.nonce)?,
            intent.version,
            intent.state.as_str(),
            intent.updated_at.as_ms(),
            intent.attempts,
            signed("block", intent.signed_at_block)?,
            at.transaction,
            at.number,
            at.block,
            intent.mac.as_slice(),
            intent.receipt.map(|receipt| signed("gas", receipt.gas_used)).transpose()?,
            intent.receipt.map(|receipt| receipt.effective_gas_price.to_be_bytes()),
            intent.receipt.map(|receipt| signed("time", receipt.block_timestamp_s)).transpose()?,
        ],
    )
}

pub(super) fn insert(tx: &Tx<'_>, intent: &Intent) -> StoreResult<()> {
    let (chain, signer) = (intent.id.chain.as_i64(), bytes_of(&intent.id.signer));
    let nonce = signed("nonce", intent.id.nonce)?;
    put_one(
        tx,
        || format!("transaction {}", intent.id),
        "INSERT INTO intent (chain_id, signer, nonce, version, recipient, data, gas_limit, created_at_ms, \
             state, updated_at_ms, attempts, signed_at_block, mac) \
         VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        rusqlite::params![
            chain,
            signer,
            nonce,
            bytes_of(&intent.to),
            &intent.data[..],
            signed("gas limit", intent.gas_limit)?,
            intent.created_at.as_ms(),
            intent.state.as_str(),
            intent.updated_at.as_ms(),
            intent.attempts,
            signed("block", intent.signed_at_block)?,
            intent.mac.as_slice(),
        ],
    )?;
    for (place, payout) in (0_i64..).zip(&intent.payouts) {
        free_ended(tx, *payout)?;
        put_one(
            tx,
            || format!("the live transaction of payout {payout}"),
            "INSERT INTO intent_payout (chain_id, signer, nonce, place, payout_id) VALUES (?1, ?2, ?3, ?4, ?5)",
            (chain, signer, nonce, place, payout.to_string()),
        )?;
    }
    Ok(())
}

/// Only a transaction that is live keeps a payout from another one, whatever stands beside it.
fn free_ended(tx: &Tx<'_>, payout: PayoutId) -> StoreResult<()> {
    let sql = "UPDATE intent_payout AS p SET is_live = 0 WHERE payout_id = ?1 AND is_live = 1 \
               AND NOT EXISTS (SELECT 1 FROM intent i WHERE i.chain_id = p.chain_id AND i.signer = p.signer \
                   AND i.nonce = p.nonce AND i.state IN ('OPEN', 'MINED'))";
    tx.prepare(sql)?.execute([payout.to_string()]).translate()?;
    Ok(())
}

/// Keeps a signed form.
pub(super) fn put_attempt(tx: &Tx<'_>, attempt: &Attempt) -> StoreResult<()> {
    put_one(
        tx,
        || format!("attempt {} of transaction {}", attempt.number, attempt.intent),
        "INSERT INTO attempt (chain_id, signer, nonce, number, hash, max_fee, priority_fee, raw, created_at_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        rusqlite::params![
            attempt.intent.chain.as_i64(),
            bytes_of(&attempt.intent.signer),
            signed("nonce", attempt.intent.nonce)?,
            attempt.number,
            attempt.hash.as_slice(),
            attempt.fees.max_fee.to_be_bytes(),
            attempt.fees.priority_fee.to_be_bytes(),
            &attempt.raw[..],
            attempt.created_at.as_ms(),
        ],
    )
}

pub(super) fn find(tx: &Tx<'_>, id: IntentId) -> StoreResult<Option<Intent>> {
    let sql = format!("SELECT {COLUMNS} FROM intent WHERE chain_id = ?1 AND signer = ?2 AND nonce = ?3");
    let mut statement = tx.prepare(&sql)?;
    let params = (id.chain.as_i64(), bytes_of(&id.signer), signed("nonce", id.nonce)?);
    let mut rows = statement.query(params).translate()?;
    rows.next().translate()?.map(|row| read(tx, id, row)).transpose()
}

/// A page of transactions, by their ids.
pub(super) fn list(tx: &Tx<'_>, after: Option<IntentId>, limit: u32) -> StoreResult<Vec<Intent>> {
    let readable = ids::INTENT;
    let mut statement = tx.prepare(&format!(
        "SELECT {COLUMNS} FROM intent WHERE (chain_id, signer, nonce) > (?1, ?2, ?3) AND {readable} \
         ORDER BY chain_id, signer, nonce LIMIT ?4"
    ))?;
    let limit = limit.min(MAX_PAYOUT_PAGE);
    let mut rows = match &after {
        // No chain has the id 0.
        None => statement.query((0, [0_u8; 0], 0, limit)),
        Some(id) => {
            let nonce = signed("nonce", id.nonce)?;
            statement.query((id.chain.as_i64(), bytes_of(&id.signer), nonce, limit))
        }
    }
    .translate()?;
    let mut intents = Vec::new();
    while let Some(row) = rows.next().translate()? {
        intents.push(read(tx, id_of(row)?, row)?);
    }
    Ok(intents)
}

pub(super) fn of_payout(tx: &Tx<'_>, payout: PayoutId) -> StoreResult<Vec<Intent>> {
    let found = ids_of(tx, payout)?.into_iter().map(|id| find(tx, id));
    found.filter_map(Result::transpose).collect()
}

fn ids_of(tx: &Tx<'_>, payout: PayoutId) -> StoreResult<Vec<IntentId>> {
    let mut statement = tx.prepare(
        "SELECT chain_id, signer, nonce FROM intent_payout WHERE payout_id = ?1 ORDER BY chain_id, signer, nonce",
    )?;
    let mut rows = statement.query([payout.to_string()]).translate()?;
    let mut ids = Vec::new();
    while let Some(row) = rows.next().translate()? {
        // What names no transaction belongs to none.
        ids.extend(id_of(row));
    }
    Ok(ids)
}

/// The transactions of many payouts, by id.
pub(super) fn of_payouts(tx: &Tx<'_>, payouts: &BTreeSet<PayoutId>) -> StoreResult<Vec<Intent>> {
    let mut intents = BTreeMap::new();
    for payout in payouts {
        for id in ids_of(tx, *payout)? {
            if !intents.contains_key(&id)
                && let Some(intent) = find(tx, id)?
            {
                intents.insert(id, intent);
            }
        }
    }
    Ok(intents.into_values().collect())
}

const ATTEMPT_COLUMNS: &str =
    "chain_id, signer, nonce, number, hash, max_fee, priority_fee, raw, created_at_ms";

pub(super) fn attempts(tx: &Tx<'_>, intent: IntentId) -> StoreResult<Vec<Attempt>> {
    let sql = format!(
        "SELECT {ATTEMPT_COLUMNS} FROM attempt WHERE chain_id = ?1 AND signer = ?2 AND nonce = ?3 ORDER BY number"
    );
    let mut statement = tx.prepare(&sql)?;
    let params = (intent.chain.as_i64(), bytes_of(&intent.signer), signed("nonce", intent.nonce)?);
    let mut rows = statement.query(params).translate()?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next().translate()? {
        attempts.push(read_attempt(intent, row));
    }
    Ok(attempts)
}

/// A page of signed forms, by transaction and number.
pub(super) fn list_attempts(
    tx: &Tx<'_>,
    after: Option<(IntentId, u32)>,
    limit: u32,
) -> StoreResult<Vec<Attempt>> {
    let readable = ids::ATTEMPT;
    let mut statement = tx.prepare(&format!(
        "SELECT {ATTEMPT_COLUMNS} FROM attempt \
         WHERE (chain_id, signer, nonce, number) > (?1, ?2, ?3, ?4) AND {readable} \
         ORDER BY chain_id, signer, nonce, number LIMIT ?5"
    ))?;
    let limit = limit.min(MAX_PAYOUT_PAGE);
    let mut rows = match &after {
        // No chain has the id 0.
        None => statement.query((0, [0_u8; 0], 0, 0, limit)),
        Some((id, number)) => {
            let nonce = signed("nonce", id.nonce)?;
            statement.query((id.chain.as_i64(), bytes_of(&id.signer), nonce, number, limit))
        }
    }
    .translate()?;
    let mut attempts = Vec::new();
    while let Some(row) = rows.next().translate()? {
        attempts.push(read_attempt(id_of(row)?, row));
    }
    Ok(attempts)
}

/// A signed form, readable or not.
fn read_attempt(intent: IntentId, row: &Row<'_>) -> Attempt {
    let read = || -> StoreResult<Attempt> {
        Ok(Attempt {
            intent,
            number: unsigned(row, 3)?,
            hash: hash(row, 4)?,
            fees: GasFees { max_fee: fee(row, 5)?, priority_fee: fee(row, 6)? },
            raw: get::<Vec<u8>>(row, 7)?.into(),
            created_at: timestamp(row, 8)?,
        })
    };
    read().unwrap_or_else(|_| Attempt::unreadable(intent, unsigned(row, 3).unwrap_or(0)))
}

fn id_of(row: &Row<'_>) -> StoreResult<IntentId> {
    Ok(IntentId { chain: chain(row, 0)?, signer: address(row, 1)?, nonce: unsigned(row, 2)? })
}

/// A transaction, readable or not.
fn read(tx: &Tx<'_>, id: IntentId, row: &Row<'_>) -> StoreResult<Intent> {
    let payouts = payouts(tx, id)?;
    let read = || read_columns(id, payouts.ok_or_else(|| damaged(0, &"a payout's id"))?, row);
    Ok(read().unwrap_or_else(|_| Intent::unreadable(id)))
}

fn read_columns(id: IntentId, payouts: Vec<PayoutId>, row: &Row<'_>) -> StoreResult<Intent> {
    let state: String = get(row, 8)?;
    Ok(Intent {
        id,
        version: get(row, 3)?,
        to: address(row, 4)?,
        data: get::<Vec<u8>>(row, 5)?.into(),
        gas_limit: unsigned(row, 6)?,
        payouts,
        created_at: timestamp(row, 7)?,
        state: IntentState::named(&state).ok_or_else(|| damaged(8, &state))?,
        updated_at: timestamp(row, 9)?,
        attempts: unsigned(row, 10)?,
        signed_at_block: unsigned(row, 11)?,
        inclusion: inclusion(row, 12)?,
        mac: hash(row, 15)?,
        receipt: receipt(row, 16)?,
    })
}

/// What a transaction pays; nothing where one of the payouts cannot be read.
fn payouts(tx: &Tx<'_>, id: IntentId) -> StoreResult<Option<Vec<PayoutId>>> {
    let mut statement = tx.prepare(
        "SELECT payout_id FROM intent_payout WHERE chain_id = ?1 AND signer = ?2 AND nonce = ?3 ORDER BY place",
    )?;
    let params = (id.chain.as_i64(), bytes_of(&id.signer), signed("nonce", id.nonce)?);
    let mut rows = statement.query(params).translate()?;
    let mut payouts = Vec::new();
    while let Some(row) = rows.next().translate()? {
        let Ok(payout) = text(row, 0) else { return Ok(None) };
        payouts.push(payout);
    }
    Ok(Some(payouts))
}
