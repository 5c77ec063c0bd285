//! Cursors: seeded once, moved by their rule, reset only by who knows where they stand.

use async_trait::async_trait;
use rusqlite::OptionalExtension;
use windlass_core::commit::Written;
use windlass_core::cursor::{Cursor, CursorMove, CursorRule};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::CursorName;
use windlass_core::store::{Cursors, MAX_LISTED_CURSORS};

use crate::SqliteStore;
use crate::error::Translate;
use crate::row::{damaged, get, name};
use crate::writer::Tx;

#[async_trait]
impl Cursors for SqliteStore {
    async fn cursor(&self, name: &CursorName) -> StoreResult<Option<Cursor>> {
        let name = name.clone();
        self.read(move |tx| find(tx, &name)).await
    }

    async fn list_cursors(&self) -> StoreResult<Vec<(CursorName, Cursor)>> {
        self.read(list).await
    }
}

fn list(tx: &Tx<'_>) -> StoreResult<Vec<(CursorName, Cursor)>> {
    let mut statement =
        tx.prepare("SELECT name, primary_pos, secondary FROM cursor ORDER BY name LIMIT ?1")?;
    let mut rows = statement.query([MAX_LISTED_CURSORS]).translate()?;
    let mut cursors = Vec::new();
    while let Some(row) = rows.next().translate()? {
        let (primary, secondary): (i64, String) = (get(row, 1)?, get(row, 2)?);
        let cursor = Cursor::new(primary, secondary).map_err(|error| damaged(2, &error))?;
        cursors.push((name(row, 0)?, cursor));
    }
    Ok(cursors)
}

fn find(tx: &Tx<'_>, name: &CursorName) -> StoreResult<Option<Cursor>> {
    let found: Option<(i64, String)> = tx
        .prepare("SELECT primary_pos, secondary FROM cursor WHERE name = ?1")?
        .query_row([name.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .translate()?;
    found
        .map(|(primary, secondary)| Cursor::new(primary, secondary).map_err(|error| damaged(1, &error)))
        .transpose()
}

/// Where a cursor stands, which somebody must have seeded.
pub(crate) fn require(tx: &Tx<'_>, name: &CursorName) -> StoreResult<Cursor> {
    find(tx, name)?.ok_or_else(|| StoreError::CursorMissing(name.clone()))
}

/// Creates a cursor unless it exists.
pub(crate) fn seed(tx: &Tx<'_>, name: &CursorName, start: &Cursor) -> StoreResult<Written> {
    let created = tx.execute(
        "INSERT INTO cursor (name, primary_pos, secondary, updated_at_ms) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (name) DO NOTHING",
        (name.as_str(), start.primary(), start.secondary(), tx.now.as_ms()),
    )?;
    Ok(Written::Rows(created as u64))
}

/// Moves a cursor forward by its rule.
pub(crate) fn advance(tx: &Tx<'_>, name: &CursorName, to: &Cursor, rule: CursorRule) -> StoreResult<Written> {
    let stored = require(tx, name)?;
    let decision = rule.decide(&stored, to);
    match decision {
        CursorMove::Advanced => put(tx, name, to)?,
        CursorMove::Unchanged => {}
        CursorMove::Conflict => return Err(conflict(name, stored, to)),
    }
    Ok(Written::Cursor(decision))
}

/// Moves a cursor anywhere, if it stands where the caller thinks.
pub(crate) fn reset(tx: &Tx<'_>, name: &CursorName, expected: &Cursor, to: &Cursor) -> StoreResult<Written> {
    let stored = require(tx, name)?;
    if stored != *expected {
        return Err(conflict(name, stored, expected));
    }
    put(tx, name, to)?;
    Ok(Written::Cursor(CursorMove::Advanced))
}

/// Writes a position without asking.
pub(crate) fn put(tx: &Tx<'_>, name: &CursorName, to: &Cursor) -> StoreResult<()> {
    tx.execute(
        "UPDATE cursor SET primary_pos = ?2, secondary = ?3, updated_at_ms = ?4 WHERE name = ?1",
        (name.as_str(), to.primary(), to.secondary(), tx.now.as_ms()),
    )?;
    Ok(())
}

fn conflict(name: &CursorName, stored: Cursor, proposed: &Cursor) -> StoreError {
    StoreError::CursorConflict { name: name.clone(), stored, proposed: proposed.clone() }
}
