//! Rows in and out. What is there already stays; what contradicts it refuses the commit.
//!
//! Many new rows go straight into the table by COPY, the fastest way there is, which
//! knows no "unless it exists". So the way is chosen by a look at the keys' range; and
//! should somebody have been there first after all, the whole commit is begun again
//! and merges, which is rarer and cheaper than a savepoint around every COPY.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{BufMut, BytesMut};
use futures_util::future::join_all;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use windlass_core::chain::{Address, ChainId};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::range::BlockRange;
use windlass_core::table::{HEAD_COLUMNS, Identifier, RowHead, RowKey, Rows, TableSpec, Value};
use windlass_core::table_rules::storable_text;

use super::exact::Exact;
use super::growth::Growth;
use super::param::{self, Bound, array_type};
use super::registry::{self, is, missing, with_entry};
use crate::copy::{copy, put_bytes, put_number};
use crate::error::{Fault, Outcome, together};
use crate::row::{get, signed, unsigned};
use crate::tx::{Param, Tx};

/// From so many rows on COPY pays for its extra round trips.
const MIN_COPY_ROWS: usize = 256;

/// Whether rows are so many that they go in by COPY if they are new.
pub(crate) fn is_bulk(rows: &Rows) -> bool {
    rows.len() >= MIN_COPY_ROWS
}

/// A row: where its log stands, and its values.
type Row<'a> = (&'a RowHead, &'a [Value]);

/// Stores rows of one table. `merge` is set once COPY has met a row that was there.
pub(crate) async fn insert(
    tx: &Tx,
    rows: &Rows,
    merge: &AtomicBool,
    growth: &mut Growth,
) -> Outcome<Written> {
    let (table, is_bulk) = (rows.table(), is_bulk(rows));
    let rows = sorted(rows);
    let distinct = rows.windows(2).all(|pair| pair[0].0.key() != pair[1].0.key());
    let may_copy = is_bulk && distinct && !merge.load(Ordering::Relaxed);
    let (entry, stored) = if may_copy {
        let (entry, is_taken) = with_entry(tx, &table.name, any_stored(tx, table, &rows)).await?;
        entry.require(table)?;
        let is_taken = is_taken?;
        (entry, if is_taken { merge_rows(tx, table, &rows).await } else { copy_rows(tx, table, &rows).await })
    } else {
        let (entry, merged) = with_entry(tx, &table.name, merge_rows(tx, table, &rows)).await?;
        entry.require(table)?;
        (entry, merged)
    };
    let new = stored.map_err(|fault| understood(fault, table, merge))?;
    growth.add(entry, signed("a count", new)?);
    Ok(Written::Rows(new))
}

/// A table that went away meanwhile is missing; a row that came is met by merging.
fn understood(fault: Fault, table: &TableSpec, merge: &AtomicBool) -> Fault {
    if is(&fault, &[SqlState::UNIQUE_VIOLATION]) {
        merge.store(true, Ordering::Relaxed);
        return Fault::Overtaken;
    }
    if is(&fault, &registry::GONE) { missing(&table.name) } else { fault }
}

/// Rows in the order of their keys: bulk inserts that lock keys in different orders
/// would deadlock, and the table grows at its end.
fn sorted(rows: &Rows) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = rows.iter().collect();
    if !rows.is_sorted_by_key(|(head, _)| head.key()) {
        rows.sort_by_key(|(head, _)| head.key());
    }
    rows
}

/// Whether any row is stored between the first and the last.
async fn any_stored(tx: &Tx, table: &TableSpec, rows: &[Row<'_>]) -> Outcome<bool> {
    let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else { return Ok(false) };
    let sql = format!(
        "SELECT EXISTS (SELECT FROM {} WHERE (block_number, log_index) >= ($1, $2)
             AND (block_number, log_index) <= ($3, $4))",
        table.name.quoted()
    );
    let (from, to) = (key(first.key())?, key(last.key())?);
    get(&tx.query_one(&sql, &[&from.0, &from.1, &to.0, &to.1]).await?, 0)
}

fn key(key: RowKey) -> StoreResult<(i64, i64)> {
    Ok((signed("block", key.block)?, i64::from(key.log_index)))
}

/// The table's columns, as SQL lists them.
fn columns(table: &TableSpec) -> String {
    let own: String = table.columns.iter().map(|column| format!(", {}", column.name.quoted())).collect();
    format!("{}{own}", HEAD_COLUMNS.join(", "))
}

