//! What was collected: logs and the headers of blocks that may still change.

mod copy;
mod insert;

use async_trait::async_trait;
use tokio_postgres::Row;
use windlass_core::chain::{Address, BlockHeader, BlockRef, Bytes, ChainId};
use windlass_core::commit::Written;
use windlass_core::error::StoreResult;
use windlass_core::event::{LogEvent, Topics};
use windlass_core::name::StateKey;
use windlass_core::range::BlockRange;
use windlass_core::store::{Events, MAX_COUNTED_EVENTS, MAX_EVENT_PAGE};

pub(crate) use self::insert::{insert, insert_blocks, sort};

use crate::error::Outcome;
use crate::row::{address, damaged, get, hash, signed, unsigned};
use crate::tx::Tx;
use crate::{PostgresStore, state};

#[async_trait]
impl Events for PostgresStore {
    async fn events(&self, chain: ChainId, from: (u64, u32), limit: u32) -> StoreResult<Vec<LogEvent>> {
        let start = (signed("block", from.0)?, i64::from(from.1));
        self.read(&(), |tx, ()| Box::pin(page(tx, chain, start, limit))).await
    }

    async fn count_events(&self, chain: ChainId) -> StoreResult<u64> {
        self.read(&(), |tx, ()| {
            Box::pin(async move {
                let sql = "SELECT count(*) FROM (SELECT FROM event WHERE chain_id = $1 LIMIT $2) AS counted";
                let up_to = signed("count", MAX_COUNTED_EVENTS)?;
                unsigned(&tx.query_one(sql, &[&chain.as_i64(), &up_to]).await?, 0)
            })
        })
        .await
    }

    async fn blocks(&self, chain: ChainId, from_block: u64, limit: u32) -> StoreResult<Vec<BlockHeader>> {
        let start = signed("block", from_block)?;
        self.read(&(), |tx, ()| Box::pin(headers(tx, chain, start, limit))).await
    }

    async fn state(&self, key: &StateKey) -> StoreResult<Option<String>> {
        self.read(key, |tx, key| Box::pin(state::find(tx, key))).await
    }
}

/// Takes back logs and headers from a block on; says how many logs there were.
pub(crate) async fn retract(tx: &Tx, chain: ChainId, from_block: u64) -> Outcome<u64> {
    let from = signed("block", from_block)?;
    let sql = "DELETE FROM block WHERE chain_id = $1 AND number >= $2";
    tx.execute(sql, &[&chain.as_i64(), &from]).await?;
    let sql = "DELETE FROM event WHERE chain_id = $1 AND block_number >= $2";
    tx.execute(sql, &[&chain.as_i64(), &from]).await
}

/// Takes logs of some blocks out, of some contracts or of all; says how many.
pub(crate) async fn erase(
    tx: &Tx,
    chain: ChainId,
    blocks: BlockRange,
    contracts: &[Address],
) -> Outcome<Written> {
    // No log stands above that number.
    let Ok(from) = i64::try_from(blocks.from) else { return Ok(Written::Rows(0)) };
    let to = i64::try_from(blocks.to).unwrap_or(i64::MAX);
    let contracts: Vec<&[u8]> = contracts.iter().map(|contract| contract.as_slice()).collect();
    let sql = "DELETE FROM event WHERE chain_id = $1 AND block_number BETWEEN $2 AND $3
                   AND (cardinality($4::BYTEA[]) = 0 OR address = ANY($4))";
    tx.execute(sql, &[&chain.as_i64(), &from, &to, &contracts]).await.map(Written::Rows)
}

/// Forgets headers below a block; says how many.
pub(crate) async fn forget_blocks(tx: &Tx, chain: ChainId, below: u64) -> Outcome<Written> {
    // No header stands above that number.
    let below = i64::try_from(below).unwrap_or(i64::MAX);
    let sql = "DELETE FROM block WHERE chain_id = $1 AND number < $2";
    tx.execute(sql, &[&chain.as_i64(), &below]).await.map(Written::Rows)
}

async fn page(tx: &Tx, chain: ChainId, from: (i64, i64), limit: u32) -> Outcome<Vec<LogEvent>> {
    let rows = tx
        .query(
            "SELECT block_number, log_index, block_hash, timestamp_s, transaction_hash, address, topics, data
             FROM event WHERE chain_id = $1 AND (block_number, log_index) >= ($2, $3)
             ORDER BY block_number, log_index LIMIT $4",
            &[&chain.as_i64(), &from.0, &from.1, &i64::from(limit.min(MAX_EVENT_PAGE))],
        )
        .await?;
    rows.iter().map(|row| read(row, chain)).collect()
}

fn read(row: &Row, chain: ChainId) -> Outcome<LogEvent> {
    Ok(LogEvent {
        chain,
        block: BlockRef { number: unsigned(row, 0)?, hash: hash(row, 2)? },
        log_index: unsigned(row, 1)?,
        timestamp_s: unsigned(row, 3)?,
        transaction_hash: hash(row, 4)?,
        address: address(row, 5)?,
        topics: Topics::from_bytes(get(row, 6)?).ok_or_else(|| damaged("a log has up to four topics"))?,
        data: Bytes::copy_from_slice(get(row, 7)?),
    })
}

async fn headers(tx: &Tx, chain: ChainId, from: i64, limit: u32) -> Outcome<Vec<BlockHeader>> {
    let rows = tx
        .query(
            "SELECT number, hash, parent_hash, timestamp_s FROM block
             WHERE chain_id = $1 AND number >= $2 ORDER BY number LIMIT $3",
            &[&chain.as_i64(), &from, &i64::from(limit.min(MAX_EVENT_PAGE))],
        )
        .await?;
    let read = |row| {
        Ok(BlockHeader {
            number: unsigned(row, 0)?,
            hash: hash(row, 1)?,
            parent_hash: hash(row, 2)?,
            timestamp_s: unsigned(row, 3)?,
        })
    };
    rows.iter().map(read).collect()
}
