//! What happens between two looks at the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::{Notify, mpsc};
use windlass_core::abi::EventShape;
use windlass_core::chain::{Address, BlockRef, ChainId};
use windlass_core::commit::{Commit, Write};
use windlass_core::error::{StoreError, StoreResult};
use windlass_core::name::Partition;
use windlass_core::outbox::NewMessage;
use windlass_core::row_query::{Condition, RowQuery, SumGroup, SumQuery};
use windlass_core::store::{Door, TableInfo, Tables};
use windlass_core::table::{EventRow, Identifier, RowHead, Rows, TableSpec, Value};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::make::block_hash;

use super::feed::{ChainFeed, Feed};
use super::position::Position;
use super::removals::Removals;
use super::told::Told;
use super::wanted::Wanted;

fn chain() -> ChainId {
    ChainId::new(1).unwrap()
}

fn partition() -> Partition {
    Partition::new("collect/1").unwrap()
}

async fn commit(store: &SqliteStore, writes: Vec<Write>) {
    store.commit(Commit::of(writes)).await.unwrap();
}

/// Rows at the first log of these blocks, and the message that speaks of them.
fn added(table: &Arc<TableSpec>, generation: u64, blocks: &[u64]) -> Vec<Write> {
    let (from, to) = (blocks[0], blocks[blocks.len() - 1]);
    let mut rows = Rows::new(Arc::clone(table));
    for number in blocks {
        let head = RowHead {
            block: BlockRef { number: *number, hash: block_hash(*number, generation as u8) },
            log_index: 0,
            timestamp_s: *number,
            transaction_hash: block_hash(*number, 9),
            address: Address::ZERO,
        };
        let put = rows.push_with(head, |into| {
            into.push(Value::Integer(generation as i64));
            Ok::<_, ()>(())
        });
        assert_eq!(put, Ok(true));
    }
    vec![Write::Rows(rows), message("events.added", generation, from, to)]
}

fn removed(generation: u64, from_block: u64) -> Vec<Write> {
    let told = message("events.removed", generation, from_block, from_block - 1);
    vec![Write::Retract { chain: chain(), from_block }, told]
}

fn message(topic: &str, generation: u64, from_block: u64, to: u64) -> Write {
    let head = BlockRef { number: to, hash: block_hash(to, generation as u8) };
    let payload = serde_json::json!({"generation": generation, "from_block": from_block, "head": head});
    Write::Publish(vec![NewMessage {
        partition: partition(),
        idempotency_key: format!("{topic}/{generation}/{from_block}"),
        topic: topic.to_owned(),
        payload: payload.to_string(),
    }])
}

/// Tables in front of which something happens once, before rows are first read.
struct Meanwhile {
    store: SqliteStore,
    happens: What,
    has_happened: AtomicBool,
}

/// What happens.
enum What {
    /// The chain is reorganised from block 2 on.
    Reorg(Arc<TableSpec>),
    /// The database is busy.
    Busy,
}

#[async_trait]
impl Tables for Meanwhile {
    async fn create_tables(&self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
        self.store.create_tables(tables).await
    }

    async fn drop_table(&self, name: &Identifier) -> StoreResult<bool> {
        self.store.drop_table(name).await
    }

    async fn list_tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.store.list_tables().await
    }

    async fn rows(&self, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
        if !self.has_happened.swap(true, Ordering::SeqCst) {
            match &self.happens {
                What::Reorg(table) => {
                    commit(&self.store, removed(1, 2)).await;
                    commit(&self.store, added(table, 1, &[2, 3])).await;
                }
                What::Busy => return Err(StoreError::Busy),
            }
        }
        self.store.rows(query).await
    }

    async fn count_rows(&self, table: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
        self.store.count_rows(table, conditions).await
    }

    async fn sum_rows(&self, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
        self.store.sum_rows(query).await
    }

    async fn column_indexes(&self, table: &Identifier) -> StoreResult<Vec<Identifier>> {
        self.store.column_indexes(table).await
    }

    async fn create_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.store.create_column_index(table, column).await
    }

    async fn drop_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.store.drop_column_index(table, column).await
    }
}

async fn store_with_table() -> (SqliteStore, Arc<TableSpec>) {
    let store = SqliteStore::open(SqliteOptions::memory()).await.unwrap();
    let shape: EventShape = "E(uint8 generation)".parse().unwrap();
    let table = Arc::new(shape.table(&Identifier::new("i").unwrap(), chain(), &[]));
    store.create_tables(&[Arc::clone(&table)]).await.unwrap();
    (store, table)
}

/// What a feed tells, up to so many events, from a position on.
async fn told(store: &SqliteStore, happens: What, position: &str, events: usize) -> Vec<String> {
    let (outlet, mut inlet) = mpsc::channel(1);
    let tables = Meanwhile { store: store.clone(), happens, has_happened: AtomicBool::new(false) };
    let position: Position = position.parse().unwrap();
    let feed = Feed {
        outbox: Arc::new(store.clone()),
        tables: Arc::new(tables),
        wake: Arc::new(Notify::new()),
        interval: Duration::from_millis(1),
        stall: Duration::from_secs(30),
        wanted: Wanted::default(),
        chains: vec![ChainFeed {
            partition: partition(),
            position,
            is_continuing: true,
            is_known: true,
            removals: Removals::default(),
        }],
        outlet,
        is_told: true,
    };
    let running = tokio::spawn(feed.run());
    let mut told = Vec::new();
    while told.len() < events {
        let Told { kind, data, .. } = inlet.recv().await.expect("more events");
        let Some((kind, data)) = kind.zip(data) else { continue };
        let data: serde_json::Value = serde_json::from_str(&data).unwrap();
        told.push(match kind {
            "added" => format!("{} of {}", data["row"]["block_number"], data["row"]["generation"]),
            _ => format!("{kind} {}", data["from_block"]),
        });
    }
    drop(inlet);
    running.await.unwrap();
    told
}

/// The rows that are read are those of the new branch already, although the feed has
/// not yet come to the retraction: they must wait for their own message.
#[tokio::test]
async fn a_reorg_while_rows_are_read_is_noticed() {
    let (store, table) = store_with_table().await;
    commit(&store, added(&table, 0, &[1, 2, 3])).await;
    let told = told(&store, What::Reorg(table), "1:0:end", 4).await;
    assert_eq!(told, ["1 of 0", "removed 2", "2 of 1", "3 of 1"]);
}

/// A database that is busy for a moment makes a feed wait, not skip.
#[tokio::test]
async fn a_busy_database_loses_nothing() {
    let (store, table) = store_with_table().await;
    commit(&store, added(&table, 0, &[1, 2, 3])).await;
    assert_eq!(told(&store, What::Busy, "1:0:end", 3).await, ["1 of 0", "2 of 0", "3 of 0"]);
    assert_eq!(told(&store, What::Busy, "1:1.00000000:1.0.i_e", 2).await, ["2 of 0", "3 of 0"]);
}
