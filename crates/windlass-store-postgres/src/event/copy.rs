//! Logs as a COPY stream.

use bytes::{BufMut, BytesMut};
use windlass_core::error::StoreResult;
use windlass_core::event::LogEvent;

use crate::copy::{self, put_bytes, put_number};
use crate::error::Outcome;
use crate::row::signed;
use crate::tx::Tx;

const COPY: &str = "COPY event (chain_id, block_number, log_index, block_hash, timestamp_s, \
                    transaction_hash, address, topics, data) FROM STDIN (FORMAT binary)";

/// The number of columns.
const FIELDS: i16 = 9;

/// Copies logs into the table; fails whole when one of them is there already.
pub(super) async fn copy(tx: &Tx, events: &[LogEvent]) -> Outcome<u64> {
    copy::copy(tx, COPY, events.iter(), put_event).await
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
