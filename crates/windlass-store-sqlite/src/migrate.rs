//! The schema: numbered steps, applied in order under the write lock.

use rusqlite::{Connection, TransactionBehavior};
use windlass_core::error::{StoreError, StoreResult};

use crate::error::Translate;

const STEPS: &[&str] = &[include_str!("../migrations/0001_foundation.sql")];

/// The schema version this binary works with.
pub const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Brings the schema up to date; two processes may do so at once.
pub(crate) fn migrate(connection: &mut Connection) -> StoreResult<()> {
    if version(connection)? >= SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).translate()?;
    // Somebody else may have been quicker while this process waited for the lock.
    let done = usize::try_from(version(&transaction)?).unwrap_or(0);
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step).translate()?;
    }
    if done < STEPS.len() {
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).translate()?;
    }
    transaction.commit().translate()
}

/// Refuses a database that a later version has written, or that is no store yet.
pub(crate) fn check(connection: &Connection) -> StoreResult<()> {
    match version(connection)? {
        SCHEMA_VERSION => Ok(()),
        found if found > SCHEMA_VERSION => Err(StoreError::NewerSchema { found, known: SCHEMA_VERSION }),
        found => Err(StoreError::OlderSchema { found, known: SCHEMA_VERSION }),
    }
}

/// The schema version of a database; 0 for a new one.
pub(crate) fn version(connection: &Connection) -> StoreResult<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).translate()
}
