//! Where a case plays: a chain that does what it is told, an endpoint, a store of
//! either kind, and collectors on them.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, U256};
use windlass_core::abi::{Decoder, EventShape};
use windlass_core::block_set::BlockSet;
use windlass_core::chain::{BlockHeader, BlockRef};
use windlass_core::commit::{Commit, Write};
use windlass_core::finality::Finality;
use windlass_core::job::{JobFilter, JobRow, MAX_LISTED_JOBS};
use windlass_core::name::{Owner, StateKey};
use windlass_core::outbox::{MAX_CLAIMED_MESSAGES, Message};
use windlass_core::plan::Plan;
use windlass_core::reader::ChainReader;
use windlass_core::retry::RetryPolicy;
use windlass_core::row_query::{Condition, MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::{Cursors, Door, Events, Jobs, Outbox, Store, Tables};
use windlass_core::table::{EventRow, Identifier, RowHead, Rows, TableSpec, Value};
use windlass_engine::collect::backfill::{Backfilled, Backfiller};
use windlass_engine::collect::catalog::{Catalog, CatalogEntry, Emitter};
use windlass_engine::collect::chain::{CollectOptions, CollectedChain, Halt};
use windlass_engine::collect::doubts::Doubts;
use windlass_engine::collect::head::{Followed, Follower};
use windlass_engine::collect::names::ChainNames;
use windlass_engine::collect::sight::Sight;
use windlass_engine::collect::verify::{Verified, VerifyOptions};
use windlass_testkit::clock::ManualClock;

use super::flaky::Flaky;
use super::scripted::Scripted;
use crate::collect::chain::{COLLECTORS, FEES, Fee, Meaning, SimChain};
use crate::collect::endpoint::Endpoint;
use crate::database::{Database, Intruder, Kind};

/// How long leases and holds last.
pub(crate) const LEASE_TTL: Duration = Duration::from_secs(30);
/// What counts as near the head; five times this is the past.
pub(crate) const BATCH_SIZE: u64 = 4;
/// So many steps without an end mean that there is none.
const MAX_STEPS: u32 = 500;

/// Where a case plays.
pub(crate) struct Stage {
    pub(crate) chain: Arc<SimChain>,
    pub(crate) reader: Arc<Scripted>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: Arc<Flaky>,
    pub(crate) table: Arc<TableSpec>,
    pub(crate) names: ChainNames,
    decoder: Arc<Decoder>,
    _database: Database,
}

/// One process that collects.
pub(crate) struct Collector {
    pub(crate) chain: Arc<CollectedChain>,
    pub(crate) follower: Follower,
    pub(crate) backfiller: Backfiller,
    clock: Arc<ManualClock>,
}

/// What a collector is to do.
#[derive(Debug, Clone)]
pub(crate) struct Orders {
    pub(crate) finality: Finality,
    /// Contracts, with their first blocks.
    pub(crate) sources: Vec<(Address, u64)>,
    /// How the past is verified.
    pub(crate) verify: VerifyOptions,
    /// How often the newest block is asked for, where that is fixed.
    pub(crate) poll_interval: Option<Duration>,
}

impl Default for Orders {
    /// The fees of both collectors from the first block on, final as the chain says.
    fn default() -> Self {
        Self {
            finality: Finality::Finalized,
            sources: COLLECTORS.map(|contract| (contract, 0)).to_vec(),
            verify: VerifyOptions::default(),
            poll_interval: None,
        }
    }
}

/// Orders for one collector's fees from a block on.
pub(crate) fn from_block(start: u64) -> Orders {
    Orders { sources: vec![(COLLECTORS[0], start)], ..Orders::default() }
}

/// Orders under which blocks are final so deep below the head.
pub(crate) fn with_finality(finality: Finality) -> Orders {
    Orders { finality, ..Orders::default() }
}

/// A fee that can be told by its number.
pub(crate) fn fee(number: u64) -> Fee {
    Fee {
        token: Address::with_last_byte(1),
        integrator: Address::with_last_byte(2),
        fees: [U256::from(number), U256::from(10 * number)],
    }
}

impl Stage {
    /// A chain with its first block only, whose blocks are final so deep below the
    /// head, and an empty store of this kind.
    pub(crate) async fn new(kind: Kind, finality_blocks: u64) -> Self {
        Self::of(kind, SimChain::with_finality(0, finality_blocks)).await
    }

    /// The same with another chain.
    pub(crate) async fn of(kind: Kind, chain: SimChain) -> Self {
        let clock = Arc::new(ManualClock::new());
        let (database, store) = Database::open(kind, clock.clone()).await;
        Self::on(chain, clock, database, store).await
    }

    /// The same with a database that somebody else writes to as well.
    pub(crate) async fn open_to_all(kind: Kind, finality_blocks: u64) -> (Self, Intruder) {
        let clock = Arc::new(ManualClock::new());
        let (database, store, intruder) = Database::open_to_all(kind, clock.clone()).await;
        let chain = SimChain::with_finality(0, finality_blocks);
        (Self::on(chain, clock, database, store).await, intruder)
    }

    async fn on(chain: SimChain, clock: Arc<ManualClock>, database: Database, store: Arc<dyn Store>) -> Self {
        let chain = Arc::new(chain);
        let endpoint = Arc::new(Endpoint::new(chain.clone(), 0));
        let shape: EventShape = FEES.parse().expect("an event");
        let index = Identifier::new("fees").expect("a name");
        let table = Arc::new(shape.table(&index, chain.id(), &[]));
        store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
        Self {
            reader: Arc::new(Scripted::new(endpoint)),
            clock,
            store: Arc::new(Flaky::new(store)),
            table,
            names: ChainNames::new(chain.id()).expect("good names"),
            decoder: Arc::new(Decoder::new(&shape)),
            chain,
            _database: database,
        }
    }

    /// Adds a block with these fees of the first collector.
    pub(crate) fn mine(&self, numbers: &[u64]) -> BlockRef {
        let fees: Vec<_> = numbers.iter().map(|number| (COLLECTORS[0], fee(*number))).collect();
        self.chain.add(&fees)
    }

    /// Adds blocks, each with one fee whose number is the block's.
    pub(crate) fn mine_up_to(&self, head: u64) {
        while self.chain.head() < head {
            self.mine(&[self.chain.head() + 1]);
        }
    }

    /// Adds blocks without fees.
    pub(crate) fn mine_empty(&self, blocks: u64) {
        for _ in 0..blocks {
            self.chain.add(&[]);
        }
    }

    /// A process under these orders.
    pub(crate) fn collector(&self, name: &str, orders: &Orders) -> Collector {
        self.collector_reading(name, orders, self.reader.clone())
    }

    /// The same, which reads the chain by another way.
    pub(crate) fn collector_reading(
        &self,
        name: &str,
        orders: &Orders,
        reader: Arc<dyn ChainReader>,
    ) -> Collector {
        let owner = |part: &str| Owner::new(format!("{name}/{part}")).expect("an owner");
        let options = CollectOptions {
            finality: orders.finality,
            verify: orders.verify,
            realtime_interval: orders.poll_interval,
            lease_ttl: LEASE_TTL,
            batch_size: BATCH_SIZE,
            retry: RetryPolicy { base_ms: 1, ceiling_ms: 1, jitter_percent: 0, max_attempts: 10 },
            ..CollectOptions::new(self.chain.id(), owner("head"))
        };
        let entries = orders.sources.iter().map(|(contract, start)| CatalogEntry {
            table: self.table.clone(),
            decoder: self.decoder.clone(),
            emitter: Emitter::Contract(*contract),
            start: *start,
        });
        let catalog = Catalog::new(self.chain.id(), entries);
        let chain = CollectedChain::new(options, self.store.clone(), reader, catalog);
        let chain = Arc::new(chain.expect("good names"));
        Collector {
            follower: Follower::new(chain.clone(), None),
            backfiller: Backfiller::new(chain.clone(), owner("ranges")),
            chain,
            clock: self.clock.clone(),
        }
    }

    /// Rows that meet the conditions, oldest first.
    pub(crate) async fn rows_where(&self, conditions: Vec<Condition>) -> Vec<EventRow> {
        let table = self.table.name.clone();
        let order = RowOrder::OldestFirst;
        let query = RowQuery { table, conditions, order, after: None, limit: MAX_ROW_PAGE };
        self.store.rows(&query).await.expect("rows")
    }

    /// Every row.
    pub(crate) async fn rows(&self) -> Vec<EventRow> {
        self.rows_where(Vec::new()).await
    }

    /// Block and number of every stored fee.
    pub(crate) async fn fees(&self) -> Vec<(u64, u64)> {
        self.rows().await.iter().map(|row| (row.head.block.number, number(row))).collect()
    }

    /// Asserts that the table has every fee of these sources that the chain has, in
    /// every column, and no other.
    pub(crate) async fn assert_complete(&self, orders: &Orders) {
        let is_wanted = |address: Address, block: u64| {
            orders.sources.iter().any(|(contract, start)| *contract == address && *start <= block)
        };
        let truth = self.chain.truth();
        let truth = truth.iter().filter(|(log, _)| is_wanted(log.address, log.block.number));
        let truth: Vec<_> = truth
            .filter_map(|(log, meaning)| match meaning {
                Meaning::Fee(fee) => Some((log, fee)),
                _ => None,
            })
            .collect();
        let rows = self.rows().await;
        assert_eq!(rows.len(), truth.len(), "{:?}", self.fees().await);
        for (row, (log, fee)) in rows.iter().zip(truth) {
            let head = row.head;
            assert_eq!((head.block, head.log_index), (log.block, log.log_index));
            assert_eq!((head.timestamp_s, head.address), (log.timestamp_s, log.address));
            assert_eq!(head.transaction_hash, log.transaction_hash);
            assert_eq!(row.values, values(fee));
        }
    }

    /// Headers that are stored.
    pub(crate) async fn headers(&self) -> Vec<BlockHeader> {
        self.store.blocks(self.chain.id(), 0, 10_000).await.expect("headers")
    }

    /// Asserts that headers of exactly these blocks are stored, as the chain has them.
    pub(crate) async fn assert_headers(&self, blocks: std::ops::RangeInclusive<u64>) {
        let stored = self.headers().await;
        let expected = blocks.map(|number| self.chain.block(number).expect("a block").header.block);
        assert_eq!(stored, expected.collect::<Vec<_>>());
    }

    /// The last block that the head has behind it.
    pub(crate) async fn position(&self) -> Option<i64> {
        self.store.cursor(&self.names.head).await.expect("a cursor").map(|cursor| cursor.primary())
    }

    /// The last block that was looked at again.
    pub(crate) async fn rechecked(&self) -> Option<i64> {
        self.store.cursor(&self.names.recheck).await.expect("a cursor").map(|cursor| cursor.primary())
    }

    /// Where the chain was seen last.
    pub(crate) async fn sight(&self) -> Option<Sight> {
        self.kept(&self.names.sight).await
    }

    /// Why collecting has stopped, if it has.
    pub(crate) async fn halt(&self) -> Option<Halt> {
        self.kept(&self.names.halt).await
    }

    /// How often the plan was changed.
    pub(crate) async fn plan_version(&self) -> Option<u64> {
        self.kept::<Plan>(&self.names.plan).await.map(|plan| plan.version)
    }

    /// What the second look is in doubt about.
    pub(crate) async fn doubts(&self) -> Doubts {
        Doubts::read(&*self.store, &self.names.doubts).await.expect("doubts")
    }

    /// Blocks that were held against more than one endpoint.
    pub(crate) async fn compared(&self) -> BlockSet {
        self.kept(&self.names.compared).await.unwrap_or_default()
    }

    /// What was verified.
    pub(crate) async fn verified(&self) -> Verified {
        Verified::read(&*self.store, &self.names.verified).await.expect("a record")
    }

    /// Puts a row into the table, as nobody should.
    pub(crate) async fn write_row(&self, head: RowHead, number: u64) {
        let mut rows = Rows::new(self.table.clone());
        let put = rows.push_with(head, |into| {
            into.extend(values(&fee(number)));
            Ok::<(), ()>(())
        });
        assert_eq!(put, Ok(true));
        self.store.commit(Commit::of(vec![Write::Rows(rows)])).await.expect("written");
    }

    /// The stored row of a block with one.
    pub(crate) async fn row_of(&self, block: u64) -> EventRow {
        self.rows().await.into_iter().find(|row| row.head.block.number == block).expect("a row")
    }

    async fn kept<T: serde::de::DeserializeOwned>(&self, key: &StateKey) -> Option<T> {
        let text = self.store.state(key).await.expect("state")?;
        Some(serde_json::from_str(&text).expect("what was kept"))
    }

    /// Open or dead jobs.
    pub(crate) async fn jobs(&self, dead: bool) -> Vec<JobRow> {
        let filter = JobFilter { dead, limit: MAX_LISTED_JOBS, ..JobFilter::default() };
        self.store.list_jobs(&filter).await.expect("jobs")
    }

    /// Everything that was said about the chain.
    pub(crate) async fn messages(&self) -> Vec<Message> {
        self.store.messages(&self.names.partition, 0, MAX_CLAIMED_MESSAGES).await.expect("messages")
    }
}

impl Collector {
    /// One step of the head.
    pub(crate) async fn follow(&mut self) -> Followed {
        self.follower.step().await.expect("a step")
    }

    /// One step of the past.
    pub(crate) async fn backfill(&mut self) -> Backfilled {
        self.backfiller.step().await.expect("a step")
    }

    /// Steps until there is nothing more to do; says what the head did.
    pub(crate) async fn settle(&mut self) -> Vec<Followed> {
        let mut did = Vec::new();
        for _ in 0..MAX_STEPS {
            self.clock.advance_ms(10);
            let range = self.backfill().await;
            let head = self.follow().await;
            if (head, &range) == (Followed::Idle, &Backfilled::Idle) {
                return did;
            }
            did.push(head);
        }
        panic!("there is no end: {did:?}");
    }

    /// Steps of the head until it is idle.
    pub(crate) async fn settle_head(&mut self) {
        for _ in 0..MAX_STEPS {
            self.clock.advance_ms(10);
            if self.follow().await == Followed::Idle {
                return;
            }
        }
        panic!("there is no end");
    }

    /// Steps of the past until there is no range; says what became of them.
    pub(crate) async fn work_off(&mut self) -> Vec<Backfilled> {
        let mut did = Vec::new();
        for _ in 0..MAX_STEPS {
            self.clock.advance_ms(10);
            match self.backfill().await {
                Backfilled::Idle => return did,
                step => did.push(step),
            }
        }
        panic!("there is no end: {did:?}");
    }
}

/// The number of a stored fee.
pub(crate) fn number(row: &EventRow) -> u64 {
    match &row.values[2] {
        Value::Uint(number) => number.to(),
        other => panic!("{other:?} is no number"),
    }
}

/// A fee as the columns have it, in the order of the event's fields.
pub(crate) fn values(fee: &Fee) -> Vec<Value> {
    let [integrator_fee, lifi_fee] = fee.fees;
    vec![
        Value::Address(fee.token),
        Value::Address(fee.integrator),
        Value::Uint(integrator_fee),
        Value::Uint(lifi_fee),
    ]
}
