//! A chain in memory, its endpoint, and processes that collect it into one store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use windlass_core::abi::{Decoder, EventShape};
use windlass_core::commit::Write;
use windlass_core::finality::Finality;
use windlass_core::index::{Contracts, IndexSpec, Start};
use windlass_core::name::Owner;
use windlass_core::range::BlockRange;
use windlass_core::retry::RetryPolicy;
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::{MAX_EVENT_PAGE, Store};
use windlass_core::table::{EventRow, Identifier, RowKey, TableSpec, Value};
use windlass_engine::collect::backfill::Backfiller;
use windlass_engine::collect::catalog::{Catalog, CatalogEntry, Emitter};
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};
use windlass_engine::collect::head::Follower;
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::harness::OneHandle;

use super::chain::{COLLECTORS, FACTORY, FEES, Fee, MADE, Meaning, NOTED, ODD, SimChain};
use super::endpoint::Endpoint;

pub(super) const LEASE_TTL: Duration = Duration::from_secs(30);
/// Above five times this the past is gone over in ranges.
pub(super) const BATCH_SIZE: u64 = 4;

/// Which sources are wanted: the first collector's fees, the second's, the notes, the
/// factory with what it has created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice(pub(super) [bool; 4]);

impl Choice {
    pub(super) const ALL: Self = Self([true; 4]);
}

/// The values of a log's row, if it is to have one.
type Choose<'a> = dyn Fn(Address, u64, &Meaning) -> Option<Vec<Value>> + 'a;

/// A chain and its endpoint.
pub(super) struct World {
    pub(super) chain: Arc<SimChain>,
    pub(super) endpoint: Arc<Endpoint>,
    pub(super) clock: Arc<ManualClock>,
    fees: (Arc<TableSpec>, Arc<Decoder>),
    notes: (Arc<TableSpec>, Arc<Decoder>),
    /// An index of the contracts that a factory has created.
    made: IndexSpec,
}

