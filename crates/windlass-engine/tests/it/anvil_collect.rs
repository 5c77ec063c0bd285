//! The same collecting from anvil: another implementation of a chain, with reorgs of
//! its own making. The table must equal what anvil itself answers.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256, hex};
use serde_json::{Value as Json, json};
use windlass_chain::evm::{EvmPool, PoolOptions};
use windlass_core::abi::{Decoder, EventShape};
use windlass_core::chain::ChainId;
use windlass_core::error::RetryAdvice;
use windlass_core::finality::Finality;
use windlass_core::name::Owner;
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::{Store, Tables};
use windlass_core::table::{Identifier, TableSpec, Value};
use windlass_engine::collect::backfill::{Backfilled, Backfiller};
use windlass_engine::collect::catalog::{Catalog, CatalogEntry, Emitter};
use windlass_engine::collect::chain::{CollectOptions, CollectedChain};
use windlass_engine::collect::head::{Followed, Follower};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};
use windlass_testkit::foundry::Anvil;

/// Answers any call by logging its first word as a topic.
const LOGGER: &[u8] = &hex!("6008600c60003960086000f35f355f5fa1005b00");
const LOGGED: &str = "Logged(bytes32 indexed word) anonymous";
/// Anvil's first account.
const SENDER: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";

struct Node {
    _anvil: Anvil,
    url: String,
    client: reqwest::Client,
}

impl Node {
    fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let anvil = Anvil::start(&["--no-mining"]);
        Self { url: anvil.url.clone(), _anvil: anvil, client: reqwest::Client::new() }
    }

    async fn call(&self, method: &str, params: Json) -> Json {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
        let request = self.client.post(&self.url).header("content-type", "application/json").body(body);
        let text = request.send().await.expect("anvil answers").text().await.expect("a body");
        let answer: Json = serde_json::from_str(&text).expect("JSON");
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn mine(&self, calls: u64, contract: &str, salt: u64) {
        for call in 0..calls {
            let word = B256::from(U256::from(salt * 1_000 + call));
            let transaction = json!([{ "from": SENDER, "to": contract, "data": word, "gas": "0x10000" }]);
            self.call("eth_sendTransaction", transaction).await;
        }
        self.call("evm_mine", json!([])).await;
    }

    /// Hash, log index and topic of every log that anvil has.
    async fn truth(&self, contract: &str) -> Vec<(B256, u32, B256)> {
        let filter = json!([{ "fromBlock": "0x0", "toBlock": "latest", "address": contract }]);
        let logs = self.call("eth_getLogs", filter).await;
        let read = |log: &Json| {
            let text = |key: &str| log[key].as_str().expect("text").to_owned();
            let index = u32::from_str_radix(text("logIndex").trim_start_matches("0x"), 16).expect("a number");
            let topic = log["topics"][0].as_str().expect("a topic").parse().expect("a hash");
            (text("blockHash").parse().expect("a hash"), index, topic)
        };
        logs.as_array().expect("a list").iter().map(read).collect()
    }
}

/// A collector of what the contract logs.
struct Collector {
    store: Arc<dyn Store>,
    table: Arc<TableSpec>,
    follower: Follower,
    backfiller: Backfiller,
}

impl Collector {
    async fn start(node: &Node, contract: Address) -> Self {
        let chain = ChainId::new(31_337).expect("an id");
        let shape: EventShape = LOGGED.parse().expect("an event");
        let table = Arc::new(shape.table(&Identifier::new("words").expect("a name"), chain, &[]));
        let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
        store.create_tables(std::slice::from_ref(&table)).await.expect("a table");
        let store: Arc<dyn Store> = Arc::new(store);
        let decoder = Arc::new(Decoder::new(&shape));
        let entry =
            CatalogEntry { table: table.clone(), decoder, emitter: Emitter::Contract(contract), start: 0 };
        let pool = EvmPool::new(&[&node.url], chain, PoolOptions::default()).expect("a pool");
        let owner = Owner::new("test").expect("an owner");
        let options = CollectOptions {
            finality: Finality::Depth(12),
            batch_size: 3,
            lease_ttl: Duration::from_secs(600),
            ..CollectOptions::new(chain, owner.clone())
        };
        let catalog = Catalog::new(chain, [entry]);
        let chain = CollectedChain::new(options, store.clone(), Arc::new(pool), catalog).expect("names");
        let chain = Arc::new(chain);
        let follower = Follower::new(chain.clone(), None);
        Self { store, table, follower, backfiller: Backfiller::new(chain, owner) }
    }

    async fn catch_up(&mut self) -> u64 {
        let mut reorgs = 0;
        loop {
            let followed = self.follower.step().await;
            let backfilled = self.backfiller.step().await;
            match (followed, backfilled) {
                (Ok(Followed::Idle), Ok(Backfilled::Idle)) => return reorgs,
                (Ok(Followed::Reorganised { .. }), _) => reorgs += 1,
                (Err(error), _) | (_, Err(error)) => {
                    assert!(matches!(error.retry(), RetryAdvice::After(_)), "{error}");
                }
                _ => {}
            }
        }
    }

    async fn stored(&self) -> Vec<(B256, u32, B256)> {
        let query = RowQuery {
            table: self.table.name.clone(),
            conditions: vec![],
            order: RowOrder::OldestFirst,
            after: None,
            limit: MAX_ROW_PAGE,
        };
        let rows = self.store.rows(&query).await.expect("rows");
        let read = |row: windlass_core::table::EventRow| match &row.values[0] {
            Value::Bytes(word) => (row.head.block.hash, row.head.log_index, B256::from_slice(word)),
            other => panic!("{other:?}"),
        };
        rows.into_iter().map(read).collect()
    }
}

#[tokio::test]
async fn the_table_equals_what_anvil_answers_through_reorgs() {
    let node = Node::start();
    let deployment = json!([{ "from": SENDER, "data": hex::encode_prefixed(LOGGER), "gas": "0x100000" }]);
    let hash = node.call("eth_sendTransaction", deployment).await;
    node.call("evm_mine", json!([])).await;
    let receipt = node.call("eth_getTransactionReceipt", json!([hash])).await;
    let contract = receipt["contractAddress"].as_str().expect("an address").to_owned();
    for salt in 0..30 {
        node.mine(salt % 3, &contract, salt).await;
    }
    let mut collector = Collector::start(&node, contract.parse().expect("an address")).await;
    collector.catch_up().await;
    assert_eq!(collector.stored().await, node.truth(&contract).await);
    let mut reorgs = 0;
    for round in 0..6_u64 {
        for salt in 0..4 {
            node.mine(salt % 3, &contract, 100 + round * 10 + salt).await;
        }
        collector.catch_up().await;
        node.call("anvil_reorg", json!([2 + round, []])).await;
        node.mine(2, &contract, 500 + round).await;
        reorgs += collector.catch_up().await;
        assert_eq!(collector.stored().await, node.truth(&contract).await, "round {round}");
    }
    assert!(reorgs >= 6, "{reorgs} reorgs were seen");
}
