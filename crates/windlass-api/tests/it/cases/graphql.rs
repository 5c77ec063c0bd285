//! The same in GraphQL, and its limits.

use serde_json::{Value, json};

use crate::app::App;
use crate::database::Kind;
use crate::rows::{fees_table, store_fees};

async fn app(kind: Kind) -> App {
    let app = App::spawn(kind).await;
    let table = fees_table(&*app.store).await;
    let places: Vec<_> = (1..=10).map(|block| (block, 0)).collect();
    store_fees(&*app.store, &table, &places).await;
    app
}

const PAGE: &str = r#"query ($first: Int, $after: String, $order: Order, $filter: [Filter!]) {
    events(index: "fees", event: "FeesCollected", first: $first, after: $after, order: $order, filter: $filter) {
        edges { cursor node { blockNumber logIndex blockHash timestamp transactionHash address fields } }
        pageInfo { hasNextPage hasPreviousPage endCursor }
    }
}"#;

fn blocks(answer: &Value) -> Vec<u64> {
    let edges = answer["data"]["events"]["edges"].as_array().unwrap_or_else(|| panic!("{answer}"));
    edges.iter().map(|edge| edge["node"]["blockNumber"].as_u64().unwrap()).collect()
}

pub(super) async fn connections_go_on_behind_their_cursors(kind: Kind) {
    let app = app(kind).await;
    let (mut seen, mut after) = (Vec::new(), Value::Null);
    loop {
        let answer = app.graphql(PAGE, json!({"first": 4, "after": after, "order": "ASC"})).await;
        seen.extend(blocks(&answer));
        let info = &answer["data"]["events"]["pageInfo"];
        after = info["endCursor"].clone();
        if info["hasNextPage"] == false {
            break;
        }
    }
    assert_eq!(seen, (1..=10).collect::<Vec<_>>());
    let newest = app.graphql(PAGE, json!({"first": 1})).await;
    let node = &newest["data"]["events"]["edges"][0]["node"];
    assert_eq!((&node["blockNumber"], &node["logIndex"]), (&json!(10), &json!(0)));
    assert_eq!(node["timestamp"], json!(1_700_000_020));
    assert_eq!(node["fields"]["integratorFee"], "10000");
    assert_eq!(node["address"], "0x4242424242424242424242424242424242424242");
    // A cursor is the same here and there.
    let cursor = newest["data"]["events"]["edges"][0]["cursor"].as_str().unwrap();
    let rest = app.ok(&format!("/api/v1/events/fees/FeesCollected?limit=1&cursor={cursor}")).await;
    assert_eq!(rest["data"][0]["block_number"], 9);
}

pub(super) async fn filters_are_those_of_the_list(kind: Kind) {
    let app = app(kind).await;
    for (filter, expected) in [
        (json!([{"column": "block", "op": "GTE", "value": "9"}]), vec![10, 9]),
        (json!([{"column": "block", "op": "IN", "values": ["2", "3"]}]), vec![3, 2]),
        (json!([{"column": "integrator_fee", "value": "4000"}]), vec![4]),
        (json!([{"column": "block_timestamp", "op": "LT", "value": "1700000004"}]), vec![1]),
        (json!([]), (1..=10).rev().collect()),
    ] {
        assert_eq!(blocks(&app.graphql(PAGE, json!({ "filter": filter })).await), expected, "{filter}");
    }
}

pub(super) async fn totals_counts_and_indexes_can_be_asked_for(kind: Kind) {
    let app = app(kind).await;
    let query = r#"{
        sum(index: "fees", event: "FeesCollected", column: "lifiFee") { groups { by sum rows } truncated }
        byToken: sum(index: "fees", event: "FeesCollected", column: "lifiFee", by: "token") { groups { sum } }
        count(index: "fees", event: "FeesCollected", filter: [{column: "block", op: GT, value: "7"}])
        indexes { name chain tables { event rows columns { field kind } } progress { state } }
    }"#;
    let data = app.graphql(query, json!({})).await["data"].take();
    let total = json!({"groups": [{"by": null, "sum": "55", "rows": 10}], "truncated": false});
    assert_eq!(data["sum"], total);
    assert_eq!(data["byToken"]["groups"], json!([{"sum": "18"}, {"sum": "22"}, {"sum": "15"}]));
    assert_eq!(data["count"], 3);
    assert_eq!(data["indexes"][0]["tables"][0]["rows"], 10);
    assert_eq!(data["indexes"][0]["tables"][0]["columns"][0], json!({"field": "token", "kind": "address"}));
}

