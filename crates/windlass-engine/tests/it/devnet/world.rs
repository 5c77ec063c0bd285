//! A chain with a contract that logs, served over HTTP, and a store to collect into.

use std::sync::Arc;
use std::time::Duration;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, Bytes, TxKind, hex};
use windlass_chain::evm::{EvmReader, EvmRpc};
use windlass_core::abi::{Decoder, EventShape};
use windlass_core::chain::ChainId;
use windlass_core::error::RetryAdvice;
use windlass_core::name::{CursorName, Owner};
use windlass_core::reader::ChainReader;
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::{MAX_EVENT_PAGE, Store};
use windlass_core::table::{EventRow, Identifier, TableSpec};
use windlass_devnet::chain::{Chain, ChainOptions, LogFilter};
use windlass_devnet::faults::{Faults, Plan};
use windlass_devnet::rpc::{Server, ServerHandle, ServerOptions};
use windlass_engine::collect::backfill::{Backfilled, Backfiller};
use windlass_engine::collect::catalog::{Catalog, CatalogEntry, Emitter};
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};
use windlass_engine::collect::head::{Followed, Follower};
use windlass_engine::collect::verify::{VerifyMode, VerifyOptions};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::clock::ManualClock;
use windlass_testkit::harness::OneHandle;

/// How long a follower's lease lasts, in the simulation's time.
pub(super) const LEASE_TTL: Duration = Duration::from_secs(30);
/// How many steps a follower may need to reach a head that stands still.
const MAX_STEPS_TO_HEAD: u32 = 2_000;

/// A contract that answers any call by logging its first word as a topic:
/// CALLDATALOAD 0, then LOG1 over nothing.
const LOGGER: &[u8] = &hex!("6008600c60003960086000f35f355f5fa1005b00");

/// What the contract logs.
const LOGGED: &str = "Logged(bytes32 indexed word) anonymous";

pub(super) struct World {
    pub(super) chain: Chain,
    pub(super) contract: Address,
    pub(super) faults: Faults,
    pub(super) clock: Arc<ManualClock>,
    pub(super) start_block: u64,
    server: ServerHandle,
}

impl World {
    pub(super) async fn new(seed: u64) -> Self {
        // Another test of this process may have been first; that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let chain = Chain::new(ChainOptions::deterministic());
        let deployer = chain.accounts().swap_remove(0);
        let contract = chain.deploy(&deployer, Bytes::from_static(LOGGER)).expect("deployed");
        chain.mine();
        assert!(!chain.code(contract).is_empty(), "the contract is there");
        let faults = Faults::new(seed, Plan::default());
        let options = ServerOptions { faults: Some(faults.clone()), ..ServerOptions::default() };
        let server = Server::start(Arc::new(chain.clone()), options).await.expect("a server");
        Self { chain, contract, faults, clock: Arc::new(ManualClock::new()), start_block: 0, server }
    }

    pub(super) async fn database(&self) -> OneHandle {
        let options = SqliteOptions::memory().with_clock(self.clock.clone());
        let store = SqliteStore::open(options).await.expect("a store");
        windlass_core::store::Tables::create_tables(&store, &[self.table().0]).await.expect("a table");
        OneHandle { store: Arc::new(store), clock: self.clock.clone() }
    }

    pub(super) fn table(&self) -> (Arc<TableSpec>, Arc<Decoder>) {
        let shape: EventShape = LOGGED.parse().expect("an event");
        let index = Identifier::new("words").expect("a name");
        (Arc::new(shape.table(&index, self.chain_id(), &[])), Arc::new(Decoder::new(&shape)))
    }

    /// The endpoint, as a worker reads it.
    pub(super) fn reader(&self) -> Arc<dyn ChainReader> {
        let rpc = EvmRpc::with_timeout(&self.server.http_url(), Duration::from_secs(20)).expect("a client");
        Arc::new(EvmReader::new(rpc, self.chain_id()))
    }

    pub(super) fn chain_id(&self) -> ChainId {
        ChainId::new(self.chain.chain_id()).expect("an id")
    }

    /// A worker of its own, on the same store.
    pub(super) fn worker(&self, name: &str, store: Arc<dyn Store>) -> Worker {
        self.worker_with(name, store, self.reader())
    }

    pub(super) fn worker_with(
        &self,
        name: &str,
        store: Arc<dyn Store>,
        reader: Arc<dyn ChainReader>,
    ) -> Worker {
        let chain = self.collected_chain_with(name, store, reader);
        let owner = Owner::new(format!("{name}-ranges")).expect("an owner");
        Worker { follower: Follower::new(chain.clone(), None), backfiller: Backfiller::new(chain, owner) }
    }

    /// What a worker's loops share.
    pub(super) fn collected_chain(&self, name: &str, store: Arc<dyn Store>) -> Arc<CollectedChain> {
        self.collected_chain_with(name, store, self.reader())
    }

