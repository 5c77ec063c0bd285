//! SQLite's error codes in the store's words.

use rusqlite::{Error, ErrorCode};
use windlass_core::error::StoreError;

/// The file that readers and the writer share in memory cannot be made as large as it
/// must be: SQLite speaks of input and output, and what is missing is room.
const NO_ROOM_TO_SHARE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;

/// Translates an error of SQLite.
pub(crate) fn sqlite_error(error: Error) -> StoreError {
    if error.sqlite_error().is_some_and(|inner| inner.extended_code == NO_ROOM_TO_SHARE) {
        return StoreError::DiskFull;
    }
    let Some(code) = error.sqlite_error_code() else {
        return StoreError::Other(words(error));
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy,
        ErrorCode::DiskFull => StoreError::DiskFull,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(error.to_string()),
        ErrorCode::CannotOpen => {
            StoreError::Unreachable { place: "the given path".to_owned(), reason: error.to_string() }
        }
        _ => StoreError::Other(words(error)),
    }
}

/// What SQLite says, without the statement it says it about.
fn words(error: Error) -> String {
    match error {
        Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    }
}

/// Adds the store's words to what SQLite answers.
pub(crate) trait Translate<T> {
    /// The same result, in the store's words.
    fn translate(self) -> Result<T, StoreError>;
}

impl<T> Translate<T> for rusqlite::Result<T> {
    fn translate(self) -> Result<T, StoreError> {
        self.map_err(sqlite_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(code: i32) -> StoreError {
        sqlite_error(Error::SqliteFailure(rusqlite::ffi::Error::new(code), None))
    }

    /// Guards against `disk I/O error` where the disk is full and a store is opened.
    #[test]
    fn a_disk_that_is_full_is_told_as_such_wherever_it_shows() {
        assert!(matches!(told(rusqlite::ffi::SQLITE_FULL), StoreError::DiskFull));
        assert!(matches!(told(rusqlite::ffi::SQLITE_IOERR_SHMSIZE), StoreError::DiskFull));
        assert!(matches!(told(rusqlite::ffi::SQLITE_IOERR_READ), StoreError::Other(_)));
    }
}
