//! What PostgreSQL's errors mean: whether to try again, and what to tell the caller.

use std::error::Error;
use std::fmt;
use std::io;

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::error::{ErrorPosition, SqlState};
use windlass_core::error::StoreError;

use crate::connect::Place;

/// Why a try did not succeed.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The answer is no, and will stay no.
    Refused(StoreError),
    /// No connection could be had.
    Pool(PoolError),
    /// The server said so, or the connection broke.
    Postgres(tokio_postgres::Error),
    /// The server did not answer in time, and nothing is known about the last statement.
    Silent,
    /// The row of a commit's mark is gone; nothing was done.
    MarkForgotten,
    /// Somebody else stored the same rows or dropped a table meanwhile; the next try
    /// takes that into account.
    Overtaken,
    /// The answer to a commit was lost, and nobody could say what became of it.
    Unsettled,
}

/// What every step of an operation answers.
pub(crate) type Outcome<T> = Result<T, Fault>;

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Refused(error)
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        Self::Pool(error)
    }
}

/// For the log: what the caller is told in the end is [`Fault::explain`]'s.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Postgres(error) => f.write_str(&reason(error)),
            Self::Pool(error) => match connecting(error) {
                Some(cause) => f.write_str(&reason(cause)),
                None => f.write_str("no connection could be had in time"),
            },
            Self::Silent => f.write_str("no answer in time"),
            Self::MarkForgotten => f.write_str("a commit mark is missing"),
            Self::Overtaken => f.write_str("somebody else has written the same meanwhile"),
            Self::Unsettled => f.write_str("the answer to a commit was lost"),
        }
    }
}

impl Fault {
    /// Whether the connection broke, so that nothing is known about the last statement.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Postgres(error) => is_lost(error),
            Self::Silent => true,
            Self::Refused(_) | Self::Pool(_) | Self::MarkForgotten | Self::Overtaken | Self::Unsettled => {
                false
            }
        }
    }

    /// Whether it only says that another statement has failed before, and ended the transaction.
    pub(crate) fn is_aftermath(&self) -> bool {
        matches!(self, Self::Postgres(error) if error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION))
    }

    /// Whether the same try may pass on a fresh connection or a moment later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Postgres(error) => is_lost(error) || is_contended(error),
            Self::Pool(error) => connecting(error).is_some_and(is_lost),
            Self::Silent | Self::MarkForgotten | Self::Overtaken => true,
            Self::Refused(_) | Self::Unsettled => false,
        }
    }

    /// The code of what the server answered to a statement; `None` where it did not answer.
    pub(crate) fn answer_code(&self) -> Option<&str> {
        match self {
            Self::Postgres(error) => error.code().map(SqlState::code),
            _ => None,
        }
    }

    /// The server's words about a statement, with the place in it and the server's own hint.
    pub(crate) fn words_about(&self, statement: &str) -> String {
        let Self::Postgres(error) = self else { return self.to_string() };
        let mut words = reason(error);
        let Some(answer) = error.as_db_error() else { return words };
        if let Some(ErrorPosition::Original(place)) = answer.position()
            && let Some(near) = statement.get(place_in(statement, *place)..)
        {
            words.push_str(&format!(" at `{near:.20}`"));
        }
        if let Some(hint) = answer.hint() {
            words.push_str(&format!(" ({hint})"));
        }
        words
    }

    /// What the caller is told.
    pub(crate) fn explain(self, place: &Place) -> StoreError {
        match self {
            Self::Refused(error) => error,
            Self::Postgres(error) => explain(&error, place),
            Self::Pool(PoolError::Closed) => StoreError::Closed,
            Self::Pool(PoolError::Timeout(TimeoutType::Wait)) => StoreError::Busy,
            Self::Pool(error) => match connecting(&error) {
                Some(cause) if cause.code().is_none() => refused_connection(cause, place),
                Some(cause) => explain(cause, place),
                None => unreachable(place, "no answer in time"),
            },
            Self::Silent => unreachable(place, "no answer in time"),
            Self::MarkForgotten => StoreError::Other("a commit mark is missing".to_owned()),
            Self::Overtaken => StoreError::Busy,
            Self::Unsettled => StoreError::OutcomeUnknown { place: place.address.clone() },
        }
    }
}

