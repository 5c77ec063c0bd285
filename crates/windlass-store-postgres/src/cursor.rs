//! Cursors: seeded once, moved by their rule, never past a contradiction.

use async_trait::async_trait;
use windlass_core::commit::Written;
use windlass_core::cursor::{Cursor, CursorMove, CursorRule};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::CursorName;
use windlass_core::store::{Cursors, MAX_LISTED_CURSORS};

use crate::PostgresStore;
use crate::error::Outcome;
use crate::row::{damaged, get};
use crate::tx::Tx;

#[async_trait]
impl Cursors for PostgresStore {
    async fn cursor(&self, name: &CursorName) -> StoreResult<Option<Cursor>> {
        self.read(name, |tx, name| {
            Box::pin(async {
                let sql = "SELECT primary_pos, secondary FROM cursor WHERE name = $1";
                tx.query_opt(sql, &[&name.as_str()]).await?.as_ref().map(read).transpose()
            })
        })
        .await
    }

    async fn list_cursors(&self) -> StoreResult<Vec<(CursorName, Cursor)>> {
        self.read(&(), |tx, ()| Box::pin(list(tx))).await
    }
}

async fn list(tx: &Tx) -> Outcome<Vec<(CursorName, Cursor)>> {
    let sql = "SELECT primary_pos, secondary, name FROM cursor ORDER BY name LIMIT $1";
    let rows = tx.query(sql, &[&i64::from(MAX_LISTED_CURSORS)]).await?;
    let named = |row| {
        let name = CursorName::new(get::<&str>(row, 2)?).map_err(|error| damaged(error.to_string()))?;
        Ok((name, read(row)?))
    };
    rows.iter().map(named).collect()
}

fn read(row: &tokio_postgres::Row) -> Outcome<Cursor> {
    Cursor::new(get(row, 0)?, get::<&str>(row, 1)?).map_err(|error| damaged(error.to_string()))
}

/// Where a cursor stands, which somebody must have seeded, and keeps it there until the commit.
pub(crate) async fn lock(tx: &Tx, name: &CursorName) -> Outcome<Cursor> {
    let sql = "SELECT primary_pos, secondary FROM cursor WHERE name = $1 FOR UPDATE";
    let row = tx.look(sql, &[&name.as_str()]).await?.pop();
    read(&row.ok_or_else(|| StoreError::CursorMissing(name.clone()))?)
}

/// Creates a cursor unless it exists.
pub(crate) async fn seed(tx: &Tx, name: &CursorName, start: &Cursor) -> Outcome<Written> {
    let created = tx
        .execute(
            "INSERT INTO cursor (name, primary_pos, secondary, updated_at_ms)
             VALUES ($1, $2, $3, windlass_now($4)) ON CONFLICT (name) DO NOTHING",
            &[&name.as_str(), &start.primary(), &start.secondary(), &tx.now_ms],
        )
        .await?;
    Ok(Written::Rows(created))
}

/// Moves a cursor forward by its rule.
pub(crate) async fn advance(tx: &Tx, name: &CursorName, to: &Cursor, rule: CursorRule) -> Outcome<Written> {
    let stored = lock(tx, name).await?;
    let decision = rule.decide(&stored, to);
    match decision {
        CursorMove::Advanced => put(tx, name, to).await?,
        CursorMove::Unchanged => {}
        CursorMove::Conflict => return Err(conflict(name, stored, to).into()),
    }
    Ok(Written::Cursor(decision))
}

/// Moves a cursor anywhere, if it stands where the caller thinks.
pub(crate) async fn reset(tx: &Tx, name: &CursorName, expected: &Cursor, to: &Cursor) -> Outcome<Written> {
    let stored = lock(tx, name).await?;
    if stored != *expected {
        return Err(conflict(name, stored, expected).into());
    }
    put(tx, name, to).await?;
    Ok(Written::Cursor(CursorMove::Advanced))
}

/// Writes a position without asking.
pub(crate) async fn put(tx: &Tx, name: &CursorName, to: &Cursor) -> Outcome<()> {
    tx.execute(
        "UPDATE cursor SET primary_pos = $2, secondary = $3, updated_at_ms = windlass_now($4) WHERE name = $1",
        &[&name.as_str(), &to.primary(), &to.secondary(), &tx.now_ms],
    )
    .await?;
    Ok(())
}

fn conflict(name: &CursorName, stored: Cursor, proposed: &Cursor) -> StoreError {
    StoreError::CursorConflict { name: name.clone(), stored, proposed: proposed.clone() }
}
