//! PostgreSQL's binary COPY stream: a header, then for every row its number of
//! fields and each field's length and bytes, then a trailer.

use std::pin::pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use tokio_postgres::CopyInSink;
use windlass_core::error::StoreResult;

use crate::error::Outcome;
use crate::tx::Tx;

/// The signature, no flags, no header extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What stands in place of a row's number of fields after the last row.
const TRAILER: i16 = -1;
/// The stream goes out in pieces of about this many bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Copies rows into a table; fails whole when one of them is there already. `put`
/// writes a row, from its number of fields on.
pub(crate) async fn copy<R>(
    tx: &Tx,
    sql: &str,
    rows: impl Iterator<Item = R>,
    put: impl Fn(&mut BytesMut, R) -> StoreResult<()>,
) -> Outcome<u64> {
    tx.answer(stream(tx, sql, rows, put)).await
}

async fn stream<R>(
    tx: &Tx,
    sql: &str,
    rows: impl Iterator<Item = R>,
    put: impl Fn(&mut BytesMut, R) -> StoreResult<()>,
) -> Outcome<u64> {
    let statement = tx.client().prepare_cached(sql).await?;
    let mut sink = pin!(tx.client().copy_in(&statement).await?);
    let mut chunk = new_chunk();
    chunk.put_slice(HEADER);
    for row in rows {
        put(&mut chunk, row)?;
        if chunk.len() >= CHUNK_BYTES {
            let full = std::mem::replace(&mut chunk, new_chunk());
            sink.feed(full.freeze()).await?;
        }
    }
    chunk.put_i16(TRAILER);
    sink.feed(chunk.freeze()).await?;
    Ok(CopyInSink::<Bytes>::finish(sink).await?)
}

/// Room for a full piece and the row that fills it.
fn new_chunk() -> BytesMut {
    BytesMut::with_capacity(CHUNK_BYTES + 1_024)
}

/// A number as a field.
pub(crate) fn put_number(row: &mut BytesMut, number: i64) {
    row.put_i32(8);
    row.put_i64(number);
}

/// Bytes as a field. Lengths are 32-bit; what does not fit is longer than any block.
pub(crate) fn put_bytes(row: &mut BytesMut, bytes: &[u8]) {
    row.put_i32(bytes.len() as i32);
    row.put_slice(bytes);
}
