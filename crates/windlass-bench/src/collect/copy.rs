//! The bare pipe into PostgreSQL: COPY BINARY on two connections, nothing else.

use std::time::Instant;

use bytes::{BufMut, Bytes, BytesMut};
use futures_util::SinkExt;
use tokio_postgres::{Client, CopyInSink};

use super::log::{Row, rows};
use super::pipe::{Limit, Ranges, download};
use crate::place::{SCHEMA, connect};
use crate::report::Measured;
use crate::serve;

const CONNECTIONS: usize = 2;

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
                let rows = rows(&body)?;
                n += rows.len() as u64;
                copy(&mut client, "bare", encode(&rows)).await?;
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
    let mut batches: Vec<(u64, Bytes)> = Vec::new();
    while let Some(body) = ranges.next().await? {
        let rows = rows(&body)?;
        batches.push((rows.len() as u64, encode(&rows)));
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

async fn copy(client: &mut Client, table: &str, batch: Bytes) -> Result<(), Broken> {
    let transaction = client.transaction().await?;
    transaction.batch_execute("SET LOCAL synchronous_commit = off").await?;
    let sink = transaction.copy_in(&format!("COPY {SCHEMA}.{table} FROM STDIN BINARY")).await?;
    let mut sink = std::pin::pin!(sink);
    sink.send(batch).await?;
    CopyInSink::<Bytes>::finish(sink.as_mut()).await?;
    transaction.commit().await?;
    Ok(())
}

fn encode(rows: &[Row]) -> Bytes {
    let mut out = BytesMut::with_capacity(rows.len() * 280 + 32);
    out.put_slice(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
    for row in rows {
        out.put_i16(10);
        put_number(&mut out, row.block_number);
        put_number(&mut out, row.log_index);
        put_bytes(&mut out, &row.block_hash);
        put_number(&mut out, row.timestamp_s);
        put_bytes(&mut out, &row.transaction_hash);
        put_bytes(&mut out, &row.address);
        put_bytes(&mut out, &row.token);
        put_bytes(&mut out, &row.integrator);
        row.fees.iter().for_each(|fee| put_numeric(&mut out, fee));
    }
    out.put_i16(-1);
    out.freeze()
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
    let mut rest = u128::from_be_bytes(word[16..].try_into().expect("half of it"));
    let mut digits = [0_i16; 10];
    let mut count = 0;
    while rest > 0 {
        digits[count] = (rest % 10_000) as i16;
        rest /= 10_000;
        count += 1;
    }
    out.put_i32(8 + 2 * count as i32);
    out.put_i16(count as i16);
    out.put_i16(count as i16 - 1);
    out.put_i16(0);
    out.put_i16(0);
    digits[..count].iter().rev().for_each(|digit| out.put_i16(*digit));
}
