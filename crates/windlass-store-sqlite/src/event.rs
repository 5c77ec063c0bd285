//! Collected logs and block headers, clustered by chain and block.

use async_trait::async_trait;
use rusqlite::{CachedStatement, Row};
use windlass_core::chain::{Address, B256, BlockHeader, BlockRef, Bytes, ChainId};
use windlass_core::commit::Written;
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::event::{LogEvent, Topics};
use windlass_core::name::StateKey;
use windlass_core::range::BlockRange;
use windlass_core::store::{Events, MAX_COUNTED_EVENTS, MAX_EVENT_PAGE};

use crate::SqliteStore;
use crate::error::Translate;
use crate::row::{address, damaged, get, hash, signed, unsigned};
use crate::writer::Tx;
use crate::{state, table};

#[async_trait]
impl Events for SqliteStore {
    async fn events(&self, chain: ChainId, from: (u64, u32), limit: u32) -> StoreResult<Vec<LogEvent>> {
        self.read(move |tx| page(tx, chain, from, limit.min(MAX_EVENT_PAGE))).await
    }

    async fn count_events(&self, chain: ChainId) -> StoreResult<u64> {
        self.read(move |tx| {
            let mut statement =
                tx.prepare("SELECT count(*) FROM (SELECT 1 FROM event WHERE chain_id = ?1 LIMIT ?2)")?;
            let up_to = (chain.as_i64(), signed("count", MAX_COUNTED_EVENTS)?);
            statement.query_row(up_to, |row| Ok(unsigned(row, 0))).translate()?
        })
        .await
    }

    async fn blocks(&self, chain: ChainId, from_block: u64, limit: u32) -> StoreResult<Vec<BlockHeader>> {
        self.read(move |tx| headers(tx, chain, from_block, limit.min(MAX_EVENT_PAGE))).await
    }

    async fn state(&self, key: &StateKey) -> StoreResult<Option<String>> {
        let key = key.clone();
        self.read(move |tx| state::find(tx, &key)).await
    }
}

/// Stores logs. Those already there stay; one of another fork refuses the commit.
pub(crate) fn insert(tx: &Tx<'_>, events: &[LogEvent]) -> StoreResult<Written> {
    let mut statement = tx.prepare(
        "INSERT INTO event (chain_id, block_number, log_index, block_hash, timestamp_s, transaction_hash, \
             address, topics, data) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING",
    )?;
    let mut new = 0;
    let mut contradicted = Vec::new();
    for event in events {
        if insert_one(&mut statement, event)? {
            new += 1;
        } else if stored_hash(tx, event)? != event.block.hash {
            contradicted.push(event.chain.as_i64());
        }
    }
    match contradicted.iter().min() {
        Some(chain) => Err(StoreError::EventConflict { chain: *chain, count: contradicted.len() as u64 }),
        None => Ok(Written::Rows(new)),
    }
}

fn insert_one(statement: &mut CachedStatement<'_>, event: &LogEvent) -> StoreResult<bool> {
    let inserted = statement
        .execute((
            event.chain.as_i64(),
            signed("block", event.block.number)?,
            event.log_index,
            event.block.hash.as_slice(),
            signed("timestamp", event.timestamp_s)?,
            event.transaction_hash.as_slice(),
            event.address.as_slice(),
            event.topics.as_bytes(),
            event.data.as_ref(),
        ))
        .translate()?;
    Ok(inserted == 1)
}

fn stored_hash(tx: &Tx<'_>, event: &LogEvent) -> StoreResult<B256> {
    tx.prepare("SELECT block_hash FROM event WHERE chain_id = ?1 AND block_number = ?2 AND log_index = ?3")?
        .query_row((event.chain.as_i64(), signed("block", event.block.number)?, event.log_index), |row| {
            Ok(hash(row, 0))
        })
        .translate()?
}

/// Remembers headers; one of another fork refuses the commit.
pub(crate) fn insert_blocks(tx: &Tx<'_>, chain: ChainId, headers: &[BlockHeader]) -> StoreResult<Written> {
    let mut insert = tx.prepare(
        "INSERT INTO block (chain_id, number, hash, parent_hash, timestamp_s) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT DO NOTHING",
    )?;
    let mut stored = tx.prepare("SELECT hash FROM block WHERE chain_id = ?1 AND number = ?2")?;
    let (mut new, mut contradictions) = (0, 0);
    for header in headers {
        let number = signed("block", header.number)?;
        let inserted = insert
            .execute((
                chain.as_i64(),
                number,
                header.hash.as_slice(),
                header.parent_hash.as_slice(),
                signed("timestamp", header.timestamp_s)?,
            ))
            .translate()?;
        if inserted == 1 {
            new += 1;
        } else if stored.query_row((chain.as_i64(), number), |row| Ok(hash(row, 0))).translate()??
            != header.hash
        {
            contradictions += 1;
        }
    }
    match contradictions {
        0 => Ok(Written::Rows(new)),
        count => Err(StoreError::EventConflict { chain: chain.as_i64(), count }),
    }
}

