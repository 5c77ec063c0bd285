//! The schema over the tables that there are: what is in it, since when, and its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Value, json};
use windlass_core::abi::EventShape;
use windlass_core::chain::{Address, U256};
use windlass_core::commit::Write;
use windlass_core::error::StoreResult;
use windlass_core::index::{Contracts, IndexSpec, Start};
use windlass_core::table::{Rows, Value as Cell};
use windlass_testkit::hooked::{HookedStore, StoreHook};
use windlass_testkit::make::chain;

use crate::app::App;
use crate::database::Kind;
use crate::rows::{commit, fees_table, head, name, put, store_fees, table};

async fn count(app: &App, field: &str) -> Value {
    app.graphql(&format!("{{ {field} }}"), json!({})).await
}

pub(super) async fn tables_are_in_the_schema_while_they_are_there(kind: Kind) {
    let app = App::spawn(kind).await;
    let unknown = count(&app, "feesFeesCollectedCount").await;
    assert_eq!(unknown["errors"][0]["extensions"]["code"], "invalid_body", "{unknown}");
    let fees = fees_table(&*app.store).await;
    assert_eq!(count(&app, "feesFeesCollectedCount").await, json!({"data": {"feesFeesCollectedCount": 0}}));
    // Another one changes no name that was there.
    table(&*app.store, "fees", 1, "FeesCollecteds(uint256 a)").await;
    store_fees(&*app.store, &fees, &[(1, 0)]).await;
    let both = count(&app, "feesFeesCollectedCount feesFeesCollecteds_2Count").await;
    assert_eq!(both, json!({"data": {"feesFeesCollectedCount": 1, "feesFeesCollecteds_2Count": 0}}));
    // A table of the same name may hold something else later.
    app.store.drop_table(&fees.name).await.unwrap();
    assert_eq!(count(&app, "feesFeesCollectedCount").await["data"], Value::Null);
    table(&*app.store, "fees", 1, "FeesCollected(bool b)").await;
    let query =
        "{ feesFeesCollecteds_2s { items { a } } feesFeesCollecteds(where: {b: true}) { items { b } } }";
    let answer = app.graphql(query, json!({})).await;
    assert_eq!(answer["data"]["feesFeesCollecteds"]["items"], json!([]), "{answer}");
}

/// Contracts that a factory has created have a table of their own, beside the one of its events.
pub(super) async fn factories_and_what_they_create_have_types(kind: Kind) {
    let app = App::spawn(kind).await;
    let created: EventShape = "PairCreated(address indexed token, address pair, uint256)".parse().unwrap();
    let contracts =
        Contracts::Created { by: vec![Address::repeat_byte(9)], event: created, field: "pair".to_owned() };
    let events = vec!["Sync(uint112 reserve)".parse().unwrap(), "Burn()".parse().unwrap()];
    let index = IndexSpec::new(name("dex"), chain(1), contracts, Start::Block(1), events, &[]).unwrap();
    app.store.create_tables(&index.tables()).await.unwrap();
    let creation = Arc::clone(&index.creation.as_ref().unwrap().table);
    let (mut pairs, mut syncs) = (Rows::new(creation), Rows::new(Arc::clone(&index.events[0].1)));
    let pair = Address::repeat_byte(7);
    let token = Cell::Address(Address::repeat_byte(8));
    put(&mut pairs, head(1, 0, 1), vec![token, Cell::Address(pair), Cell::Uint(U256::from(1))]);
    put(&mut syncs, head(2, 0, 1), vec![Cell::Uint(U256::from(5))]);
    commit(&*app.store, vec![Write::Rows(pairs), Write::Rows(syncs)]).await;
    let query = "{
        dexPairCreateds(where: {field_3: 1}) { items { pair field_3 } }
        dexSyncs(where: {reserve_lte: 5}) { items { reserve blockNumber } }
        dexBurns { items { blockNumber } }
    }";
    let data = app.graphql(query, json!({})).await["data"].take();
    let items = |field: &str| &data[field]["items"];
    assert_eq!(items("dexPairCreateds"), &json!([{"pair": pair.to_checksum(None), "field_3": "1"}]));
    assert_eq!(items("dexSyncs"), &json!([{"reserve": "5", "blockNumber": 2}]));
    assert_eq!(items("dexBurns"), &json!([]));
    // An event without numbers has no totals.
    let none = app.graphql("{ dexBurnSum { truncated } }", json!({})).await;
    assert!(none["errors"][0]["message"].as_str().unwrap().contains("dexBurnSum"), "{none}");
}

