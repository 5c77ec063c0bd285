//! Reading columns: what the schema cannot promise is checked, not assumed.

use std::str::FromStr;

use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use windlass_core::chain::{Address, B256};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::Timestamp;

use crate::error::{Fault, Outcome};

/// A column as it is.
pub(crate) fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Outcome<T> {
    Ok(row.try_get(column)?)
}

/// An instant.
pub(crate) fn timestamp(row: &Row, column: usize) -> Outcome<Timestamp> {
    get(row, column).map(Timestamp::from_ms)
}

/// A number that is never negative.
pub(crate) fn unsigned<T: TryFrom<i64>>(row: &Row, column: usize) -> Outcome<T> {
    let number: i64 = get(row, column)?;
    T::try_from(number).map_err(|_| damaged(format!("{number} is out of bounds")))
}

/// A number that counts something, which no stored value keeps from being read: below zero is
/// zero, and the largest number stands for everything above it.
pub(crate) fn saturated(row: &Row, column: usize) -> Outcome<u32> {
    let number: i64 = get(row, column)?;
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// A name.
pub(crate) fn name<T: FromStr<Err: std::fmt::Display>>(row: &Row, column: usize) -> Outcome<T> {
    get::<&str>(row, column)?.parse().map_err(|error: T::Err| damaged(error.to_string()))
}

/// A name that may be missing.
pub(crate) fn optional_name<T: FromStr<Err: std::fmt::Display>>(
    row: &Row,
    column: usize,
) -> Outcome<Option<T>> {
    let text: Option<&str> = get(row, column)?;
    text.map(|text| text.parse().map_err(|error: T::Err| damaged(error.to_string()))).transpose()
}

/// A hash of 32 bytes.
pub(crate) fn hash(row: &Row, column: usize) -> Outcome<B256> {
    B256::try_from(get::<&[u8]>(row, column)?).map_err(|_| damaged("a hash has 32 bytes"))
}

/// An address of 20 bytes.
pub(crate) fn address(row: &Row, column: usize) -> Outcome<Address> {
    Address::try_from(get::<&[u8]>(row, column)?).map_err(|_| damaged("an address has 20 bytes"))
}

/// A stored value that nothing of ours has written.
pub(crate) fn damaged(what: impl Into<String>) -> Fault {
    StoreError::Corrupt(what.into()).into()
}

/// A number of the caller's as the widest integer that the database has.
pub(crate) fn signed(what: &str, number: u64) -> StoreResult<i64> {
    i64::try_from(number).map_err(|_| StoreError::Invalid(format!("{what} {number} is above {}", i64::MAX)))
}
