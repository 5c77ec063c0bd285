//! Payouts.

use std::collections::BTreeSet;

use rusqlite::types::ToSqlOutput;
use rusqlite::{Row, ToSql, params_from_iter};
use windlass_core::chain::{Address, U256};
use windlass_core::error::StoreResult;
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::{Hold, Payout};
use windlass_core::payout::memo::{Memo, Reference};
use windlass_core::payout::partial_id::IdSuffix;
use windlass_core::payout::request::{IdempotencyKey, PayoutId, PayoutRequest, VaultRef};
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery};
use windlass_core::time::Timestamp;

use super::ids;
use super::put_one;
use super::value::{
    InclusionColumns, amount, bytes_of, chain, inclusion, intent_id, nothing, optional_timestamp, text,
};
use crate::error::Translate;
use crate::row::{address, damaged, get, hash, signed, timestamp, unsigned};
use crate::writer::Tx;

const COLUMNS: &str = "id, version, key, chain_id, vault, token, recipient, amount, created_by, created_at_ms, \
     retry_of, state, updated_at_ms, reason, hold_reason, hold_until_ms, budget_day, intent_signer, \
     intent_nonce, transaction_hash, block_number, block_hash, submitted_at_ms, confirmed_at_ms, \
     finalized_at_ms, mac, memo, reference, request_id";

/// Makes a payout, or replaces it by the version that follows.
pub(super) fn put(tx: &Tx<'_>, payout: &Payout) -> StoreResult<()> {
    if payout.version == 1 {
        insert(tx, payout)?;
        // Everything that changes is empty at first, and held to be so by the row's rules.
        return Ok(());
    }
    update(tx, payout, "version = ?2 - 1")
}

/// Writes whatever may change of a payout, where its row meets a condition.
pub(super) fn update(tx: &Tx<'_>, payout: &Payout, condition: &str) -> StoreResult<()> {
    let at = InclusionColumns::of(payout.inclusion.as_ref())?;
    let ms = |at: Option<Timestamp>| at.map(Timestamp::as_ms);
    put_one(
        tx,
        || format!("payout {}", payout.id),
        &format!(
            "UPDATE payout SET version = ?2, state = ?3, updated_at_ms = ?4, reason = ?5, hold_reason = ?6, \
             hold_until_ms = ?7, budget_day = ?8, intent_signer = ?9, intent_nonce = ?10, \
             transaction_hash = ?11, block_number = ?12, block_hash = ?13, submitted_at_ms = ?14, \
             confirmed_at_ms = ?15, finalized_at_ms = ?16, mac = ?17 \
         WHERE id = ?1 AND {condition}"
        ),
        rusqlite::params![
            payout.id.to_string(),
            payout.version,
            payout.state.as_str(),
            payout.updated_at.as_ms(),
            payout.reason,
            payout.hold.as_ref().map(|hold| &hold.reason),
            payout.hold.as_ref().and_then(|hold| ms(hold.until)),
            payout.budget_day.map(|day| day.0),
            payout.intent.as_ref().map(|intent| bytes_of(&intent.signer)),
            payout.intent.map(|intent| signed("nonce", intent.nonce)).transpose()?,
            at.transaction,
            at.number,
            at.block,
            ms(payout.submitted_at),
            ms(payout.confirmed_at),
            ms(payout.finalized_at),
            payout.mac.as_slice(),
        ],
    )
}

pub(super) fn insert(tx: &Tx<'_>, payout: &Payout) -> StoreResult<()> {
    let request = &payout.request;
    put_one(
        tx,
        || format!("payout {} or its key {}", payout.id, request.key),
        "INSERT INTO payout (id, version, key, request_id, chain_id, vault, token, recipient, amount, \
             created_by, created_at_ms, retry_of, state, updated_at_ms, mac, memo, reference) \
         VALUES (?1, 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
        rusqlite::params![
            payout.id.to_string(),
            request.key.as_str(),
            request.request_id().as_slice(),
            request.vault.chain.as_i64(),
            bytes_of(&request.vault.address),
            bytes_of(&request.token),
            bytes_of(&request.to),
            request.amount.to_be_bytes::<32>(),
            payout.created_by,
            payout.created_at.as_ms(),
            payout.retry_of.map(|id| id.to_string()),
            payout.state.as_str(),
            payout.updated_at.as_ms(),
            payout.mac.as_slice(),
            payout.memo.as_ref().map(Memo::as_str),
            payout.reference.as_ref().map(Reference::as_str),
        ],
    )
}

