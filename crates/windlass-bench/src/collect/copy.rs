//! The bare pipe into PostgreSQL: COPY BINARY on two connections, nothing else.

use std::time::Instant;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use tokio_postgres::{Client, CopyInSink};

use super::log::{Row, each};
use super::pipe::{Limit, Ranges, download};
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
    for table in ["bare", "bare_insert"] {
        let like = format!("CREATE TABLE {SCHEMA}.{table} (LIKE {SCHEMA}.fees_fees_collected INCLUDING ALL)");
        client.batch_execute(&like).await?;
    }
    client.batch_execute("CHECKPOINT").await?;
    let whole = pipe(url, postgres, chain).await?;
    let download = download(url, chain, whole.n).await?;
    client.batch_execute("CHECKPOINT").await?;
    let insert = insert(url, postgres, chain).await?;
    Ok(Limit { whole, download, insert })
}

async fn pipe(url: &str, postgres: &str, chain: &serve::Args) -> Result<Measured, Broken> {
    let ranges = Ranges::new(url, chain);
    let begun = Instant::now();
    let mut running = Vec::new();
    for _ in 0..CONNECTIONS {
        let (ranges, mut client) = (ranges.clone(), connect(postgres).await?);
        running.push(tokio::spawn(async move {
            let mut n = 0;
            let mut next = tokio::spawn({
                let ranges = ranges.clone();
                async move { ranges.next().await }
            });
            // The next answer comes in while this one is written.
            while let Some(body) = next.await?? {
                next = tokio::spawn({
                    let ranges = ranges.clone();
                    async move { ranges.next().await }
                });
                let (rows, batch) = encode(&body)?;
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

/// The same rows without a wire: encoded beforehand, on as many connections.
async fn insert(url: &str, postgres: &str, chain: &serve::Args) -> Result<Measured, Broken> {
    let ranges = Ranges::new(url, chain);
    let mut batches = Vec::new();
    while let Some(body) = ranges.next().await? {
        batches.push(encode(&body)?);
    }
    let begun = Instant::now();
    let mut running = Vec::new();
    let share = batches.len().div_ceil(CONNECTIONS);
    for part in batches.chunks(share.max(1)) {
        let (part, mut client) = (part.to_vec(), connect(postgres).await?);
        running.push(tokio::spawn(async move {
            let mut n = 0;
            for (rows, batch) in part {
                n += rows;
                copy(&mut client, "bare_insert", batch).await?;
            }
            Ok::<u64, Broken>(n)
        }));
    }
    let mut n = 0;
    for part in running {
        n += part.await??;
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
    let mut out = BytesMut::with_capacity(PIECE);
    let mut n = 0;
    out.put_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
    each(body, |row| {
        put_row(&mut out, &row);
        n += 1;
        if out.len() > PIECE - MAX_ROW {
            let full = std::mem::replace(&mut out, BytesMut::with_capacity(PIECE));
            pieces.push(full.freeze());
        }
    })?;
    out.put_i16(-1);
    pieces.push(out.freeze());
    Ok((n, pieces))
}

fn put_row(out: &mut BytesMut, row: &Row) {
    out.put_i16(10);
    put_number(out, row.block_number);
    put_number(out, row.log_index);
    put_bytes(out, &row.block_hash);
    put_number(out, row.timestamp_s);
    put_bytes(out, &row.transaction_hash);
    put_bytes(out, &row.address);
    put_bytes(out, &row.token);
    put_bytes(out, &row.integrator);
    row.fees.iter().for_each(|fee| put_numeric(out, fee));
}

fn put_number(out: &mut BytesMut, number: i64) {
    out.put_i32(8);
    out.put_i64(number);
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8]) {
    out.put_i32(bytes.len() as i32);
    out.put_slice(bytes);
}

/// PostgreSQL's NUMERIC: digits to the base of 10,000. The synthetic chain's fees fit 128 bits.
fn put_numeric(out: &mut BytesMut, word: &[u8; 32]) {
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
    out.put_i32(8 + 2 * count as i32);
    out.put_i16(count as i16);
    out.put_i16(count as i16 - 1);
    out.put_i16(0);
    out.put_i16(0);
    digits[..count].iter().rev().for_each(|digit| out.put_i16(*digit));
}
