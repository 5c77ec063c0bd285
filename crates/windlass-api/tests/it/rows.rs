//! Tables and rows that tests are made of.

use std::sync::Arc;

use windlass_core::abi::EventShape;
use windlass_core::chain::{Address, BlockRef, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::outbox::NewMessage;
use windlass_core::store::Store;
use windlass_core::table::{Identifier, RowHead, Rows, TableSpec, Value};
use windlass_testkit::make::{block_hash, chain, partition};

pub(crate) const POLYGON: u64 = 137;
pub(crate) const FEES: &str = "FeesCollected(address indexed token, address indexed integrator, \
                               uint256 integratorFee, uint256 lifiFee)";
/// The time of block 0; each block is two seconds later than the one before.
pub(crate) const GENESIS_S: u64 = 1_700_000_000;

pub(crate) fn name(text: &str) -> Identifier {
    Identifier::new(text).unwrap()
}

/// Makes the table of an event, as an index would.
pub(crate) async fn table(store: &dyn Store, index: &str, chain_id: u64, event: &str) -> Arc<TableSpec> {
    let taken: Vec<_> = store.list_tables().await.unwrap().into_iter().map(|table| table.spec).collect();
    let shape: EventShape = event.parse().unwrap();
    let table = Arc::new(shape.table(&name(index), chain(chain_id), &taken));
    store.create_tables(&[Arc::clone(&table)]).await.unwrap();
    table
}

/// The table of the fees of Polygon.
pub(crate) async fn fees_table(store: &dyn Store) -> Arc<TableSpec> {
    table(store, "fees", POLYGON, FEES).await
}

pub(crate) fn head(block: u64, log_index: u32, fork: u8) -> RowHead {
    RowHead {
        block: BlockRef { number: block, hash: block_hash(block, fork) },
        log_index,
        timestamp_s: GENESIS_S + 2 * block,
        transaction_hash: block_hash(block, 0x77),
        address: Address::repeat_byte(0x42),
    }
}

/// A row of fees that tells by its amounts where it stands.
pub(crate) fn fee_values(block: u64, log_index: u32) -> Vec<Value> {
    vec![
        Value::Address(Address::repeat_byte((block % 3) as u8)),
        Value::Address(Address::repeat_byte(0xa0 + (block % 5) as u8)),
        Value::Uint(U256::from(block) * U256::from(1_000) + U256::from(log_index)),
        Value::Uint(U256::from(block)),
    ]
}

/// Rows of fees at these places.
pub(crate) fn fee_rows(table: &Arc<TableSpec>, places: &[(u64, u32)], fork: u8) -> Rows {
    let mut rows = Rows::new(Arc::clone(table));
    for (block, log_index) in places {
        put(&mut rows, head(*block, *log_index, fork), fee_values(*block, *log_index));
    }
    rows
}

pub(crate) fn put(rows: &mut Rows, head: RowHead, values: Vec<Value>) {
    let put = rows.push_with(head, |into| {
        into.extend(values);
        Ok::<_, ()>(())
    });
    assert_eq!(put, Ok(true), "the values fit the table");
}

/// Commits these writes.
pub(crate) async fn commit(store: &dyn Store, writes: Vec<Write>) {
    store.commit(Commit::of(writes)).await.unwrap();
}

/// Stores rows of fees at these places.
pub(crate) async fn store_fees(store: &dyn Store, table: &Arc<TableSpec>, places: &[(u64, u32)]) {
    commit(store, vec![Write::Rows(fee_rows(table, places, 1))]).await;
}

/// What the collector writes to the outbox of a chain.
pub(crate) fn message(topic: &str, chain_id: u64, generation: u64, from: u64, to: u64) -> Write {
    let payload = serde_json::json!({
        "chain": chain_id,
        "generation": generation,
        "from_block": from,
        "head": BlockRef { number: to, hash: block_hash(to, generation as u8) },
        "events": 1,
        "tables": [],
    });
    fact_message(topic, chain_id, generation, &payload)
}

/// The same, in words of its own.
pub(crate) fn fact_message(topic: &str, chain_id: u64, generation: u64, fact: &serde_json::Value) -> Write {
    Write::Publish(vec![NewMessage {
        partition: partition(&format!("collect/{chain_id}")),
        idempotency_key: format!("{topic}/{generation}/{fact}"),
        topic: topic.to_owned(),
        payload: fact.to_string(),
    }])
}
