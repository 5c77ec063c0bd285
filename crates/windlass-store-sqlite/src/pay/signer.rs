//! Accounts that sign, and their nonces.

use rusqlite::Row;
use windlass_core::chain::{Address, ChainId};
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::SignerRow;

use super::ids;
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
    Ok(rows.next().translate()?.map(|row| read(chain, address, row)))
}

pub(super) fn list(tx: &Tx<'_>) -> StoreResult<Vec<SignerRow>> {
    let readable = ids::SIGNER;
    let sql = format!("SELECT {COLUMNS} FROM signer WHERE {readable} ORDER BY chain_id, address");
    let mut statement = tx.prepare(&sql)?;
    let mut rows = statement.query([]).translate()?;
    let mut signers = Vec::new();
    while let Some(row) = rows.next().translate()? {
        signers.push(read(chain(row, 0)?, address(row, 1)?, row));
    }
    Ok(signers)
}

/// An account, readable or not.
fn read(chain: ChainId, address: Address, row: &Row<'_>) -> SignerRow {
    read_columns(chain, address, row).unwrap_or_else(|_| SignerRow::unreadable(chain, address))
}

fn read_columns(chain: ChainId, address: Address, row: &Row<'_>) -> StoreResult<SignerRow> {
    Ok(SignerRow {
        chain,
        address,
        version: get(row, 2)?,
        next_nonce: unsigned(row, 3)?,
        halted: get(row, 4)?,
        updated_at: timestamp(row, 5)?,
        mac: hash(row, 6)?,
    })
}
