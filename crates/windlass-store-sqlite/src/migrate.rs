//! The schema: numbered steps, applied in order under the write lock.

use rusqlite::{Connection, TransactionBehavior};
use windlass_core::error::{StoreError, StoreResult};

use crate::connect::Place;
use crate::error::Translate;

const STEPS: &[&str] = &[
    include_str!("../migrations/0001_foundation.sql"),
    include_str!("../migrations/0002_pay.sql"),
    include_str!("../migrations/0003_vouched.sql"),
    include_str!("../migrations/0004_instance.sql"),
    include_str!("../migrations/0005_authenticated.sql"),
    include_str!("../migrations/0006_table_view.sql"),
    include_str!("../migrations/0007_resent.sql"),
    include_str!("../migrations/0008_bookkeeping.sql"),
    include_str!("../migrations/0009_unreadable.sql"),
];

/// The schema version this binary works with.
pub const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Marks a file as one of Windlass: "wndl" as a number.
const APPLICATION_ID: i64 = 0x776e_646c;

/// Brings the schema up to date; two processes may do so at once.
pub(crate) fn migrate(connection: &mut Connection, place: &Place) -> StoreResult<()> {
    if version(connection)? >= SCHEMA_VERSION {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).translate()?;
    // Somebody else may have been quicker while this process waited for the lock.
    let done = usize::try_from(version(&transaction)?).unwrap_or(0);
    // A version by itself says nothing: other programs count theirs in the same place.
    let is_ours = pragma(&transaction, "application_id")? == APPLICATION_ID;
    if !is_ours && !is_empty(&transaction)? {
        return Err(StoreError::Foreign { place: place.to_string() });
    }
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step).translate()?;
    }
    if done < STEPS.len() {
        transaction.pragma_update(None, "application_id", APPLICATION_ID).translate()?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION).translate()?;
    }
    transaction.commit().translate()
}

/// Refuses a database that another program or a later version has written, or that is no store yet.
pub(crate) fn check(connection: &Connection, place: &Place) -> StoreResult<()> {
    let found = version(connection)?;
    let ours = pragma(connection, "application_id")? == APPLICATION_ID;
    match found {
        _ if !ours && !is_empty(connection)? => Err(StoreError::Foreign { place: place.to_string() }),
        SCHEMA_VERSION => Ok(()),
        found if found > SCHEMA_VERSION => Err(StoreError::NewerSchema { found, known: SCHEMA_VERSION }),
        found => Err(StoreError::OlderSchema { found, known: SCHEMA_VERSION }),
    }
}

/// The schema version of a database; 0 for a new one.
pub(crate) fn version(connection: &Connection) -> StoreResult<i64> {
    pragma(connection, "user_version")
}

fn is_empty(connection: &Connection) -> StoreResult<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0)).translate()
}

fn pragma(connection: &Connection, name: &str) -> StoreResult<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0)).translate()
}
