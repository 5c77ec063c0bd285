//! Accounts that sign, and their nonces.

use rusqlite::Row;
use windlass_core::chain::{Address, ChainId};
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::SignerRow;

use super::put_one;
use super::value::{bytes_of, chain};
use crate::error::Translate;
use crate::row::{address, get, hash, signed, timestamp, unsigned};
use crate::writer::Tx;

const COLUMNS: &str = "chain_id, address, version, next_nonce, halted, updated_at_ms, mac";

const INSERT: &str = "INSERT INTO signer (chain_id, address, version, next_nonce, halted, updated_at_ms, mac) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
const UPDATE: &str = "UPDATE signer SET version = ?3, next_nonce = ?4, halted = ?5, updated_at_ms = ?6, mac = ?7 \
     WHERE chain_id = ?1 AND address = ?2 AND version = ?3 - 1";

pub(super) fn put(tx: &Tx<'_>, signer: &SignerRow) -> StoreResult<()> {
    write(tx, signer, if signer.version == 1 { INSERT } else { UPDATE })
}

/// Makes an account at whatever version it has.
pub(super) fn insert(tx: &Tx<'_>, signer: &SignerRow) -> StoreResult<()> {
    write(tx, signer, INSERT)
}

fn write(tx: &Tx<'_>, signer: &SignerRow, sql: &str) -> StoreResult<()> {
    put_one(
        tx,
        || format!("signer {}", signer.address),
        sql,
        rusqlite::params![
            signer.chain.as_i64(),
            bytes_of(&signer.address),
            signer.version,
            signed("nonce", signer.next_nonce)?,
            signer.halted,
            signer.updated_at.as_ms(),
            signer.mac.as_slice(),
        ],
    )
}

pub(super) fn find(tx: &Tx<'_>, chain: ChainId, address: Address) -> StoreResult<Option<SignerRow>> {
    let sql = format!("SELECT {COLUMNS} FROM signer WHERE chain_id = ?1 AND address = ?2");
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query((chain.as_i64(), bytes_of(&address))).translate()?;
    rows.next().translate()?.map(read).transpose()
}

pub(super) fn list(tx: &Tx<'_>) -> StoreResult<Vec<SignerRow>> {
    let mut statement = tx.prepare(&format!("SELECT {COLUMNS} FROM signer ORDER BY chain_id, address"))?;
    let mut rows = statement.query([]).translate()?;
    let mut signers = Vec::new();
    while let Some(row) = rows.next().translate()? {
        signers.push(read(row)?);
    }
    Ok(signers)
}

fn read(row: &Row<'_>) -> StoreResult<SignerRow> {
    Ok(SignerRow {
        chain: chain(row, 0)?,
        address: address(row, 1)?,
        version: get(row, 2)?,
        next_nonce: unsigned(row, 3)?,
        halted: get(row, 4)?,
        updated_at: timestamp(row, 5)?,
        mac: hash(row, 6)?,
    })
}