    /// The same, verified whole, however many requests that takes.
    pub(super) fn verified_chain(
        &self,
        name: &str,
        store: Arc<dyn Store>,
        reader: Arc<dyn ChainReader>,
    ) -> Arc<CollectedChain> {
        let verify = VerifyOptions { mode: VerifyMode::Full, share_ppm: 1_000_000 };
        self.chain_verified_by(verify, name, store, reader)
    }

    fn collected_chain_with(
        &self,
        name: &str,
        store: Arc<dyn Store>,
        reader: Arc<dyn ChainReader>,
    ) -> Arc<CollectedChain> {
        self.chain_verified_by(VerifyOptions::default(), name, store, reader)
    }

    fn chain_verified_by(
        &self,
        verify: VerifyOptions,
        name: &str,
        store: Arc<dyn Store>,
        reader: Arc<dyn ChainReader>,
    ) -> Arc<CollectedChain> {
        let (table, decoder) = self.table();
        let entry = CatalogEntry {
            table,
            decoder,
            emitter: Emitter::Contract(self.contract),
            start: self.start_block,
        };
        let options = CollectOptions {
            lease_ttl: LEASE_TTL,
            historical_interval: Duration::from_millis(1),
            realtime_interval: Some(Duration::from_millis(1)),
            max_blocks_per_step: 8,
            verify,
            ..CollectOptions::new(self.chain_id(), Owner::new(name).expect("an owner"))
        };
        let catalog = Catalog::new(self.chain_id(), [entry]);
        Arc::new(CollectedChain::new(options, store, reader, catalog).expect("good names"))
    }

    /// Puts calls that log into the pool and makes a block of them.
    pub(super) fn mine(&self, calls: u64) {
        let account = self.chain.accounts().swap_remove(1);
        for _ in 0..calls {
            let nonce = self.chain.next_nonce(account.address());
            let transaction = TxEip1559 {
                chain_id: self.chain.chain_id(),
                nonce,
                gas_limit: 60_000,
                max_fee_per_gas: 100_000_000_000,
                max_priority_fee_per_gas: 1,
                to: TxKind::Call(self.contract),
                input: Bytes::copy_from_slice(&B256::with_last_byte(nonce as u8)[..]),
                ..TxEip1559::default()
            };
            self.chain.send(account.sign(transaction).expect("signed")).expect("accepted");
        }
        self.chain.mine();
    }

    /// What differs between the store and the chain: rows, headers, or the position.
    pub(super) async fn difference(&self, store: &dyn Store) -> Option<String> {
        let logs =
            self.chain.canonical_logs(&LogFilter::range(self.start_block, u64::MAX).address(self.contract));
        let truth: Vec<(B256, u64)> =
            logs.iter().map(|log| (log.block_hash.expect("mined"), log.log_index.expect("mined"))).collect();
        let rows = self.rows(store).await;
        let stored: Vec<(B256, u64)> =
            rows.iter().map(|row| (row.head.block.hash, u64::from(row.head.log_index))).collect();
        if truth != stored {
            return Some(format!(
                "{} logs on the chain, {} in the store, and not the same",
                truth.len(),
                stored.len()
            ));
        }
        let head = self.chain.head();
        let headers = store.blocks(self.chain_id(), 0, MAX_EVENT_PAGE).await.expect("blocks");
        for number in self.chain.finalized()..=head.number() {
            let hash = self.chain.block(number).expect("a block").hash();
            if !headers.iter().any(|header| (header.number, header.hash) == (number, hash)) {
                return Some(format!("block {number} is missing"));
            }
        }
        let name = CursorName::new(format!("collect/{}/head", self.chain_id())).expect("a name");
        let cursor = store.cursor(&name).await.expect("read").expect("a cursor");
        let at = (cursor.primary(), cursor.secondary().to_owned());
        let due = (i64::try_from(head.number()).expect("small"), head.hash().to_string());
        (at != due).then(|| format!("the cursor is at {cursor}, the head at {due:?}"))
    }

    pub(super) async fn rows(&self, store: &dyn Store) -> Vec<EventRow> {
        let query = RowQuery {
            table: self.table().0.name.clone(),
            conditions: vec![],
            order: RowOrder::OldestFirst,
            after: None,
            limit: MAX_ROW_PAGE,
        };
        store.rows(&query).await.expect("rows")
    }
}

/// A follower and a worker for ranges.
pub(super) struct Worker {
    pub(super) follower: Follower,
    pub(super) backfiller: Backfiller,
}

/// Steps until there is nothing to do; trouble that passes is stepped over.
/// `false` when it gives up or does not get there.
pub(super) async fn reach_head(worker: &mut Worker) -> bool {
    for _ in 0..MAX_STEPS_TO_HEAD {
        let followed = worker.follower.step().await;
        let backfilled = worker.backfiller.step().await;
        let gives_up = |advice| advice == RetryAdvice::Never;
        match (followed, backfilled) {
            (Ok(Followed::Idle), Ok(Backfilled::Idle)) => return true,
            (Err(error), _) | (_, Err(error)) if gives_up(error.retry()) => return false,
            _ => {}
        }
    }
    false
}
