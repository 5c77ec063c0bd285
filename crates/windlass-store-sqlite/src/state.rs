//! Values kept under a key.

use windlass_core::commit::Written;
use windlass_core::error::StoreResult;
use windlass_core::name::StateKey;

use crate::error::Translate;
use crate::row::damaged;
use crate::writer::Tx;

/// Keeps or forgets a value.
pub(crate) fn put(tx: &Tx<'_>, key: &StateKey, value: Option<&str>) -> StoreResult<Written> {
    match value {
        Some(value) => tx.execute(
            "INSERT INTO state (key, value, updated_at_ms) VALUES (?1, ?2, ?3) \
             ON CONFLICT (key) DO UPDATE SET value = ?2, updated_at_ms = ?3",
            (key.as_str(), value, tx.now.as_ms()),
        )?,
        None => tx.execute("DELETE FROM state WHERE key = ?1", [key.as_str()])?,
    };
    Ok(Written::Done)
}

/// The value kept under a key; [`StoreError::Corrupt`](windlass_core::error::StoreError::Corrupt) where it is no text.
pub(crate) fn find(tx: &Tx<'_>, key: &StateKey) -> StoreResult<Option<String>> {
    let mut statement = tx.prepare("SELECT value FROM state WHERE key = ?1")?;
    let mut rows = statement.query([key.as_str()]).translate()?;
    let Some(row) = rows.next().translate()? else { return Ok(None) };
    row.get(0).map(Some).map_err(|error| damaged(0, &error))
}