/// Payouts by the values of a unique column.
pub(super) fn by<T: ToSql>(tx: &Tx<'_>, column: &str, values: Vec<T>) -> StoreResult<Vec<Payout>> {
    let mut statement = tx.prepare(&format!("SELECT {COLUMNS} FROM payout WHERE {column} = ?1"))?;
    let mut payouts = Vec::with_capacity(values.len());
    for value in values {
        let mut rows = statement.query([value]).translate()?;
        payouts.extend(rows.next().translate()?.and_then(read));
    }
    payouts.sort_by_key(|payout| payout.id);
    payouts.dedup_by_key(|payout| payout.id);
    Ok(payouts)
}

/// A page of payouts.
pub(super) fn list(tx: &Tx<'_>, query: &PayoutQuery) -> StoreResult<Vec<Payout>> {
    let mut conditions = vec![ids::PAYOUT];
    let mut params: Vec<ToSqlOutput<'_>> = Vec::new();
    let (behind, order) = if query.newest_first { ("id < ?", "DESC") } else { ("id > ?", "ASC") };
    let suffix: Option<&IdSuffix> = query.id_suffix.as_ref();
    let wanted = [
        ("state = ?", query.state.map(|state| ToSqlOutput::from(state.as_str()))),
        ("retry_of = ?", query.retry_of.map(|id| id.to_string().into())),
        ("recipient = ?", query.to.map(|to| to.as_slice().to_vec().into())),
        ("token = ?", query.token.map(|token| token.as_slice().to_vec().into())),
        ("amount = ?", query.amount.map(|amount| amount.to_be_bytes_vec().into())),
        ("key = ?", query.key.as_ref().map(|key| ToSqlOutput::from(key.as_str()))),
        ("reference = ?", query.reference.as_ref().map(|text| ToSqlOutput::from(text.as_str()))),
        ("substr(id, 31) = ?", suffix.map(|suffix| ToSqlOutput::from(suffix.indexed()))),
        ("replace(id, '-', '') LIKE ?", suffix.map(|suffix| format!("%{}", suffix.digits()).into())),
        ("id >= ?", query.from.map(|id| id.to_string().into())),
        ("id < ?", query.before.map(|id| id.to_string().into())),
        (behind, query.after.map(|id| id.to_string().into())),
    ];
    for (condition, value) in wanted {
        if let Some(value) = value {
            conditions.push(condition);
            params.push(value);
        }
    }
    params.push(ToSqlOutput::from(i64::from(query.limit.min(MAX_PAYOUT_PAGE))));
    let filter = conditions.join(" AND ");
    let sql = format!("SELECT {COLUMNS} FROM payout WHERE {filter} ORDER BY id {order} LIMIT ?");
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(params)).translate()?;
    let mut payouts = Vec::new();
    while let Some(row) = rows.next().translate()? {
        payouts.extend(read(row));
    }
    Ok(payouts)
}

/// How many payouts stand where.
pub(super) fn count(tx: &Tx<'_>) -> StoreResult<Vec<(PayoutState, u64)>> {
    let mut statement = tx.prepare("SELECT state, count(*) FROM payout GROUP BY state")?;
    let mut rows = statement.query([]).translate()?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next().translate()? {
        // A row of an unknown state is refused wherever it is read.
        if let Ok(state) = text(row, 0) {
            counts.push((state, unsigned(row, 1)?));
        }
    }
    counts.sort_unstable();
    Ok(counts)
}

