//! Indexes of tables: made as the configuration wants them, dropped when it does not any more.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::abi::EventShape;
use windlass_core::chain::{Address, BlockRef, U256};
use windlass_core::commit::{Commit, Write};
use windlass_core::store::Store;
use windlass_core::table::{Identifier, RowHead, Rows, TableSpec, Value};
use windlass_engine::table_indexes::{IndexStep, TableIndexOptions, TableIndexes};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::make::{block_hash, chain};

use crate::database::{Database, Kind};

const EVENT: &str = "Paid(address indexed token, address indexed to, uint256 amount)";
/// From so many rows on these tests take a table for a large one.
const LARGE: u64 = 200;

struct World {
    _database: Database,
    store: Arc<dyn Store>,
    table: Arc<TableSpec>,
}

fn name(text: &str) -> Identifier {
    Identifier::new(text).expect("a name")
}

impl World {
    async fn open(kind: Kind) -> Self {
        let (database, store) = Database::open(kind, Arc::new(ManualClock::new())).await;
        let shape: EventShape = EVENT.parse().expect("an event");
        let table = Arc::new(shape.table(&name("pay"), chain(1), &[]));
        store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
        Self { _database: database, store, table }
    }

    /// Stores a row in each of these blocks.
    async fn fill(&self, blocks: std::ops::Range<u64>) {
        let mut rows = Rows::new(self.table.clone());
        for block in blocks {
            let head = RowHead {
                block: BlockRef { number: block, hash: block_hash(block, 1) },
                log_index: 0,
                timestamp_s: block,
                transaction_hash: block_hash(block, 2),
                address: Address::ZERO,
            };
            let who = Address::with_last_byte((block % 5) as u8);
            let values = [Value::Address(who), Value::Address(who), Value::Uint(U256::from(block))];
            let put = rows.push_with(head, |into| {
                into.extend(values);
                Ok::<_, ()>(())
            });
            assert_eq!(put, Ok(true));
        }
        self.store.commit(Commit::of(vec![Write::Rows(rows)])).await.expect("stored");
    }

    /// A process that has just begun, with this configuration of an index.
    fn process(&self, index: &str, columns: Option<&[&str]>) -> TableIndexes {
        let columns = columns.map(|columns| columns.iter().map(|column| (*column).to_owned()).collect());
        let wanted = BTreeMap::from([(name(index), columns)]);
        let options = TableIndexOptions { default_rows: LARGE, ..TableIndexOptions::new(wanted) };
        TableIndexes::new(self.store.clone(), options)
    }

    async fn indexed(&self) -> Vec<String> {
        let columns = self.store.column_indexes(&self.table.name).await.expect("columns");
        columns.iter().map(ToString::to_string).collect()
    }

    fn created(&self, column: &str) -> IndexStep {
        IndexStep::Created { table: self.table.name.clone(), column: name(column) }
    }

    fn dropped(&self, column: &str) -> IndexStep {
        IndexStep::Dropped { table: self.table.name.clone(), column: name(column) }
    }
}

async fn step(process: &mut TableIndexes) -> IndexStep {
    process.step().await.expect("a step")
}

async fn named_columns_have_an_index_from_the_start_on(kind: Kind) {
    let world = World::open(kind).await;
    let mut process = world.process("pay", Some(&["amount", "to"]));
    assert_eq!(step(&mut process).await, world.created("amount"));
    assert_eq!(step(&mut process).await, world.created("to"));
    assert_eq!(step(&mut process).await, IndexStep::Idle);
    assert_eq!(world.indexed().await, ["to", "amount"]);
    assert_eq!(step(&mut world.process("pay", Some(&["amount", "to"]))).await, IndexStep::Idle);
}

async fn what_the_configuration_no_longer_names_is_dropped_by_the_next_process(kind: Kind) {
    let world = World::open(kind).await;
    let mut old = world.process("pay", Some(&["amount", "to"]));
    while step(&mut old).await != IndexStep::Idle {}
    assert_eq!(step(&mut world.process("other", Some(&[]))).await, IndexStep::Idle, "not its table");
    let mut new = world.process("pay", Some(&["to"]));
    assert_eq!(step(&mut new).await, world.dropped("amount"));
    assert_eq!(step(&mut new).await, IndexStep::Idle);
    // The old process makes it again; the new one, which has settled, leaves it alone.
    assert_eq!(step(&mut old).await, world.created("amount"));
    assert_eq!(step(&mut new).await, IndexStep::Idle);
}

async fn a_large_table_that_is_no_longer_filled_has_its_indexed_addresses(kind: Kind) {
    let world = World::open(kind).await;
    let mut process = world.process("pay", None);
    world.fill(0..LARGE - 1).await;
    assert_eq!(step(&mut process).await, IndexStep::Idle);
    assert_eq!(step(&mut process).await, IndexStep::Idle, "it is still, and small");
    world.fill(LARGE - 1..2 * LARGE).await;
    assert_eq!(step(&mut process).await, IndexStep::Idle, "it is large, and being filled");
    world.fill(2 * LARGE..2 * LARGE + 1).await;
    assert_eq!(step(&mut process).await, world.created("token"));
    assert_eq!(step(&mut process).await, world.created("to"));
    assert_eq!(step(&mut process).await, IndexStep::Idle);
    assert_eq!(world.indexed().await, ["token", "to"]);
    let mut without = world.process("pay", Some(&[]));
    assert_eq!(step(&mut without).await, world.dropped("token"), "an empty list wants none");
}

macro_rules! on_both_stores {
    ($($case:ident)*) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::database::Kind::Sqlite).await;
            })*
        }

        mod postgres_store {
            $(#[tokio::test]
            async fn $case() {
                super::$case(crate::database::Kind::Postgres).await;
            })*
        }
    };
}

on_both_stores! {
    named_columns_have_an_index_from_the_start_on
    what_the_configuration_no_longer_names_is_dropped_by_the_next_process
    a_large_table_that_is_no_longer_filled_has_its_indexed_addresses
}
