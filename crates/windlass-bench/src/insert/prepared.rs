//! The limit on SQLite: one connection, one prepared insert, nothing else.

use std::path::Path;
use std::time::Instant;

use rusqlite::Connection;

use crate::report::Measured;
use crate::rows;

/// Inserts the same rows in the same batches into an equal table.
pub(crate) fn measure(folder: &Path, n: u64, batch: u64) -> Result<Measured, Box<dyn std::error::Error>> {
    let connection = Connection::open(folder.join("limit.db"))?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(
        "CREATE TABLE event (chain_id INTEGER NOT NULL, block_number INTEGER NOT NULL, log_index INTEGER NOT NULL, \
         block_hash BLOB NOT NULL, timestamp_s INTEGER NOT NULL, transaction_hash BLOB NOT NULL, \
         address BLOB NOT NULL, topics BLOB NOT NULL, data BLOB NOT NULL, \
         PRIMARY KEY (chain_id, block_number, log_index)) STRICT, WITHOUT ROWID",
    )?;
    let (mut seconds, mut done) = (0.0, 0);
    while done < n {
        let count = batch.min(n - done);
        let events = rows::rows(done, count);
        done += count;
        let begun = Instant::now();
        connection.execute_batch("BEGIN")?;
        let mut insert =
            connection.prepare_cached("INSERT INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
        for event in &events {
            insert.execute((
                event.chain.as_i64(),
                i64::try_from(event.block.number)?,
                event.log_index,
                event.block.hash.as_slice(),
                i64::try_from(event.timestamp_s)?,
                event.transaction_hash.as_slice(),
                event.address.as_slice(),
                event.topics.as_bytes(),
                event.data.as_ref(),
            ))?;
        }
        drop(insert);
        connection.execute_batch("COMMIT")?;
        seconds += begun.elapsed().as_secs_f64();
    }
    Ok(Measured { n, seconds })
}