/// How many payouts of each vault are not in a block yet.
pub(super) fn count_waiting(tx: &Tx<'_>) -> StoreResult<Vec<(VaultRef, u64)>> {
    let mut statement = tx.prepare(
        "SELECT chain_id, vault, count(*) FROM payout WHERE state IN ('PENDING_RISK', 'APPROVED', 'SUBMITTED') \
             GROUP BY chain_id, vault ORDER BY chain_id, vault",
    )?;
    let mut rows = statement.query([]).translate()?;
    let mut counts = Vec::new();
    while let Some(row) = rows.next().translate()? {
        // Rows of a vault that cannot be read are refused wherever they are read.
        if let (Ok(chain), Ok(address)) = (chain(row, 0), address(row, 1)) {
            counts.push((VaultRef { chain, address }, unsigned(row, 2)?));
        }
    }
    Ok(counts)
}

/// For each of these recipients that has one a confirmed payout of a vault.
pub(super) fn paid_to(tx: &Tx<'_>, vault: VaultRef, to: &BTreeSet<Address>) -> StoreResult<Vec<Payout>> {
    let mut statement = tx.prepare(&format!(
        "SELECT {COLUMNS} FROM payout \
         WHERE chain_id = ?1 AND vault = ?2 AND recipient = ?3 AND state = 'CONFIRMED' LIMIT 1"
    ))?;
    let mut payouts = Vec::new();
    for to in to {
        let params = (vault.chain.as_i64(), bytes_of(&vault.address), bytes_of(to));
        let mut rows = statement.query(params).translate()?;
        payouts.extend(rows.next().translate()?.and_then(read));
    }
    Ok(payouts)
}

/// How much of a token is submitted and not in a block yet.
pub(super) fn open_total(tx: &Tx<'_>, vault: VaultRef, token: Address) -> StoreResult<U256> {
    let mut statement = tx.prepare(
        "SELECT amount FROM payout WHERE state = 'SUBMITTED' AND block_number IS NULL \
             AND chain_id = ?1 AND vault = ?2 AND token = ?3",
    )?;
    let params = (vault.chain.as_i64(), bytes_of(&vault.address), bytes_of(&token));
    let mut rows = statement.query(params).translate()?;
    let mut total = U256::ZERO;
    while let Some(row) = rows.next().translate()? {
        // An amount that cannot be read is of a row that is refused wherever it is read.
        total = total.saturating_add(amount(row, 0).unwrap_or_default());
    }
    Ok(total)
}

/// A payout, readable or not; nothing where its id cannot be read.
fn read(row: &Row<'_>) -> Option<Payout> {
    let id = text(row, 0).ok()?;
    Some(read_columns(id, row).unwrap_or_else(|_| Payout::unreadable(id)))
}

fn read_columns(id: PayoutId, row: &Row<'_>) -> StoreResult<Payout> {
    let vault = VaultRef { chain: chain(row, 3)?, address: address(row, 4)? };
    let key = IdempotencyKey::new(get::<String>(row, 2)?).map_err(|error| damaged(2, &error))?;
    let until = optional_timestamp(row, 15)?;
    let payout = Payout {
        id,
        version: get(row, 1)?,
        request: PayoutRequest {
            vault,
            token: address(row, 5)?,
            to: address(row, 6)?,
            amount: amount(row, 7)?,
            key,
        },
        created_by: get(row, 8)?,
        created_at: timestamp(row, 9)?,
        retry_of: match get::<Option<String>>(row, 10)? {
            None => None,
            Some(_) => Some(text(row, 10)?),
        },
        state: text(row, 11)?,
        updated_at: timestamp(row, 12)?,
        reason: get(row, 13)?,
        hold: match get::<Option<String>>(row, 14)? {
            Some(reason) => Some(Hold { reason, until }),
            None => nothing(row, &[15])?,
        },
        budget_day: get::<Option<i64>>(row, 16)?.map(UtcDay),
        intent: intent_id(row, vault.chain, 17)?,
        inclusion: inclusion(row, 19)?,
        submitted_at: optional_timestamp(row, 22)?,
        confirmed_at: optional_timestamp(row, 23)?,
        finalized_at: optional_timestamp(row, 24)?,
        mac: hash(row, 25)?,
        memo: get::<Option<String>>(row, 26)?
            .map(Memo::new)
            .transpose()
            .map_err(|error| damaged(26, &error))?,
        reference: get::<Option<String>>(row, 27)?
            .map(Reference::new)
            .transpose()
            .map_err(|error| damaged(27, &error))?,
    };
    Ok(payout.stored_under(hash(row, 28)?))
}
