//! Accounts that sign, and their nonces.

use tokio_postgres::Row;
use windlass_core::chain::{Address, ChainId};
use windlass_core::payout::ledger::SignerRow;

use super::ids::readable;
use super::put_rows;
use super::value::chain;
use crate::error::Outcome;
use crate::row::{address, get, hash, signed, timestamp, unsigned};
use crate::tx::Tx;

const INSERT: &str = "INSERT INTO signer (chain_id, address, version, next_nonce, halted, updated_at_ms, mac) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";
const UPDATE: &str = "UPDATE signer SET version = $3, next_nonce = $4, halted = $5, updated_at_ms = $6, mac = $7 \
     WHERE chain_id = $1 AND address = $2 AND version + 1 = $3";

pub(super) async fn put(tx: &Tx, signer: &SignerRow) -> Outcome<()> {
    write(tx, signer, if signer.version == 1 { INSERT } else { UPDATE }).await
}

/// Makes an account at whatever version it has.
pub(super) async fn insert(tx: &Tx, signer: &SignerRow) -> Outcome<()> {
    write(tx, signer, INSERT).await
}

async fn write(tx: &Tx, signer: &SignerRow, sql: &str) -> Outcome<()> {
    put_rows(
        tx,
        || format!("signer {}", signer.address),
        1,
        sql,
        &[
            &signer.chain.as_i64(),
            &signer.address.as_slice(),
            &signer.version,
            &signed("nonce", signer.next_nonce)?,
            &signer.halted,
            &signer.updated_at.as_ms(),
            &signer.mac.as_slice(),
        ],
    )
    .await
}

pub(super) async fn find(tx: &Tx, chain: ChainId, address: Address) -> Outcome<Option<SignerRow>> {
    let sql = "SELECT chain_id, address, version, next_nonce, halted, updated_at_ms, mac FROM signer \
               WHERE chain_id = $1 AND address = $2";
    let row = tx.query_opt(sql, &[&chain.as_i64(), &address.as_slice()]).await?;
    Ok(row.map(|row| read(chain, address, &row)))
}

pub(super) async fn list(tx: &Tx) -> Outcome<Vec<SignerRow>> {
    let sql = concat!(
        "SELECT chain_id, address, version, next_nonce, halted, updated_at_ms, mac FROM signer WHERE ",
        readable!(signer),
        " ORDER BY chain_id, address"
    );
    let rows = tx.query(sql, &[]).await?;
    rows.iter().map(|row| Ok(read(chain(row, 0)?, address(row, 1)?, row))).collect()
}

/// An account, readable or not.
fn read(chain: ChainId, address: Address, row: &Row) -> SignerRow {
    read_columns(chain, address, row).unwrap_or_else(|_| SignerRow::unreadable(chain, address))
}

fn read_columns(chain: ChainId, address: Address, row: &Row) -> Outcome<SignerRow> {
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
