//! Keys of the API.

use rusqlite::Row;
use windlass_core::chain::B256;
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::ApiKey;

use super::put_one;
use super::value::{optional_timestamp, text};
use crate::error::Translate;
use crate::row::{get, hash, timestamp};
use crate::writer::Tx;

const COLUMNS: &str = "name, version, role, hash, created_at_ms, revoked_at_ms, mac";

pub(super) fn put(tx: &Tx<'_>, key: &ApiKey) -> StoreResult<()> {
    let what = || format!("API key {}", key.name);
    let revoked = key.revoked_at.map(|at| at.as_ms());
    let mac = key.mac.as_slice();
    if key.version == 1 {
        return insert(tx, key);
    }
    put_one(
        tx,
        what,
        "UPDATE api_key SET version = ?2, revoked_at_ms = ?3, mac = ?4 WHERE name = ?1 AND version = ?2 - 1",
        (&key.name, key.version, revoked, mac),
    )
}

/// Makes a key at whatever version it has.
pub(super) fn insert(tx: &Tx<'_>, key: &ApiKey) -> StoreResult<()> {
    let revoked = key.revoked_at.map(|at| at.as_ms());
    let (role, hash, mac) = (key.role.as_str(), key.hash.as_slice(), key.mac.as_slice());
    put_one(
        tx,
        || format!("API key {}", key.name),
        "INSERT INTO api_key (name, version, role, hash, created_at_ms, revoked_at_ms, mac) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        (&key.name, key.version, role, hash, key.created_at.as_ms(), revoked, mac),
    )
}

pub(super) fn find(tx: &Tx<'_>, hash: B256) -> StoreResult<Option<ApiKey>> {
    let mut statement = tx.prepare(&format!("SELECT {COLUMNS} FROM api_key WHERE hash = ?1"))?;
    let mut rows = statement.query([hash.as_slice()]).translate()?;
    Ok(rows.next().translate()?.and_then(read))
}

pub(super) fn list(tx: &Tx<'_>) -> StoreResult<Vec<ApiKey>> {
    let mut statement = tx.prepare(&format!("SELECT {COLUMNS} FROM api_key ORDER BY name"))?;
    let mut rows = statement.query([]).translate()?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next().translate()? {
        keys.extend(read(row));
    }
    Ok(keys)
}

/// A key, readable or not; nothing where its name cannot be read.
fn read(row: &Row<'_>) -> Option<ApiKey> {
    let name: String = get(row, 0).ok()?;
    Some(read_columns(&name, row).unwrap_or_else(|_| ApiKey::unreadable(name)))
}

fn read_columns(name: &str, row: &Row<'_>) -> StoreResult<ApiKey> {
    Ok(ApiKey {
        name: name.to_owned(),
        version: get(row, 1)?,
        role: text(row, 2)?,
        hash: hash(row, 3)?,
        created_at: timestamp(row, 4)?,
        revoked_at: optional_timestamp(row, 5)?,
        mac: hash(row, 6)?,
    })
}
