//! The ledger's values as SQLite keeps them.

use rusqlite::Row;
use rusqlite::types::ValueRef;
use windlass_core::chain::{Address, B256, BlockRef, ChainId, U256};
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::{Inclusion, IntentId, ReceiptSummary};
use windlass_core::time::Timestamp;

use crate::row::{address, damaged, get, hash, unsigned};

/// A column that holds 32 bytes of a number.
pub(super) fn amount(row: &Row<'_>, column: usize) -> StoreResult<U256> {
    hash(row, column).map(|bytes| U256::from_be_bytes(bytes.0))
}

/// A column that holds 16 bytes of a number.
pub(super) fn fee(row: &Row<'_>, column: usize) -> StoreResult<u128> {
    get::<[u8; 16]>(row, column).map(u128::from_be_bytes)
}

/// A column that holds a chain's id.
pub(super) fn chain(row: &Row<'_>, column: usize) -> StoreResult<ChainId> {
    ChainId::new(unsigned(row, column)?).map_err(|error| damaged(column, &error))
}

/// A column that holds the text of something.
pub(super) fn text<T: std::str::FromStr>(row: &Row<'_>, column: usize) -> StoreResult<T>
where
    T::Err: std::fmt::Display,
{
    get::<String>(row, column)?.parse().map_err(|error: T::Err| damaged(column, &error))
}

/// A column that may hold an instant.
pub(super) fn optional_timestamp(row: &Row<'_>, column: usize) -> StoreResult<Option<Timestamp>> {
    Ok(get::<Option<i64>>(row, column)?.map(Timestamp::from_ms))
}

/// Three columns that hold a transaction, its block's number and that one's hash, or nothing.
pub(super) fn inclusion(row: &Row<'_>, column: usize) -> StoreResult<Option<Inclusion>> {
    if get::<Option<i64>>(row, column + 1)?.is_none() {
        return nothing(row, &[column, column + 2]);
    }
    let block = BlockRef { number: unsigned(row, column + 1)?, hash: hash(row, column + 2)? };
    Ok(Some(Inclusion { transaction: hash(row, column)?, block }))
}

/// Two columns that hold an account and its nonce, or nothing.
pub(super) fn intent_id(row: &Row<'_>, chain: ChainId, column: usize) -> StoreResult<Option<IntentId>> {
    if get::<Option<i64>>(row, column + 1)?.is_none() {
        return nothing(row, &[column]);
    }
    Ok(Some(IntentId { chain, signer: address(row, column)?, nonce: unsigned(row, column + 1)? }))
}

/// What an inclusion is in its columns.
pub(super) struct InclusionColumns<'a> {
    pub(super) transaction: Option<&'a [u8]>,
    pub(super) number: Option<i64>,
    pub(super) block: Option<&'a [u8]>,
}

impl<'a> InclusionColumns<'a> {
    pub(super) fn of(inclusion: Option<&'a Inclusion>) -> StoreResult<Self> {
        let number = inclusion.map(|at| crate::row::signed("block", at.block.number)).transpose()?;
        let bytes = |hash: &'a B256| -> &'a [u8] { hash.as_slice() };
        Ok(Self {
            transaction: inclusion.map(|at| bytes(&at.transaction)),
            number,
            block: inclusion.map(|at| bytes(&at.block.hash)),
        })
    }
}

/// An address as its bytes.
pub(super) fn bytes_of(address: &Address) -> &[u8] {
    address.as_slice()
}

/// Three columns that hold what a receipt says, or nothing.
pub(super) fn receipt(row: &Row<'_>, column: usize) -> StoreResult<Option<ReceiptSummary>> {
    if get::<Option<i64>>(row, column)?.is_none() {
        return nothing(row, &[column + 1, column + 2]);
    }
    Ok(Some(ReceiptSummary {
        gas_used: unsigned(row, column)?,
        effective_gas_price: fee(row, column + 1)?,
        block_timestamp_s: unsigned(row, column + 2)?,
    }))
}

/// Nothing, where nothing stands in the other columns either.
pub(super) fn nothing<T>(row: &Row<'_>, columns: &[usize]) -> StoreResult<Option<T>> {
    match columns.iter().find(|column| !matches!(row.get_ref(**column), Ok(ValueRef::Null))) {
        None => Ok(None),
        Some(column) => Err(damaged(*column, &"a part of a value stands without the rest")),
    }
}