pub(super) async fn tools_see_every_type_of_a_table(kind: Kind) {
    let app = App::spawn(kind).await;
    fees_table(&*app.store).await;
    let query = "{
        row: __type(name: \"FeesFeesCollected\") { kind description fields { name type { kind ofType { name } } } }
        where: __type(name: \"FeesFeesCollectedWhere\") { inputFields { name type { name kind } } }
        by: __type(name: \"FeesFeesCollectedGroupColumn\") { enumValues { name } }
        __schema { queryType { fields { name args { name } } } }
    }";
    let mut data = app.graphql(query, json!({})).await["data"].take();
    let fields = data["row"]["fields"].as_array().unwrap();
    let types: Vec<String> = fields
        .iter()
        .map(|field| {
            assert_eq!(field["type"]["kind"], "NON_NULL");
            format!("{}: {}", field["name"], field["type"]["ofType"]["name"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        types[..6],
        [
            "blockNumber: Long",
            "logIndex: Int",
            "blockHash: Bytes",
            "timestamp: Long",
            "transactionHash: Bytes",
            "address: Bytes",
        ]
    );
    assert_eq!(types[6..], ["token: Bytes", "integrator: Bytes", "integratorFee: BigInt", "lifiFee: BigInt"]);
    assert!(data["row"]["description"].as_str().unwrap().contains("FeesCollected(address"), "{data}");
    let filters = data["where"]["inputFields"].take();
    let filter = |name: &str| filters.as_array().unwrap().iter().find(|field| field["name"] == name).cloned();
    assert_eq!(filter("token_in").unwrap()["type"]["kind"], "LIST");
    assert_eq!(filter("integratorFee_gte").unwrap()["type"]["name"], "BigInt");
    assert_eq!(filter("token_gte"), None);
    assert_eq!(data["by"]["enumValues"][0], json!({"name": "address"}));
    let queries = data["__schema"]["queryType"]["fields"].as_array().unwrap();
    let names: Vec<&str> = queries.iter().map(|field| field["name"].as_str().unwrap()).collect();
    for known in ["events", "count", "sum", "indexes", "health", "payoutRequests", "feesFeesCollecteds"] {
        assert!(names.contains(&known), "{known}: {names:?}");
    }
}

/// What the button "Schema" of the page asks for has the types of tables in it.
pub(super) async fn the_console_asks_for_the_types_of_tables(kind: Kind) {
    let app = App::spawn(kind).await;
    fees_table(&*app.store).await;
    let (_, page) = app.text("/graphql").await;
    let between = |begin: &str, end: &str| {
        let (_, behind) = page.split_once(begin).unwrap();
        behind.split_once(end).unwrap().0.to_owned()
    };
    let query = between("await ask(`", "`)").replace("${of}", &between("const of = \"", "\""));
    let answer = app.graphql(&query, json!({})).await;
    let types = answer["data"]["__schema"]["types"].as_array().unwrap_or_else(|| panic!("{answer}"));
    for (name, fields) in [
        ("FeesFeesCollected", "fields"),
        ("FeesFeesCollectedPage", "fields"),
        ("FeesFeesCollectedWhere", "inputFields"),
        ("FeesFeesCollectedSumColumn", "enumValues"),
        ("FeesFeesCollectedGroupColumn", "enumValues"),
    ] {
        let found = types.iter().find(|ty| ty["name"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(!found[fields].as_array().unwrap().is_empty(), "{found}");
    }
}

/// Counts what the store is asked.
#[derive(Default)]
struct Reads(AtomicUsize);

#[async_trait]
impl StoreHook for Reads {
    async fn before(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn after(&self, _: &'static str) -> StoreResult<()> {
        Ok(())
    }

    async fn reading(&self, _: &'static str) -> StoreResult<()> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// A request that repeats a field is refused before it asks the store hundreds of questions.
pub(super) async fn no_request_asks_the_store_without_end(kind: Kind) {
    let reads = Arc::new(Reads::default());
    let hook = Arc::clone(&reads);
    let app = App::with(kind, |_, parts| {
        parts.store = Arc::new(HookedStore::new(Arc::clone(&parts.store), hook));
    })
    .await;
    let fees = fees_table(&*app.store).await;
    // So far apart that a time is searched for with many questions.
    store_fees(&*app.store, &fees, &[(1, 0), (1 << 28, 0)]).await;
    let many = |field: &str, count: usize| {
        let fields: String = (0..count).map(|number| format!("a{number}: {field} ")).collect();
        format!("{{ {fields} }}")
    };
    let time = "where: {timestamp_gte: 1700000100}";
    for (field, most) in [
        ("feesFeesCollected(blockNumber: 1, logIndex: 0) { token }".to_owned(), 99),
        ("feesFeesCollecteds(limit: 1) { items { token } }".to_owned(), 99),
        ("feesFeesCollecteds(limit: 1000) { items { token } }".to_owned(), 9),
        ("feesFeesCollectedCount".to_owned(), 10),
        ("feesFeesCollectedSum(column: lifiFee) { groups { sum } }".to_owned(), 9),
        (format!("feesFeesCollecteds(limit: 1, {time}) {{ items {{ token }} }}"), 9),
        (format!("feesFeesCollectedCount({time})"), 5),
        (format!("feesFeesCollectedSum(column: lifiFee, {time}) {{ groups {{ sum }} }}"), 4),
    ] {
        reads.0.store(0, Ordering::Relaxed);
        let answer = app.graphql(&many(&field, most), json!({})).await;
        assert_eq!(answer["errors"], Value::Null, "{field}");
        let asked = reads.0.swap(0, Ordering::Relaxed);
        assert!((most..=400).contains(&asked), "{field}: {asked} questions");
        for count in [most + 1, 400] {
            let answer = app.graphql(&many(&field, count), json!({})).await;
            let message = answer["errors"][0]["message"].as_str().unwrap_or_default();
            assert!(message.contains("complex"), "{count} times {field}: {answer}");
            assert_eq!(reads.0.swap(0, Ordering::Relaxed), 1, "the tables are listed, and no more is asked");
        }
    }
    // Variables and fragments weigh as much.
    let query = "query ($w: FeesFeesCollectedWhere) { ...f b: feesFeesCollectedCount(where: $w) } \
        fragment f on Query { a: feesFeesCollectedCount(where: $w) c: feesFeesCollectedCount(where: $w) }";
    let wide = json!({"w": {"timestamp": 1, "timestamp_gte": 1, "timestamp_lt": 2}});
    let answer = app.graphql(query, wide).await;
    assert!(answer["errors"][0]["message"].as_str().unwrap().contains("complex"), "{answer}");
    let answer = app.graphql(query, json!({"w": {"timestamp_gte": 1_700_000_100}})).await;
    assert_eq!(answer["data"], json!({"a": 1, "b": 1, "c": 1}));
    let deep = format!("{{ feesFeesCollecteds {}items {{ token }} {}}}", "{ ".repeat(20), "} ".repeat(20));
    assert_ne!(app.graphql(&deep, json!({})).await["errors"], Value::Null);
}

/// The query in docs/api.md has the answer that is printed below it.
pub(super) async fn the_example_of_the_documents_is_true(kind: Kind) {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md");
    let document = std::fs::read_to_string(document).unwrap();
    let (_, example) = document.split_once("```graphql\n").unwrap();
    let (query, rest) = example.split_once("```").unwrap();
    let (answer, _) = rest.split_once("```json\n").unwrap().1.split_once("```").unwrap();
    let app = App::spawn(kind).await;
    let fees = fees_table(&*app.store).await;
    let address = |text: &str| Cell::Address(text.parse().unwrap());
    let mut rows = Rows::new(fees);
    for (block, integrator, fee) in [
        (30_000_010, "0x1bcc58d165e5374d7b492b21c0a572fd61c0c2a0", 1_500_000),
        (30_000_011, "0x8a2d9f8f6e4cbc0bcf21e2a1d36c6fd39d6a7b5e", 20),
        (30_000_012, "0x1bcc58d165e5374d7b492b21c0a572fd61c0c2a0", 2_500_000),
    ] {
        let token = address("0x7ceb23fd6bc0add59e62ac25578270cff1b9f619");
        let values = vec![token, address(integrator), Cell::Uint(U256::from(fee)), Cell::Uint(U256::from(1))];
        put(&mut rows, head(block, 4, 1), values);
    }
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    let expected: Value = serde_json::from_str(answer).unwrap();
    assert_eq!(app.graphql(query, json!({})).await, expected);
}
