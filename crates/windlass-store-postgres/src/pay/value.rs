//! The ledger's values as PostgreSQL keeps them, and as JSON carries them there.

use std::str::FromStr;

use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, Type};
use windlass_core::chain::{BlockRef, ChainId};
use windlass_core::payout::ledger::{Inclusion, IntentId, ReceiptSummary};
use windlass_core::time::Timestamp;

use crate::error::Outcome;
use crate::row::{address, damaged, get, hash, unsigned};

/// Bytes as hex digits, as `decode` reads them.
pub(super) fn hex(bytes: impl AsRef<[u8]>) -> String {
    windlass_core::chain::Bytes::copy_from_slice(bytes.as_ref()).to_string()[2..].to_owned()
}

/// A column of digits that was cast to text.
pub(super) fn number<T: FromStr<Err: std::fmt::Display>>(row: &Row, column: usize) -> Outcome<T> {
    get::<&str>(row, column)?.parse().map_err(|error: T::Err| damaged(error.to_string()))
}

/// A column that holds a chain's id.
pub(super) fn chain(row: &Row, column: usize) -> Outcome<ChainId> {
    ChainId::new(unsigned(row, column)?).map_err(|error| damaged(error.to_string()))
}

/// A column that may hold an instant.
pub(super) fn optional_timestamp(row: &Row, column: usize) -> Outcome<Option<Timestamp>> {
    Ok(get::<Option<i64>>(row, column)?.map(Timestamp::from_ms))
}

/// Three columns that hold a transaction, its block's number and that one's hash, or nothing.
pub(super) fn inclusion(row: &Row, column: usize) -> Outcome<Option<Inclusion>> {
    if get::<Option<i64>>(row, column + 1)?.is_none() {
        return nothing(row, &[column, column + 2]);
    }
    let block = BlockRef { number: unsigned(row, column + 1)?, hash: hash(row, column + 2)? };
    Ok(Some(Inclusion { transaction: hash(row, column)?, block }))
}

/// Two columns that hold an account and its nonce, or nothing.
pub(super) fn intent_id(row: &Row, chain: ChainId, column: usize) -> Outcome<Option<IntentId>> {
    if get::<Option<i64>>(row, column + 1)?.is_none() {
        return nothing(row, &[column]);
    }
    Ok(Some(IntentId { chain, signer: address(row, column)?, nonce: unsigned(row, column + 1)? }))
}

/// Three columns that hold what a receipt says, or nothing.
pub(super) fn receipt(row: &Row, column: usize) -> Outcome<Option<ReceiptSummary>> {
    if get::<Option<i64>>(row, column)?.is_none() {
        return nothing(row, &[column + 1, column + 2]);
    }
    Ok(Some(ReceiptSummary {
        gas_used: unsigned(row, column)?,
        effective_gas_price: number(row, column + 1)?,
        block_timestamp_s: unsigned(row, column + 2)?,
    }))
}

/// Nothing, where nothing stands in the other columns either.
pub(super) fn nothing<T>(row: &Row, columns: &[usize]) -> Outcome<Option<T>> {
    match columns.iter().all(|column| matches!(row.try_get::<_, Option<Present>>(*column), Ok(None))) {
        true => Ok(None),
        false => Err(damaged("a part of a value stands without the rest")),
    }
}

/// A value of whatever kind.
struct Present;

impl<'a> FromSql<'a> for Present {
    fn from_sql(_: &Type, _: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Self)
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
