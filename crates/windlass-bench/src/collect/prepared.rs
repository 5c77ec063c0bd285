//! The bare pipe into SQLite: a thread with a prepared insert, fed by downloads.

use std::path::Path;
use std::time::Instant;

use rusqlite::{Connection, params};

use super::log::{Row, rows};
use super::pipe::{Limit, ROUNDS, Ranges, answers, download, parse};
use crate::report::Measured;
use crate::serve;

type Broken = Box<dyn std::error::Error + Send + Sync>;

/// How many batches wait for the writer at most.
const WAITING: usize = 4;

/// The collector's table, as SQLite keeps it.
const TABLE: &str = "CREATE TABLE bare (
    block_number INTEGER NOT NULL, log_index INTEGER NOT NULL, block_hash BLOB NOT NULL,
    block_timestamp INTEGER NOT NULL, transaction_hash BLOB NOT NULL, address BLOB NOT NULL,
    token BLOB NOT NULL, integrator BLOB NOT NULL, integrator_fee BLOB NOT NULL, lifi_fee BLOB NOT NULL,
    PRIMARY KEY (block_number, log_index)) STRICT, WITHOUT ROWID";

/// Measures the pipe and its parts.
pub(super) async fn measure(url: &str, path: &Path, chain: &serve::Args) -> Result<Limit, Broken> {
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let whole = pipe(url, &path.with_extension(format!("{round}.db")), chain).await?;
        let download = download(url, chain, whole.n).await?;
        let (parse, batches) = parse(answers(url, chain).await?, 1, counted_rows).await?;
        let insert = insert(&path.with_extension(format!("{round}.insert.db")), batches).await?;
        rounds.push(Limit { whole, download, parse, insert });
    }
    Ok(Limit::median(&rounds))
}

fn counted_rows(body: &[u8]) -> Result<(u64, Vec<Row>), Broken> {
    let rows = rows(body)?;
    Ok((rows.len() as u64, rows))
}

/// The same rows without a wire.
async fn insert(path: &Path, batches: Vec<Vec<Row>>) -> Result<Measured, Broken> {
    let mut connection = open(path)?;
    let writer = tokio::task::spawn_blocking(move || {
        let begun = Instant::now();
        let mut n = 0;
        for batch in &batches {
            write(&mut connection, batch)?;
            n += batch.len() as u64;
        }
        Ok::<_, Broken>(Measured { n, seconds: begun.elapsed().as_secs_f64() })
    });
    writer.await?
}

async fn pipe(url: &str, path: &Path, chain: &serve::Args) -> Result<Measured, Broken> {
    let mut connection = open(path)?;
    let (sender, mut receiver) = tokio::sync::mpsc::channel::<Vec<Row>>(WAITING);
    let ranges = Ranges::new(url, chain);
    let begun = Instant::now();
    let reader = tokio::spawn(async move {
        while let Some(body) = ranges.next().await? {
            sender.send(rows(&body)?).await.map_err(|_| "the writer is gone")?;
        }
        Ok::<(), Broken>(())
    });
    let writer = tokio::task::spawn_blocking(move || {
        let mut n = 0;
        while let Some(batch) = receiver.blocking_recv() {
            write(&mut connection, &batch)?;
            n += batch.len() as u64;
        }
        Ok::<u64, Broken>(n)
    });
    reader.await??;
    let n = writer.await??;
    Ok(Measured { n, seconds: begun.elapsed().as_secs_f64() })
}

fn open(path: &Path) -> Result<Connection, Broken> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch(TABLE)?;
    Ok(connection)
}

fn write(connection: &mut Connection, batch: &[Row]) -> Result<(), Broken> {
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction
            .prepare_cached("INSERT INTO bare VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
        for row in batch {
            let (first, second) = (compact(&row.fees[0]), compact(&row.fees[1]));
            insert.execute(params![
                row.block_number,
                row.log_index,
                row.block_hash,
                row.timestamp_s,
                row.transaction_hash,
                row.address,
                row.token,
                row.integrator,
                first.bytes(),
                second.bytes(),
            ])?;
        }
    }
    transaction.commit()?;
    Ok(())
}

/// A number as its length and its bytes without leading zeros, as the collector's store has it.
struct Compact([u8; 33], usize);

impl Compact {
    fn bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

fn compact(word: &[u8; 32]) -> Compact {
    let zeros = word.iter().take_while(|byte| **byte == 0).count();
    let mut bytes = [0; 33];
    bytes[0] = 32 - zeros as u8;
    bytes[1..33 - zeros].copy_from_slice(&word[zeros..]);
    Compact(bytes, 33 - zeros)
}
