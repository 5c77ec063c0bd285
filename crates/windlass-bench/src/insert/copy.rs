//! The limit on PostgreSQL: COPY BINARY on one connection, nothing else.

use std::pin::pin;
use std::time::Instant;

use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;

use crate::place::{SCHEMA, connect};
use crate::report::Measured;
use crate::rows;

/// Copies the same rows in the same batches into an equal table.
pub(crate) async fn measure(url: &str, n: u64, batch: u64) -> Result<Measured, Box<dyn std::error::Error>> {
    let mut client = connect(url).await?;
    client.batch_execute(&format!("CREATE TABLE {SCHEMA}.bare (LIKE {SCHEMA}.event INCLUDING ALL)")).await?;
    // What the door left for the server to do is not to slow the limit down.
    client.batch_execute("CHECKPOINT").await?;
    let copy = format!(
        "COPY {SCHEMA}.bare (chain_id, block_number, log_index, block_hash, timestamp_s, transaction_hash, \
         address, topics, data) FROM STDIN BINARY"
    );
    let (mut seconds, mut done) = (0.0, 0);
    while done < n {
        let count = batch.min(n - done);
        let events = rows::rows(done, count);
        done += count;
        let begun = Instant::now();
        let transaction = client.transaction().await?;
        transaction.batch_execute("SET LOCAL synchronous_commit = off").await?;
        let sink = transaction.copy_in(&copy).await?;
        let types = [
            Type::INT8,
            Type::INT8,
            Type::INT8,
            Type::BYTEA,
            Type::INT8,
            Type::BYTEA,
            Type::BYTEA,
            Type::BYTEA,
            Type::BYTEA,
        ];
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        for event in &events {
            writer
                .as_mut()
                .write(&[
                    &event.chain.as_i64(),
                    &i64::try_from(event.block.number)?,
                    &i64::from(event.log_index),
                    &event.block.hash.as_slice(),
                    &i64::try_from(event.timestamp_s)?,
                    &event.transaction_hash.as_slice(),
                    &event.address.as_slice(),
                    &event.topics.as_bytes(),
                    &event.data.as_ref(),
                ])
                .await?;
        }
        writer.finish().await?;
        transaction.commit().await?;
        seconds += begun.elapsed().as_secs_f64();
    }
    Ok(Measured { n, seconds })
}
