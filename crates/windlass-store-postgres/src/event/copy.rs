//! Logs as PostgreSQL's binary COPY stream: a header, then for every row its
//! number of fields and each field's length and bytes, then a trailer.

use std::pin::pin;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use tokio_postgres::CopyInSink;
use windlass_core::error::StoreResult;
use windlass_core::event::LogEvent;

use crate::error::Outcome;
use crate::row::signed;
use crate::tx::Tx;

const COPY: &str = "COPY event (chain_id, block_number, log_index, block_hash, timestamp_s, \
                    transaction_hash, address, topics, data) FROM STDIN (FORMAT binary)";

/// The signature, no flags, no header extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// What stands in place of a row's number of fields after the last row.
const TRAILER: i16 = -1;
/// The number of columns.
const FIELDS: i16 = 9;
/// The stream goes out in pieces of about this many bytes.
const CHUNK_BYTES: usize = 64 << 10;

/// Copies logs into the table; fails whole when one of them is there already.
pub(super) async fn copy(tx: &Tx, events: &[LogEvent]) -> Outcome<u64> {
    tx.answer(stream(tx, events)).await
}

async fn stream(tx: &Tx, events: &[LogEvent]) -> Outcome<u64> {
    let statement = tx.client().prepare_cached(COPY).await?;
    let mut sink = pin!(tx.client().copy_in(&statement).await?);
    let mut chunk = new_chunk();
    chunk.put_slice(HEADER);
    for event in events {
        put_event(&mut chunk, event)?;
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

fn put_event(row: &mut BytesMut, event: &LogEvent) -> StoreResult<()> {
    row.put_i16(FIELDS);
    put_number(row, event.chain.as_i64());
    put_number(row, signed("block", event.block.number)?);
    put_number(row, i64::from(event.log_index));
    put_bytes(row, event.block.hash.as_slice());
    put_number(row, signed("timestamp", event.timestamp_s)?);
    put_bytes(row, event.transaction_hash.as_slice());
    put_bytes(row, event.address.as_slice());
    put_bytes(row, event.topics.as_bytes());
    put_bytes(row, &event.data);
    Ok(())
}

fn put_number(row: &mut BytesMut, number: i64) {
    row.put_i32(8);
    row.put_i64(number);
}

/// Lengths are 32-bit; a log whose data does not fit is longer than any block.
fn put_bytes(row: &mut BytesMut, bytes: &[u8]) {
    row.put_i32(bytes.len() as i32);
    row.put_slice(bytes);
}
