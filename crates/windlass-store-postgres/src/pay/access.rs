//! Keys of the API.

use tokio_postgres::Row;
use windlass_core::chain::B256;
use windlass_core::payout::ledger::ApiKey;

use super::put_rows;
use super::value::optional_timestamp;
use crate::error::Outcome;
use crate::row::{get, hash, name, timestamp};
use crate::tx::Tx;

const INSERT: &str = "INSERT INTO api_key (name, version, role, hash, created_at_ms, revoked_at_ms, mac) \
     VALUES ($1, $2, $3, $4, $5, $6, $7)";
const UPDATE: &str =
    "UPDATE api_key SET version = $2, revoked_at_ms = $3, mac = $4 WHERE name = $1 AND version + 1 = $2";

pub(super) async fn put(tx: &Tx, key: &ApiKey) -> Outcome<()> {
    let what = || format!("API key {}", key.name);
    let revoked = key.revoked_at.map(|at| at.as_ms());
    let mac = key.mac.as_slice();
    if key.version > 1 {
        return put_rows(tx, what, 1, UPDATE, &[&key.name, &key.version, &revoked, &mac]).await;
    }
    insert(tx, key).await
}

/// Makes a key at whatever version it has.
pub(super) async fn insert(tx: &Tx, key: &ApiKey) -> Outcome<()> {
    let what = || format!("API key {}", key.name);
    let revoked = key.revoked_at.map(|at| at.as_ms());
    let (role, hash, mac) = (key.role.as_str(), key.hash, key.mac);
    let params: [crate::tx::Param<'_>; 7] = [
        &key.name,
        &key.version,
        &role,
        &hash.as_slice(),
        &key.created_at.as_ms(),
        &revoked,
        &mac.as_slice(),
    ];
    put_rows(tx, what, 1, INSERT, &params).await
}

pub(super) async fn find(tx: &Tx, hash: B256) -> Outcome<Option<ApiKey>> {
    let sql =
        "SELECT name, version, role, hash, created_at_ms, revoked_at_ms, mac FROM api_key WHERE hash = $1";
    Ok(tx.query_opt(sql, &[&hash.as_slice()]).await?.as_ref().and_then(read))
}

pub(super) async fn list(tx: &Tx) -> Outcome<Vec<ApiKey>> {
    let sql =
        "SELECT name, version, role, hash, created_at_ms, revoked_at_ms, mac FROM api_key ORDER BY name";
    Ok(tx.query(sql, &[]).await?.iter().filter_map(read).collect())
}

/// A key, readable or not; nothing where its name cannot be read.
fn read(row: &Row) -> Option<ApiKey> {
    let name: &str = get(row, 0).ok()?;
    Some(read_columns(name, row).unwrap_or_else(|_| ApiKey::unreadable(name)))
}

fn read_columns(key: &str, row: &Row) -> Outcome<ApiKey> {
    Ok(ApiKey {
        name: key.to_owned(),
        version: get(row, 1)?,
        role: name(row, 2)?,
        hash: hash(row, 3)?,
        created_at: timestamp(row, 4)?,
        revoked_at: optional_timestamp(row, 5)?,
        mac: hash(row, 6)?,
    })
}