/// The answers to statements that went out together, or why one of them failed: the
/// others may only say that it did.
pub(crate) fn together<T>(answers: impl IntoIterator<Item = Outcome<T>>) -> Outcome<Vec<T>> {
    let (mut all, mut failed) = (Vec::new(), None);
    for answer in answers {
        match answer {
            Ok(answer) => all.push(answer),
            Err(fault) if failed.as_ref().is_none_or(Fault::is_aftermath) => failed = Some(fault),
            Err(_) => {}
        }
    }
    failed.map_or(Ok(all), Err)
}

/// The server's or network's error behind a failure to get a connection.
fn connecting(error: &PoolError) -> Option<&tokio_postgres::Error> {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => Some(error),
        _ => None,
    }
}

/// Where a character stands, counted from one, in bytes.
fn place_in(text: &str, character: u32) -> usize {
    let behind = character.saturating_sub(1) as usize;
    text.char_indices().nth(behind).map_or(text.len(), |(place, _)| place)
}

fn is_lost(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => is_shutdown(code),
        None => error.is_closed() || broken_pipe(error),
    }
}

/// The server or the session ends, or it is not up yet.
fn is_shutdown(code: &SqlState) -> bool {
    code.code().starts_with("08")
        || [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW].contains(code)
        || [SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT].contains(code)
}

fn broken_pipe(error: &tokio_postgres::Error) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<io::Error>());
    // A message that cannot be encoded is an io::Error too, and will not become shorter.
    cause.is_some_and(|cause| cause.kind() != io::ErrorKind::InvalidInput)
}

fn is_contended(error: &tokio_postgres::Error) -> bool {
    matches!(error.code(), Some(code) if is_deadlock(code))
}

fn is_deadlock(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

fn explain(error: &tokio_postgres::Error, place: &Place) -> StoreError {
    let Some(code) = error.code() else {
        return if is_lost(error) {
            unreachable(place, reason(error))
        } else {
            StoreError::Other(reason(error))
        };
    };
    match code.code() {
        "28P01" | "28000" => StoreError::AuthFailed { user: place.user.clone() },
        "3D000" => unreachable(place, reason(error)),
        _ if is_shutdown(code) => unreachable(place, reason(error)),
        // Too many connections.
        "53300" => unreachable(place, reason(error)),
        // Lock or statement timeout, deadlocks that did not end.
        "55P03" | "57014" => StoreError::Busy,
        _ if is_deadlock(code) => StoreError::Busy,
        "53100" => StoreError::DiskFull,
        // A standby or a read-only session, or a user without the rights.
        "25006" | "42501" => StoreError::ReadOnly,
        "XX001" | "XX002" => StoreError::Corrupt(reason(error)),
        // A text that the encoding cannot hold, such as one with a zero byte.
        "22021" => StoreError::Invalid(reason(error)),
        state => StoreError::Other(format!("{} ({state})", reason(error))),
    }
}

/// Why no connection came about when the server gave no code.
fn refused_connection(error: &tokio_postgres::Error, place: &Place) -> StoreError {
    match error.source().map(ToString::to_string) {
        Some(cause) if cause == "password missing" => StoreError::AuthFailed { user: place.user.clone() },
        _ => unreachable(place, reason(error)),
    }
}

fn unreachable(place: &Place, reason: impl Into<String>) -> StoreError {
    StoreError::Unreachable { place: place.address.clone(), reason: reason.into() }
}

/// The server's words, or the innermost cause. Neither ever holds the password.
fn reason(error: &tokio_postgres::Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(answer), _) => answer.message().to_owned(),
        (None, Some(cause)) => cause.to_string(),
        (None, None) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::error::RetryAdvice;

    use super::*;

    #[test]
    fn a_commit_that_may_have_been_made_is_not_to_be_repeated() {
        let place = Place { address: "db:5432/books".to_owned(), user: "ann".to_owned() };
        assert!(!Fault::Unsettled.is_passing());
        let told = Fault::Unsettled.explain(&place);
        assert_eq!(told.retry(), RetryAdvice::Never);
        assert!(matches!(told, StoreError::OutcomeUnknown { place } if place == "db:5432/books"));
    }
}