/// Takes back logs, rows and headers from a block on; says how many logs and rows there were.
pub(crate) fn retract(tx: &Tx<'_>, chain: ChainId, from_block: u64) -> StoreResult<Written> {
    let from = (chain.as_i64(), signed("block", from_block)?);
    tx.execute("DELETE FROM block WHERE chain_id = ?1 AND number >= ?2", from)?;
    let gone = tx.execute("DELETE FROM event WHERE chain_id = ?1 AND block_number >= ?2", from)?;
    Ok(Written::Rows(gone as u64 + table::retract(tx, chain, from.1)?))
}

/// Takes logs of some blocks out, of some contracts or of all; says how many.
pub(crate) fn erase(
    tx: &Tx<'_>,
    chain: ChainId,
    blocks: BlockRange,
    contracts: &[Address],
) -> StoreResult<Written> {
    // No log stands above that number.
    let Ok(from) = i64::try_from(blocks.from) else { return Ok(Written::Rows(0)) };
    let to = i64::try_from(blocks.to).unwrap_or(i64::MAX);
    let (is_all, contracts) = (contracts.is_empty(), table::hex_list(contracts)?);
    let gone = tx.execute(
        "DELETE FROM event WHERE chain_id = ?1 AND block_number BETWEEN ?2 AND ?3 \
         AND (?4 OR hex(address) IN (SELECT value FROM json_each(?5)))",
        (chain.as_i64(), from, to, is_all, contracts),
    )?;
    Ok(Written::Rows(gone as u64))
}

/// Forgets headers below a block; says how many.
pub(crate) fn forget_blocks(tx: &Tx<'_>, chain: ChainId, below: u64) -> StoreResult<Written> {
    // No header stands above that number.
    let below = i64::try_from(below).unwrap_or(i64::MAX);
    let gone =
        tx.execute("DELETE FROM block WHERE chain_id = ?1 AND number < ?2", (chain.as_i64(), below))?;
    Ok(Written::Rows(gone as u64))
}

fn page(tx: &Tx<'_>, chain: ChainId, from: (u64, u32), limit: u32) -> StoreResult<Vec<LogEvent>> {
    let mut statement = tx.prepare(
        "SELECT block_number, log_index, block_hash, timestamp_s, transaction_hash, address, topics, data \
         FROM event WHERE chain_id = ?1 AND (block_number, log_index) >= (?2, ?3) \
         ORDER BY block_number, log_index LIMIT ?4",
    )?;
    let start = (chain.as_i64(), signed("block", from.0)?, from.1, limit);
    let mut rows = statement.query(start).translate()?;
    let mut events = Vec::new();
    while let Some(row) = rows.next().translate()? {
        events.push(read(row, chain)?);
    }
    Ok(events)
}

fn read(row: &Row<'_>, chain: ChainId) -> StoreResult<LogEvent> {
    let topics: Vec<u8> = get(row, 6)?;
    let data: Vec<u8> = get(row, 7)?;
    Ok(LogEvent {
        chain,
        block: BlockRef { number: unsigned(row, 0)?, hash: hash(row, 2)? },
        log_index: unsigned(row, 1)?,
        timestamp_s: unsigned(row, 3)?,
        transaction_hash: hash(row, 4)?,
        address: address(row, 5)?,
        topics: Topics::from_bytes(&topics).ok_or_else(|| damaged(6, &"topics"))?,
        data: Bytes::from(data),
    })
}

fn headers(tx: &Tx<'_>, chain: ChainId, from: u64, limit: u32) -> StoreResult<Vec<BlockHeader>> {
    let mut statement = tx.prepare(
        "SELECT number, hash, parent_hash, timestamp_s FROM block \
         WHERE chain_id = ?1 AND number >= ?2 ORDER BY number LIMIT ?3",
    )?;
    let mut rows = statement.query((chain.as_i64(), signed("block", from)?, limit)).translate()?;
    let mut headers = Vec::new();
    while let Some(row) = rows.next().translate()? {
        headers.push(BlockHeader {
            number: unsigned(row, 0)?,
            hash: hash(row, 1)?,
            parent_hash: hash(row, 2)?,
            timestamp_s: unsigned(row, 3)?,
        });
    }
    Ok(headers)
}