async fn copy_rows(tx: &Tx, table: &TableSpec, rows: &[Row<'_>]) -> Outcome<u64> {
    let sql = format!("COPY {} ({}) FROM STDIN (FORMAT binary)", table.name.quoted(), columns(table));
    // At most 206 columns.
    let fields = (HEAD_COLUMNS.len() + table.columns.len()) as i16;
    copy(tx, &sql, rows.iter(), |out, row| put_row(out, fields, *row)).await
}

fn put_row(out: &mut BytesMut, fields: i16, (head, values): Row<'_>) -> StoreResult<()> {
    out.put_i16(fields);
    put_number(out, signed("block", head.block.number)?);
    put_number(out, i64::from(head.log_index));
    put_bytes(out, head.block.hash.as_slice());
    put_number(out, signed("timestamp", head.timestamp_s)?);
    put_bytes(out, head.transaction_hash.as_slice());
    put_bytes(out, head.address.as_slice());
    values.iter().for_each(|value| put_value(out, value));
    Ok(())
}

fn put_value(out: &mut BytesMut, value: &Value) {
    match value {
        Value::Integer(number) => put_number(out, *number),
        Value::Uint(number) => Exact::of_uint(*number).put_field(out),
        Value::Int(number) => Exact::of_int(*number).put_field(out),
        Value::Bool(flag) => put_bytes(out, &[u8::from(*flag)]),
        Value::Address(address) => put_bytes(out, address.as_slice()),
        Value::Bytes(bytes) => put_bytes(out, bytes),
        Value::Text(text) => put_bytes(out, storable_text(text).as_bytes()),
    }
}

/// Stores those of the rows that are new.
async fn merge_rows(tx: &Tx, table: &TableSpec, rows: &[Row<'_>]) -> Outcome<u64> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut arrays = head_arrays(rows)?;
    let mut types = vec!["BIGINT[]", "BIGINT[]", "BYTEA[]", "BIGINT[]", "BYTEA[]", "BYTEA[]"];
    for (place, column) in table.columns.iter().enumerate() {
        arrays.push(param::list(column.kind, rows.iter().map(|(_, values)| &values[place])));
        types.push(array_type(column.kind));
    }
    let places: Vec<String> = (1..).zip(types).map(|(place, array)| format!("${place}::{array}")).collect();
    let (name, columns, places) = (table.name.quoted(), columns(table), places.join(", "));
    let sql = format!("INSERT INTO {name} ({columns}) SELECT * FROM unnest({places}) ON CONFLICT DO NOTHING");
    let params: Vec<Param<'_>> = arrays.iter().map(|bound| &*bound.value as Param<'_>).collect();
    let new = tx.execute(&sql, &params).await?;
    if new < rows.len() as u64 {
        refuse_contradictions(tx, table, &params[..3]).await?;
    }
    Ok(new)
}

fn head_arrays<'a>(rows: &[Row<'a>]) -> Outcome<Vec<Bound<'a>>> {
    let numbers = |what, of: fn(&RowHead) -> u64| -> StoreResult<Bound<'a>> {
        let numbers = rows.iter().map(|(head, _)| signed(what, of(head))).collect::<StoreResult<Vec<_>>>()?;
        Ok(Bound::new(numbers, Type::INT8_ARRAY))
    };
    let bytes = |of: fn(&'a RowHead) -> &'a [u8]| -> Bound<'a> {
        Bound::new(rows.iter().map(|(head, _)| of(head)).collect::<Vec<_>>(), Type::BYTEA_ARRAY)
    };
    Ok(vec![
        numbers("block", |head| head.block.number)?,
        numbers("a log's place", |head| head.log_index.into())?,
        bytes(|head| head.block.hash.as_slice()),
        numbers("timestamp", |head| head.timestamp_s)?,
        bytes(|head| head.transaction_hash.as_slice()),
        bytes(|head| head.address.as_slice()),
    ])
}

/// Refuses rows that stand under the keys of others, of other blocks.
async fn refuse_contradictions(tx: &Tx, table: &TableSpec, keys_and_hashes: &[Param<'_>]) -> Outcome<()> {
    let sql = format!(
        "SELECT count(*) FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BYTEA[])
             AS given (block_number, log_index, block_hash)
         JOIN {} AS stored USING (block_number, log_index) WHERE stored.block_hash <> given.block_hash",
        table.name.quoted()
    );
    match unsigned(&tx.query_one(&sql, keys_and_hashes).await?, 0)? {
        0 => Ok(()),
        count => Err(StoreError::EventConflict { chain: table.chain.as_i64(), count }.into()),
    }
}

/// Takes the rows of some blocks out.
pub(crate) async fn erase(
    tx: &Tx,
    name: &Identifier,
    (blocks, contracts): (BlockRange, &[Address]),
    growth: &mut Growth,
) -> Outcome<Written> {
    // No row stands above that number; from there on there is nothing to take.
    let (from, to) = match (i64::try_from(blocks.from), i64::try_from(blocks.to)) {
        (Err(_), _) => (1, 0),
        (Ok(from), to) => (from, to.unwrap_or(i64::MAX)),
    };
    let (entry, gone) = with_entry(tx, name, delete_of(tx, name, (from, to), contracts)).await?;
    let gone = gone?;
    growth.add(entry, -signed("a count", gone)?);
    Ok(Written::Rows(gone))
}

/// Takes back the rows of a chain from a block on, whatever table they are in; says how many.
pub(crate) async fn retract(tx: &Tx, chain: ChainId, from_block: u64, growth: &mut Growth) -> Outcome<u64> {
    let from = signed("block", from_block)?;
    let tables = registry::of_chain(tx, chain).await?;
    let deleted = join_all(tables.iter().map(|(name, _)| delete(tx, name, from, i64::MAX))).await;
    // One that was dropped since it was listed is not listed at the next try.
    let deleted = together(deleted)
        .map_err(|fault| if is(&fault, &registry::GONE) { Fault::Overtaken } else { fault })?;
    for ((_, entry), gone) in tables.into_iter().zip(&deleted) {
        growth.add(entry, -signed("a count", *gone)?);
    }
    Ok(deleted.iter().sum())
}

async fn delete_of(
    tx: &Tx,
    name: &Identifier,
    (from, to): (i64, i64),
    contracts: &[Address],
) -> Outcome<u64> {
    if contracts.is_empty() {
        return delete(tx, name, from, to).await;
    }
    let contracts: Vec<&[u8]> = contracts.iter().map(|contract| contract.as_slice()).collect();
    let sql = format!(
        "DELETE FROM {} WHERE block_number BETWEEN $1 AND $2 AND address = ANY ($3::BYTEA[])",
        name.quoted()
    );
    tx.execute(&sql, &[&from, &to, &contracts]).await
}

async fn delete(tx: &Tx, name: &Identifier, from: i64, to: i64) -> Outcome<u64> {
    let sql = format!("DELETE FROM {} WHERE block_number BETWEEN $1 AND $2", name.quoted());
    tx.execute(&sql, &[&from, &to]).await
}