/// One process: a follower, and workers for ranges.
pub(super) struct Process {
    pub(super) follower: Follower,
    pub(super) backfillers: Vec<Backfiller>,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let chain = Arc::new(SimChain::new(seed));
        let event = |index: &str, text: &str| {
            let shape: EventShape = text.parse().expect("an event");
            let index = Identifier::new(index).expect("a name");
            (Arc::new(shape.table(&index, chain.id(), &[])), Arc::new(Decoder::new(&shape)))
        };
        let made = IndexSpec::new(
            Identifier::new("made").expect("a name"),
            chain.id(),
            Contracts::Created {
                by: vec![FACTORY],
                event: MADE.parse().expect("an event"),
                field: "child".to_owned(),
            },
            Start::Block(STARTS[3]),
            vec![FEES.parse().expect("an event")],
            &[],
        );
        let made = made.expect("an index");
        Self {
            made,
            endpoint: Arc::new(Endpoint::new(chain.clone(), seed)),
            clock: Arc::new(ManualClock::new()),
            fees: event("fees", FEES),
            notes: event("notes", NOTED),
            chain,
        }
    }

    /// A store in memory with the tables.
    pub(super) async fn database(&self) -> OneHandle {
        let options = SqliteOptions::memory().with_clock(self.clock.clone());
        let store = SqliteStore::open(options).await.expect("a store");
        let database = OneHandle { store: Arc::new(store), clock: self.clock.clone() };
        self.create_tables(&*database.store).await;
        database
    }

    pub(super) async fn create_tables(&self, store: &dyn Store) {
        let mut tables = vec![self.fees.0.clone(), self.notes.0.clone()];
        tables.extend(self.made.tables());
        store.create_tables(&tables).await.expect("tables");
    }

    fn catalog(&self, Choice(wanted): Choice) -> Catalog {
        let entry = |(table, decoder): &(Arc<TableSpec>, Arc<Decoder>), contract, start| CatalogEntry {
            table: table.clone(),
            decoder: decoder.clone(),
            emitter: Emitter::Contract(contract),
            start,
        };
        let all = [
            entry(&self.fees, COLLECTORS[0], STARTS[0]),
            entry(&self.fees, COLLECTORS[1], STARTS[1]),
            entry(&self.notes, ODD, STARTS[2]),
        ];
        let chosen = all.into_iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(entry, _)| entry);
        let made = if wanted[3] { CatalogEntry::of_index(&self.made, |_| STARTS[3]) } else { Vec::new() };
        Catalog::new(self.chain.id(), chosen.chain(made))
    }

    /// The chain as a process of its own sees it, on the same store.
    pub(super) fn collected_chain(
        &self,
        name: &str,
        store: Arc<dyn Store>,
        choice: Choice,
    ) -> Arc<CollectedChain> {
        let owner = |part: &str| Owner::new(format!("{name}/{part}")).expect("an owner");
        let options = CollectOptions {
            finality: Finality::Finalized,
            lease_ttl: LEASE_TTL,
            batch_size: BATCH_SIZE,
            max_blocks_per_step: 5,
            retry: RetryPolicy { base_ms: 1, ceiling_ms: 1, jitter_percent: 0, max_attempts: 10 },
            ..CollectOptions::new(self.chain.id(), owner("head"))
        };
        let chain = CollectedChain::new(options, store, self.endpoint.clone(), self.catalog(choice));
        Arc::new(chain.expect("good names"))
    }

    /// A process of its own, on the same store.
    pub(super) fn process(&self, name: &str, store: Arc<dyn Store>, choice: Choice) -> Process {
        let owner = |part: &str| Owner::new(format!("{name}/{part}")).expect("an owner");
        let chain = self.collected_chain(name, store, choice);
        Process {
            follower: Follower::new(chain.clone(), None),
            backfillers: (0..2)
                .map(|n| Backfiller::new(chain.clone(), owner(&format!("range-{n}"))))
                .collect(),
        }
    }

    /// What takes everything away that was collected of some blocks.
    pub(super) fn erasing(&self, blocks: BlockRange) -> Vec<Write> {
        let creation = self.made.creation.as_ref().expect("a factory");
        let tables = [&self.fees.0, &self.notes.0, &creation.table, &self.made.events[0].1];
        let rows = tables.into_iter().map(|table| Write::EraseRows {
            table: table.name.clone(),
            blocks,
            contracts: Vec::new(),
        });
        let raw = Write::EraseEvents { chain: self.chain.id(), blocks, contracts: Vec::new() };
        rows.chain([raw]).collect()
    }

    /// What differs between the tables and the chain.
    pub(super) async fn difference(&self, store: &dyn Store) -> Option<String> {
        let truth = self.chain.truth();
        let expected = |choose: &Choose<'_>| {
            let rows = truth.iter().filter_map(|(log, meaning)| {
                let values = choose(log.address, log.block.number, meaning)?;
                let key = RowKey { block: log.block.number, log_index: log.log_index };
                Some((key, (log.block.hash, log.transaction_hash, log.timestamp_s, values)))
            });
            rows.collect::<BTreeMap<_, _>>()
        };
        let fees = expected(&|address, block, meaning| match meaning {
            Meaning::Fee(fee) => {
                let which = COLLECTORS.iter().position(|collector| *collector == address)?;
                (block >= STARTS[which]).then(|| fee_values(fee))
            }
            _ => None,
        });
        let notes = expected(&|_, block, meaning| match meaning {
            Meaning::Note(number, text) if block >= STARTS[2] => {
                Some(vec![Value::Uint((*number).try_into().expect("small")), Value::Text(text.clone())])
            }
            _ => None,
        });
        let children = expected(&|_, block, meaning| match meaning {
            Meaning::ChildFee(fee) if block >= STARTS[3] => Some(fee_values(fee)),
            _ => None,
        });
        let creations = expected(&|_, block, meaning| match meaning {
            Meaning::Made(number, child) if block >= STARTS[3] => {
                Some(vec![Value::Uint((*number).try_into().expect("small")), Value::Address(*child)])
            }
            _ => None,
        });
        let creation = self.made.creation.as_ref().expect("a factory");
        let tables = [
            (&self.fees.0, fees),
            (&self.notes.0, notes),
            (&creation.table, creations),
            (&self.made.events[0].1, children),
        ];
        for (table, expected) in tables {
            let stored = all_rows(store, &table.name).await.into_iter().map(|row| {
                let head = row.head;
                (head.key(), (head.block.hash, head.transaction_hash, head.timestamp_s, row.values))
            });
            let stored: BTreeMap<_, _> = stored.collect();
            if stored != expected {
                let missing: Vec<_> = expected.keys().filter(|key| !stored.contains_key(key)).collect();
                let extra: Vec<_> = stored.keys().filter(|key| !expected.contains_key(key)).collect();
                return Some(format!("{}: missing {missing:?}, extra {extra:?}", table.name));
            }
        }
        self.raw_difference(store).await
    }

    async fn raw_difference(&self, store: &dyn Store) -> Option<String> {
        let truth = self.chain.truth();
        let misfits = truth
            .iter()
            .filter(|(log, meaning)| *meaning == Meaning::Misfit && log.block.number >= STARTS[2])
            .map(|(log, _)| log.clone())
            .collect::<Vec<_>>();
        let stored = store.events(self.chain.id(), (0, 0), MAX_EVENT_PAGE).await.expect("events");
        (stored != misfits).then(|| format!("{} misfits, {} raw logs", misfits.len(), stored.len()))
    }
}

fn fee_values(fee: &Fee) -> Vec<Value> {
    let [integrator_fee, lifi_fee] = fee.fees;
    vec![
        Value::Address(fee.token),
        Value::Address(fee.integrator),
        Value::Uint(integrator_fee),
        Value::Uint(lifi_fee),
    ]
}

/// The first block of interest of each source.
pub(super) const STARTS: [u64; 4] = [0, 30, 10, 0];

async fn all_rows(store: &dyn Store, table: &Identifier) -> Vec<EventRow> {
    let query = RowQuery {
        table: table.clone(),
        conditions: vec![],
        order: RowOrder::OldestFirst,
        after: None,
        limit: MAX_ROW_PAGE,
    };
    let rows = store.rows(&query).await.expect("rows");
    assert!(rows.len() < MAX_ROW_PAGE as usize, "one page holds them all");
    rows
}
