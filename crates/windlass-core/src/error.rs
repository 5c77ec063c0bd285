//! What can go wrong in a store, and whether it is worth trying again.

use std::time::Duration;

use crate::cursor::Cursor;
use crate::name::CursorName;
use crate::payout::audit::AuditFault;
use crate::table::Identifier;

/// What every port of a store answers.
pub type StoreResult<T> = Result<T, StoreError>;

/// What is said of a database in which Windlass has made no tables yet.
pub const NEW_DATABASE: &str = "the database has no tables of Windlass yet";

/// Whether and when to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    /// The same call will fail the same way.
    Never,
    /// It may pass after this delay.
    After(Duration),
}

/// A store's refusal or failure. No variant carries a password or a whole URL.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// Somebody else has taken the lease or lane: the caller's epoch is history.
    #[error("the lease on {what} was taken over: epoch {epoch} is no longer valid")]
    Fenced {
        /// The lease or lane.
        what: String,
        /// The epoch the caller held.
        epoch: i64,
    },
    /// A cursor was proposed that contradicts the stored one.
    #[error("cursor {name} stands at {stored}, which contradicts {proposed}")]
    CursorConflict {
        /// Which cursor.
        name: CursorName,
        /// Where it stands.
        stored: Cursor,
        /// Where it was to go.
        proposed: Cursor,
    },
    /// A cursor was to be moved that nobody has seeded.
    #[error("cursor {0} was never seeded")]
    CursorMissing(CursorName),
    /// A log of another fork stands under the same key.
    #[error("{count} logs of chain {chain} contradict stored ones of other blocks with the same number")]
    EventConflict {
        /// Which chain; the lowest, if it is several.
        chain: i64,
        /// How many, of all chains.
        count: u64,
    },
    /// A table of that name holds another event, or has other columns.
    #[error("table {table} exists and holds {stored}, not {wanted}")]
    TableConflict {
        /// Which table.
        table: Identifier,
        /// What it holds.
        stored: String,
        /// What it was to hold.
        wanted: String,
    },
    /// There is no such table.
    #[error("there is no table {0}")]
    TableMissing(Identifier),
    /// A unique job exists already.
    #[error("queue {queue} has an open job for {key} already")]
    Duplicate {
        /// Which queue.
        queue: String,
        /// Which lane.
        key: String,
    },
    /// A row was to be replaced, or made, that somebody else has changed or made meanwhile.
    #[error("{0} was changed by somebody else meanwhile")]
    Stale(String),
    /// A row was to be written that the ledger's rules exclude.
    #[error("the ledger refuses it: {0}")]
    Forbidden(String),
    /// A row that is needed was not written by Windlass as it stands.
    #[error("{0}")]
    Forged(String),
    /// The audit log was tampered with.
    #[error("the audit log is broken: {0}")]
    AuditBroken(AuditFault),
    /// The caller asked for something that makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// Somebody else holds the database's lock.
    #[error("the database is busy")]
    Busy,
    /// No space left.
    #[error("the disk is full")]
    DiskFull,
    /// The file or server accepts no writes.
    #[error("the database is read-only")]
    ReadOnly,
    /// The file is damaged, or not a database.
    #[error("the database is damaged or not a database: {0}")]
    Corrupt(String),
    /// The file was removed or replaced while it was open: what is written now would be lost.
    #[error("the database at {place} was removed or replaced while it was open")]
    Gone {
        /// The path.
        place: String,
    },
    /// The file belongs to another program.
    #[error("the database at {place} belongs to another program")]
    Foreign {
        /// The path.
        place: String,
    },
    /// A later version of Windlass has been here.
    #[error("the database has schema version {found}, this binary knows {known}")]
    NewerSchema {
        /// The database's.
        found: i64,
        /// The binary's.
        known: i64,
    },
    /// An earlier version of Windlass has been here, or none, and this opening changes nothing.
    #[error("{}", older(*.found, *.known))]
    OlderSchema {
        /// The database's; 0 for a new one.
        found: i64,
        /// The binary's.
        known: i64,
    },
    /// The server did not accept the user or password.
    #[error("the database refused user `{user}`")]
    AuthFailed {
        /// Who tried.
        user: String,
    },
    /// The server or file cannot be reached.
    #[error("the database at {place} cannot be reached: {reason}")]
    Unreachable {
        /// Host and port, or path; never a whole URL.
        place: String,
        /// Why.
        reason: String,
    },
    /// The answer to a commit was lost, and the server could not be asked again in
    /// time: it was made or it was not, and must be looked up before it is repeated.
    #[error("the answer to a commit was lost at {place}, and whether it was made is unknown")]
    OutcomeUnknown {
        /// Host and port, or path; never a whole URL.
        place: String,
    },
    /// The store was shut down.
    #[error("the store is closed")]
    Closed,
    /// Anything else, with the database's words.
    #[error("the database answered: {0}")]
    Other(String),
}

/// An earlier version's schema, or none.
fn older(found: i64, known: i64) -> String {
    match found {
        0 => NEW_DATABASE.to_owned(),
        found => format!("the database has schema version {found} and has to be brought to {known} first"),
    }
}

impl StoreError {
    /// Whether it is trouble with the database rather than with what was asked: it may pass.
    pub const fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Busy | Self::Unreachable { .. } | Self::DiskFull | Self::ReadOnly | Self::Other(_)
        )
    }

    /// Whether and when to try the same call again.
    pub fn retry(&self) -> RetryAdvice {
        match self {
            Self::Busy => RetryAdvice::After(Duration::from_millis(50)),
            Self::Unreachable { .. } => RetryAdvice::After(Duration::from_secs(1)),
            Self::DiskFull => RetryAdvice::After(Duration::from_secs(10)),
            _ => RetryAdvice::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passing_trouble_is_worth_a_retry() {
        assert!(matches!(StoreError::Busy.retry(), RetryAdvice::After(_)));
        assert_eq!(StoreError::Fenced { what: "x".into(), epoch: 1 }.retry(), RetryAdvice::Never);
        assert_eq!(StoreError::Corrupt("x".into()).retry(), RetryAdvice::Never);
        assert_eq!(StoreError::OutcomeUnknown { place: "x".into() }.retry(), RetryAdvice::Never);
    }
}