pub(super) async fn bad_questions_have_codes(kind: Kind) {
    let app = app(kind).await;
    for (variables, code) in [
        (json!({"first": 0}), "invalid_parameter"),
        (json!({"first": 1001}), "invalid_parameter"),
        (json!({"first": -1}), "invalid_parameter"),
        (json!({"after": "x"}), "invalid_cursor"),
        (json!({"filter": [{"column": "nothing", "value": "1"}]}), "invalid_parameter"),
        (json!({"filter": [{"column": "block", "value": "x"}]}), "invalid_parameter"),
        (json!({"filter": [{"column": "block"}]}), "invalid_parameter"),
        (json!({"filter": [{"column": "block", "values": ["1", "2"]}]}), "invalid_parameter"),
    ] {
        let answer = app.graphql(PAGE, variables.clone()).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], code, "{variables}: {answer}");
    }
    let (status, text) = app.post("/graphql", "text/plain", "{}".into()).await;
    assert_eq!(status, 400, "{text}");
    let (status, text) = app.post("/graphql", "application/json", "{".into()).await;
    assert_eq!(status, 400, "{text}");
    for body in ["{}", r#"{"query": null}"#, r#"{"variables": {}}"#] {
        let (status, text) = app.post("/graphql", "application/json", body.into()).await;
        assert!(status == 400 && text.contains("invalid_body"), "{body}: {text}");
    }
    for query in
        ["", "{", "{ nothing }", "{ count }", "query a { indexes { name } } query a { indexes { name } }"]
    {
        let answer = app.graphql(query, json!({})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "invalid_body", "{query}: {answer}");
    }
}

/// A field that cannot be null and has failed makes what holds it null.
pub(super) async fn a_field_that_fails_is_not_left_out(kind: Kind) {
    let app = app(kind).await;
    let query = r#"{ a: count(index: "nope", event: "x") b: count(index: "fees", event: "FeesCollected") }"#;
    let answer = app.graphql(query, json!({})).await;
    assert_eq!(answer["data"], Value::Null, "{answer}");
    assert_eq!((&answer["errors"][0]["path"], &answer["errors"][1]), (&json!(["a"]), &Value::Null));
    assert_eq!(answer["errors"][0]["extensions"]["code"], "not_found");
}

pub(super) async fn what_asks_for_too_much_is_refused(kind: Kind) {
    let app = app(kind).await;
    let fields =
        "edges { cursor node { blockNumber logIndex blockHash timestamp transactionHash address fields } }";
    let part = |name: usize| {
        format!(r#"p{name}: events(index: "fees", event: "FeesCollected", first: 1000) {{ {fields} }}"#)
    };
    let one = app.graphql(&format!("{{ {} }}", part(0)), json!({})).await;
    assert_eq!(one["errors"], Value::Null);
    let three: String = (0..3).map(part).collect();
    let refused = app.graphql(&format!("{{ {three} }}"), json!({})).await;
    let message = refused["errors"][0]["message"].as_str().unwrap();
    assert!(message.contains("complex") && message.contains("20000 values"), "{refused}");
    assert_eq!(refused["errors"][0]["extensions"]["code"], "invalid_body", "{refused}");
    let deep =
        format!("{{ __schema {{ queryType {{ {} name {} }} }} }}", "ofType { ".repeat(15), "} ".repeat(15));
    let refused = app.graphql(&deep, json!({})).await;
    assert!(refused["errors"][0]["message"].as_str().unwrap().contains("16 fields deep"), "{refused}");
}

/// What tools ask before anything else, as graphql-js words it.
pub(super) async fn tools_can_look_the_schema_up(kind: Kind) {
    let app = app(kind).await;
    let of = (0..7).fold("kind name".to_owned(), |inner, _| format!("kind name ofType {{ {inner} }}"));
    let input = format!("name description type {{ {of} }} defaultValue");
    let query = format!(
        "query IntrospectionQuery {{ __schema {{ queryType {{ name }} mutationType {{ name }}
            subscriptionType {{ name }} directives {{ name description locations args {{ {input} }} }}
            types {{ kind name description fields(includeDeprecated: true) {{ name description
                args {{ {input} }} type {{ {of} }} isDeprecated deprecationReason }}
                inputFields {{ {input} }} interfaces {{ {of} }}
                enumValues(includeDeprecated: true) {{ name description isDeprecated deprecationReason }}
                possibleTypes {{ {of} }} }} }} }}"
    );
    let answer = app.graphql(&query, json!({})).await;
    assert_eq!(answer["errors"], Value::Null);
    assert_eq!(answer["data"]["__schema"]["queryType"]["name"], "Query");
}

pub(super) async fn the_console_loads_nothing_from_elsewhere(kind: Kind) {
    let app = App::spawn(kind).await;
    let response = app.client.get(app.url("/graphql")).send().await.unwrap();
    assert!(
        response.headers()["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'")
    );
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
    let page = response.text().await.unwrap();
    for foreign in ["//", "src=", "@import", "<link", "url("] {
        assert!(!page.contains(foreign), "the page has {foreign}");
    }
}
