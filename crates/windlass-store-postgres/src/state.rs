//! Values kept under keys.

use windlass_core::commit::Written;
use windlass_core::name::StateKey;

use crate::error::Outcome;
use crate::row::damaged;
use crate::tx::Tx;

/// The value kept under a key.
pub(crate) async fn find(tx: &Tx, key: &StateKey) -> Outcome<Option<String>> {
    let row = tx.query_opt("SELECT value FROM state WHERE key = $1", &[&key.as_str()]).await?;
    let Some(row) = row else { return Ok(None) };
    row.try_get(0).map(Some).map_err(|error| damaged(error.to_string()))
}

/// Keeps a value under a key, or forgets it.
pub(crate) async fn put(tx: &Tx, key: &StateKey, value: Option<&str>) -> Outcome<Written> {
    match value {
        Some(value) => {
            tx.execute(
                "INSERT INTO state (key, value, updated_at_ms) VALUES ($1, $2, windlass_now($3))
                 ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, updated_at_ms = EXCLUDED.updated_at_ms",
                &[&key.as_str(), &value, &tx.now_ms],
            )
            .await?
        }
        None => tx.execute("DELETE FROM state WHERE key = $1", &[&key.as_str()]).await?,
    };
    Ok(Written::Done)
}
