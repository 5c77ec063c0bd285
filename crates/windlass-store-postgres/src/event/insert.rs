//! Storing logs and headers. What is there already stays; what contradicts it refuses the commit.
//!
//! Many new logs go straight into the table by COPY, the fastest way there is,
//! which knows no "unless it exists". So the way is chosen by a look at the keys'
//! range, and should somebody have been there first after all, COPY is taken back
//! and the logs go in one by one.

use tokio_postgres::error::SqlState;
use windlass_core::chain::{BlockHeader, ChainId};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::event::LogEvent;

use super::copy::copy;
use crate::error::{Fault, Outcome};
use crate::row::{get, signed};
use crate::tx::Tx;

/// From so many logs on COPY pays for its extra round trips.
const MIN_COPY_ROWS: usize = 256;

/// A log's place in the table.
fn key(event: &LogEvent) -> (ChainId, u64, u32) {
    (event.chain, event.block.number, event.log_index)
}

/// Brings logs into the order of their keys: bulk inserts that lock keys in
/// different orders would deadlock, and the table grows at its end.
pub(crate) fn sort(events: &mut [LogEvent]) {
    if !events.is_sorted_by_key(key) {
        events.sort_by_key(key);
    }
}

/// Stores logs, sorted.
pub(crate) async fn insert(tx: &Tx, events: &[LogEvent]) -> Outcome<Written> {
    let distinct = events.windows(2).all(|pair| key(&pair[0]) != key(&pair[1]));
    if events.len() >= MIN_COPY_ROWS && distinct && !any_stored(tx, events).await? {
        tx.batch("SAVEPOINT copy").await?;
        match copy(tx, events).await {
            Ok(rows) => {
                tx.batch("RELEASE copy").await?;
                return Ok(Written::Rows(rows));
            }
            Err(fault) if is_duplicate(&fault) => tx.batch("ROLLBACK TO copy").await?,
            Err(fault) => return Err(fault),
        }
    }
    merge(tx, events).await
}

fn is_duplicate(fault: &Fault) -> bool {
    matches!(fault, Fault::Postgres(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION))
}

/// Whether any log is stored between the first and the last of each chain's.
async fn any_stored(tx: &Tx, events: &[LogEvent]) -> Outcome<bool> {
    for chain in events.chunk_by(|one, other| one.chain == other.chain) {
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else { continue };
        let (from, to) = (signed("block", first.block.number)?, signed("block", last.block.number)?);
        let row = tx
            .query_one(
                "SELECT EXISTS (SELECT FROM event WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3)",
                &[&first.chain.as_i64(), &from, &to],
            )
            .await?;
        if get(&row, 0)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Stores those of the logs that are new.
async fn merge(tx: &Tx, events: &[LogEvent]) -> Outcome<Written> {
    if events.is_empty() {
        return Ok(Written::Rows(0));
    }
    let numbers = |what, of: fn(&LogEvent) -> u64| -> StoreResult<Vec<i64>> {
        events.iter().map(|event| signed(what, of(event))).collect()
    };
    let chains: Vec<i64> = events.iter().map(|event| event.chain.as_i64()).collect();
    let blocks = numbers("block", |event| event.block.number)?;
    let indexes: Vec<i64> = events.iter().map(|event| i64::from(event.log_index)).collect();
    let hashes: Vec<&[u8]> = events.iter().map(|event| event.block.hash.as_slice()).collect();
    let timestamps = numbers("timestamp", |event| event.timestamp_s)?;
    let transactions: Vec<&[u8]> = events.iter().map(|event| event.transaction_hash.as_slice()).collect();
    let addresses: Vec<&[u8]> = events.iter().map(|event| event.address.as_slice()).collect();
    let topics: Vec<&[u8]> = events.iter().map(|event| event.topics.as_bytes()).collect();
    let data: Vec<&[u8]> = events.iter().map(|event| event.data.as_ref()).collect();
    let new = tx
        .execute(
            "INSERT INTO event (chain_id, block_number, log_index, block_hash, timestamp_s, transaction_hash,
                 address, topics, data)
             SELECT * FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BYTEA[], $5::BIGINT[],
                 $6::BYTEA[], $7::BYTEA[], $8::BYTEA[], $9::BYTEA[])
             ON CONFLICT DO NOTHING",
            &[&chains, &blocks, &indexes, &hashes, &timestamps, &transactions, &addresses, &topics, &data],
        )
        .await?;
    if new < events.len() as u64 {
        let row = tx
            .query_one(
                "SELECT count(*), min(chain_id)
                 FROM unnest($1::BIGINT[], $2::BIGINT[], $3::BIGINT[], $4::BYTEA[])
                     AS given (chain_id, block_number, log_index, block_hash)
                 JOIN event USING (chain_id, block_number, log_index)
                 WHERE event.block_hash <> given.block_hash",
                &[&chains, &blocks, &indexes, &hashes],
            )
            .await?;
        refuse_contradictions(get(&row, 0)?, get(&row, 1)?)?;
    }
    Ok(Written::Rows(new))
}

/// Remembers headers.
pub(crate) async fn insert_blocks(tx: &Tx, chain: ChainId, headers: &[BlockHeader]) -> Outcome<Written> {
    let mut headers = headers.to_vec();
    headers.sort_by_key(|header| header.number);
    let numbers =
        headers.iter().map(|header| signed("block", header.number)).collect::<StoreResult<Vec<_>>>()?;
    let hashes: Vec<&[u8]> = headers.iter().map(|header| header.hash.as_slice()).collect();
    let parents: Vec<&[u8]> = headers.iter().map(|header| header.parent_hash.as_slice()).collect();
    let timestamps = headers
        .iter()
        .map(|header| signed("timestamp", header.timestamp_s))
        .collect::<StoreResult<Vec<_>>>()?;
    let new = tx
        .execute(
            "INSERT INTO block (chain_id, number, hash, parent_hash, timestamp_s)
             SELECT $1, * FROM unnest($2::BIGINT[], $3::BYTEA[], $4::BYTEA[], $5::BIGINT[])
             ON CONFLICT DO NOTHING",
            &[&chain.as_i64(), &numbers, &hashes, &parents, &timestamps],
        )
        .await?;
    if new < headers.len() as u64 {
        let row = tx
            .query_one(
                "SELECT count(*), min(chain_id) FROM unnest($2::BIGINT[], $3::BYTEA[]) AS given (number, hash)
                 JOIN block USING (number) WHERE chain_id = $1 AND block.hash <> given.hash",
                &[&chain.as_i64(), &numbers, &hashes],
            )
            .await?;
        refuse_contradictions(get(&row, 0)?, get(&row, 1)?)?;
    }
    Ok(Written::Rows(new))
}

/// Refuses a commit with so many contradictions, of this chain or higher ones.
fn refuse_contradictions(count: i64, lowest_chain: Option<i64>) -> StoreResult<()> {
    match (count.unsigned_abs(), lowest_chain) {
        (count @ 1.., Some(chain)) => Err(StoreError::EventConflict { chain, count }),
        _ => Ok(()),
    }
}
