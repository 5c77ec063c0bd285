//! Reading and writing the core's types as SQLite values.

use rusqlite::Row;
use rusqlite::types::FromSql;
use windlass_core::chain::{Address, B256};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::time::Timestamp;

use crate::error::Translate;

/// A column's value.
pub(crate) fn get<T: FromSql>(row: &Row<'_>, column: usize) -> StoreResult<T> {
    row.get(column).translate()
}

/// A column that holds a name of the core.
pub(crate) fn name<T: TryFrom<String>>(row: &Row<'_>, column: usize) -> StoreResult<T>
where
    T::Error: std::fmt::Display,
{
    T::try_from(get(row, column)?).map_err(|error| damaged(column, &error))
}

/// A column that may hold a name of the core.
pub(crate) fn optional_name<T: TryFrom<String>>(row: &Row<'_>, column: usize) -> StoreResult<Option<T>>
where
    T::Error: std::fmt::Display,
{
    let text: Option<String> = get(row, column)?;
    text.map(T::try_from).transpose().map_err(|error| damaged(column, &error))
}

/// A column that holds an instant.
pub(crate) fn timestamp(row: &Row<'_>, column: usize) -> StoreResult<Timestamp> {
    Ok(Timestamp::from_ms(get(row, column)?))
}

/// A column that holds a number that is never negative.
pub(crate) fn unsigned<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> StoreResult<T> {
    let number: i64 = get(row, column)?;
    T::try_from(number).map_err(|_| damaged(column, &number))
}

/// A column that counts something, which no stored value keeps from being read: below zero is
/// zero, and the largest number stands for everything above it.
pub(crate) fn saturated(row: &Row<'_>, column: usize) -> StoreResult<u32> {
    let number: i64 = get(row, column)?;
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

/// A column that holds 32 bytes.
pub(crate) fn hash(row: &Row<'_>, column: usize) -> StoreResult<B256> {
    let bytes = row.get_ref(column).translate()?.as_blob().map_err(|error| damaged(column, &error))?;
    B256::try_from(bytes).map_err(|error| damaged(column, &error))
}

/// A column that holds 20 bytes.
pub(crate) fn address(row: &Row<'_>, column: usize) -> StoreResult<Address> {
    let bytes = row.get_ref(column).translate()?.as_blob().map_err(|error| damaged(column, &error))?;
    Address::try_from(bytes).map_err(|error| damaged(column, &error))
}

/// A number as SQLite keeps it: at most 2^63 − 1.
pub(crate) fn signed(what: &str, number: u64) -> StoreResult<i64> {
    i64::try_from(number).map_err(|_| StoreError::Invalid(format!("{what} {number} is above 2^63 - 1")))
}

pub(crate) fn damaged(column: usize, detail: &dyn std::fmt::Display) -> StoreError {
    StoreError::Corrupt(format!("column {column} holds a value that does not belong there: {detail}"))
}
