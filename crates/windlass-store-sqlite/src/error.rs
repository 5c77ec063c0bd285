//! SQLite's error codes in the store's words.

use rusqlite::{Error, ErrorCode};
use windlass_core::error::StoreError;

/// Translates an error of SQLite.
pub(crate) fn sqlite_error(error: Error) -> StoreError {
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
