//! The bare pipe into PostgreSQL: COPY BINARY on two connections, nothing else.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use futures_util::SinkExt;
use tokio_postgres::{Client, CopyInSink};

use super::log::{Row, each};
use super::pipe::{Limit, ROUNDS, Ranges, answers, download, parse};
use crate::place::{SCHEMA, connect};
use crate::report::Measured;
use crate::serve;

const CONNECTIONS: usize = 2;

/// How much is handed to the connection at once, and what a row takes at most.
const PIECE: usize = 64 * 1024;
const MAX_ROW: usize = 512;

type Broken = Box<dyn std::error::Error + Send + Sync>;

/// Measures the pipe and its parts into tables equal to the collector's.
pub(super) async fn measure(url: &str, postgres: &str, chain: &serve::Args) -> Result<Limit, Broken> {
    let client = connect(postgres).await?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        for table in ["bare", "bare_insert"] {
            let like = format!(
                "DROP TABLE IF EXISTS {SCHEMA}.{table};
                CREATE TABLE {SCHEMA}.{table} (LIKE {SCHEMA}.fees_fees_collected INCLUDING ALL)"
            );
            client.batch_execute(&like).await?;
        }
        client.batch_execute("CHECKPOINT").await?;
        let whole = pipe(url, postgres, chain).await?;
        let download = download(url, chain, whole.n).await?;
        client.batch_execute("CHECKPOINT").await?;
        let (parse, batches) = parse(answers(url, chain).await?, CONNECTIONS, encode).await?;
        let insert = insert(postgres, batches, parse.n).await?;
        rounds.push(Limit { whole, download, parse, insert });
    }
    Ok(Limit::median(&rounds))
}

async fn pipe(url: &str, postgres: &str, chain: &serve::Args) -> Result<Measured, Broken> {
    let ranges = Ranges::new(url, chain);
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(connect(postgres).await?);
    }
    let begun = Instant::now();
    let mut running = Vec::new();
    for mut client in clients {
        let ranges = ranges.clone();
        running.push(tokio::spawn(async move {
            let mut n = 0;
            let mut next = tokio::spawn(prepare(ranges.clone()));
            // The next answer comes in and is encoded while this one is written.
            while let Some((rows, batch)) = next.await?? {
                next = tokio::spawn(prepare(ranges.clone()));
                n += rows;
                copy(&mut client, "bare", batch).await?;
            }
            Ok::<u64, Broken>(n)
        }));
    }
    let mut n = 0;
    for pipe in running {
        n += pipe.await??;
    }
    Ok(Measured { n, seconds: begun.elapsed().as_secs_f64() })
}

/// The next answer, encoded away from the threads that the connections need.
async fn prepare(ranges: Ranges) -> Result<Option<(u64, Vec<Bytes>)>, Broken> {
    match ranges.next().await? {
        Some(body) => tokio::task::spawn_blocking(move || encode(&body)).await?.map(Some),
        None => Ok(None),
    }
}

/// The same rows in the same order without a wire: encoded beforehand, on as many connections.
async fn insert(postgres: &str, batches: Vec<Vec<Bytes>>, n: u64) -> Result<Measured, Broken> {
    let batches = Arc::new(Mutex::new(VecDeque::from(batches)));
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        clients.push(connect(postgres).await?);
    }
    let begun = Instant::now();
    let mut running = Vec::new();
    for mut client in clients {
        let batches = batches.clone();
        let next = move || batches.lock().expect("no one panics").pop_front();
        running.push(tokio::spawn(async move {
            while let Some(batch) = next() {
                copy(&mut client, "bare_insert", batch).await?;
            }
            Ok::<(), Broken>(())
        }));
    }
    for part in running {
        part.await??;
    }
    Ok(Measured { n, seconds: begun.elapsed().as_secs_f64() })
}

async fn copy(client: &mut Client, table: &str, batch: Vec<Bytes>) -> Result<(), Broken> {
    let transaction = client.transaction().await?;
    transaction.batch_execute("SET LOCAL synchronous_commit = off").await?;
    let sink = transaction.copy_in(&format!("COPY {SCHEMA}.{table} FROM STDIN BINARY")).await?;
    let mut sink = std::pin::pin!(sink);
    for piece in batch {
        sink.feed(piece).await?;
    }
    CopyInSink::<Bytes>::finish(sink.as_mut()).await?;
    transaction.commit().await?;
    Ok(())
}

/// An answer in PostgreSQL's form, in pieces that the caches hold, and how many rows it has.
fn encode(body: &[u8]) -> Result<(u64, Vec<Bytes>), Broken> {
    let mut pieces = Vec::new();
    let mut out = Vec::with_capacity(PIECE);
    let mut n = 0;
    out.extend_from_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
    each(body, |row| {
        put_row(&mut out, &row);
        n += 1;
        if out.len() > PIECE - MAX_ROW {
            let full = std::mem::replace(&mut out, Vec::with_capacity(PIECE));
            pieces.push(full.into());
        }
    })?;
    out.extend_from_slice(&(-1_i16).to_be_bytes());
    pieces.push(out.into());
    Ok((n, pieces))
}

fn put_row(out: &mut Vec<u8>, row: &Row) {
    let mut line = Line { bytes: [0; MAX_ROW], len: 0 };
    line.put(10_i16.to_be_bytes());
    line.put_number(row.block_number);
    line.put_number(row.log_index);
    line.put_bytes(row.block_hash);
    line.put_number(row.timestamp_s);
    line.put_bytes(row.transaction_hash);
    line.put_bytes(row.address);
    line.put_bytes(row.token);
    line.put_bytes(row.integrator);
    row.fees.iter().for_each(|fee| line.put_numeric(fee));
    out.extend_from_slice(&line.bytes[..line.len]);
}

/// A row under way: pieces of known length, so that each is a move or two.
struct Line {
    bytes: [u8; MAX_ROW],
    len: usize,
}

impl Line {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.len..self.len + N].copy_from_slice(&bytes);
        self.len += N;
    }

    fn put_number(&mut self, number: i64) {
        self.put(8_i32.to_be_bytes());
        self.put(number.to_be_bytes());
    }

    fn put_bytes<const N: usize>(&mut self, bytes: [u8; N]) {
        self.put((N as i32).to_be_bytes());
        self.put(bytes);
    }

    /// PostgreSQL's NUMERIC: digits to the base of 10,000. The synthetic chain's fees fit 128 bits.
    fn put_numeric(&mut self, word: &[u8; 32]) {
        // Four digits at a time in 64 bits: dividing 128 is several times as slow.
        const FOUR_DIGITS: u128 = 10_000_000_000_000_000;
        let mut rest = u128::from_be_bytes(word[16..].try_into().expect("half of it"));
        let mut digits = [0_i16; 12];
        let mut count = 0;
        while rest > 0 {
            let mut four = (rest % FOUR_DIGITS) as u64;
            rest /= FOUR_DIGITS;
            for digit in &mut digits[count..count + 4] {
                *digit = (four % 10_000) as i16;
                four /= 10_000;
            }
            count += 4;
        }
        while count > 0 && digits[count - 1] == 0 {
            count -= 1;
        }
        self.put((8 + 2 * count as i32).to_be_bytes());
        self.put((count as i16).to_be_bytes());
        self.put((count as i16 - 1).to_be_bytes());
        self.put([0; 4]);
        digits[..count].iter().rev().for_each(|digit| self.put(digit.to_be_bytes()));
    }
}
