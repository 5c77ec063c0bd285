//! Pages and their cursors: `id:` and a payout's id, or `seq:` and an entry's number, in base64.

use std::fmt::Display;
use std::str::FromStr;

use async_graphql::connection::{Connection, Edge, EmptyFields};
use async_graphql::{OutputType, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::limits::MAX_PAYOUT_PAGE_ROWS;
use crate::payouts::read::PageOf;

/// A page of something.
pub(super) type Page<T> = Connection<String, T, EmptyFields, EmptyFields>;

/// How many a page has, as its users know the refusals.
pub(super) fn limit(first: i32) -> ApiResult<u32> {
    let refused = |told: String| Err(ApiError::new(ErrorCode::InvalidParameter, told));
    match u32::try_from(first) {
        Err(_) | Ok(0) => refused("first must be a positive integer".to_owned()),
        Ok(limit) if limit > MAX_PAYOUT_PAGE_ROWS => {
            refused(format!("first cannot be greater than {MAX_PAYOUT_PAGE_ROWS}"))
        }
        Ok(limit) => Ok(limit),
    }
}

/// How many a page has at most, for what it counts as; more are refused later, in words
/// that its users know.
pub(super) fn rows(first: i32) -> usize {
    usize::try_from(first).unwrap_or(0).min(MAX_PAYOUT_PAGE_ROWS as usize)
}

pub(super) fn cursor(kind: &str, key: impl Display) -> String {
    BASE64_STANDARD.encode(format!("{kind}:{key}"))
}

/// Reads what [`cursor`] wrote.
pub(super) fn after<K: FromStr + Display>(kind: &str, text: &str) -> ApiResult<K> {
    let read = || {
        let plain = String::from_utf8(BASE64_STANDARD.decode(text).ok()?).ok()?;
        plain.strip_prefix(kind)?.strip_prefix(':')?.parse::<K>().ok()
    };
    let key = read().filter(|key| cursor(kind, key) == text);
    key.ok_or_else(|| ApiError::new(ErrorCode::InvalidCursor, "invalid-cursor"))
}

/// A page as a connection.
pub(super) fn connection<R, T: OutputType>(
    page: PageOf<R>,
    is_behind: bool,
    edge: impl Fn(R) -> Result<(String, T)>,
) -> Result<Page<T>> {
    let mut connection = Connection::new(is_behind, page.has_more);
    for row in page.rows {
        let (cursor, node) = edge(row)?;
        connection.edges.push(Edge::new(cursor, node));
    }
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_core::payout::request::PayoutId;
    use windlass_core::time::Timestamp;

    use super::*;

    #[test]
    fn pages_have_one_to_a_hundred() {
        assert_eq!([1, 100].map(|first| limit(first).unwrap()), [1, 100]);
        assert_eq!(limit(0).unwrap_err().message, "first must be a positive integer");
        assert_eq!(limit(-1).unwrap_err().message, "first must be a positive integer");
        assert_eq!(limit(101).unwrap_err().message, "first cannot be greater than 100");
    }

    #[test]
    fn a_cursor_is_what_its_users_know() {
        let id = PayoutId::new(Timestamp::from_ms(1), 2);
        assert_eq!(BASE64_STANDARD.decode(cursor("id", id)).unwrap(), format!("id:{id}").as_bytes());
    }

    proptest! {
        #[test]
        fn cursors_read_back_and_nothing_else_does(random: u128, other in ".{0,60}") {
            let id = PayoutId::new(Timestamp::from_ms(7), random);
            prop_assert_eq!(after("id", &cursor("id", id)), Ok(id));
            prop_assert!(after::<i64>("seq", &cursor("id", id)).is_err());
            prop_assert_eq!(after::<PayoutId>("id", &other).unwrap_err().message, "invalid-cursor");
        }
    }
}
