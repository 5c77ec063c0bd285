//! Tables in GraphQL: rows by their own types, filters, pages, totals.

use serde_json::{Value, json};
use windlass_core::chain::{Address, B256, Bytes, U256};
use windlass_core::commit::Write;
use windlass_core::table::{I256, Rows, Value as Cell};

use crate::app::App;
use crate::database::Kind;
use crate::rows::{GENESIS_S, commit, fees_table, head, put, store_fees, table};

/// An app with fees at these places.
async fn app_with(kind: Kind, places: &[(u64, u32)]) -> App {
    let app = App::spawn(kind).await;
    let table = fees_table(&*app.store).await;
    store_fees(&*app.store, &table, places).await;
    app
}

/// The data of an answer without errors.
async fn data(app: &App, query: &str, variables: Value) -> Value {
    let mut answer = app.graphql(query, variables.clone()).await;
    assert_eq!(answer["errors"], Value::Null, "{query} {variables}");
    answer["data"].take()
}

/// The code and the message of the first error.
async fn refused(app: &App, query: &str, variables: Value) -> (String, String) {
    let answer = app.graphql(query, variables.clone()).await;
    let error = &answer["errors"][0];
    assert_ne!(error, &Value::Null, "{query} {variables}: {answer}");
    let code = error["extensions"]["code"].as_str().unwrap().to_owned();
    (code, format!("{} | {}", error["message"], error["extensions"]["hint"]))
}

/// The keys of a page's rows.
fn places(page: &Value) -> Vec<(u64, u64)> {
    let items = page["items"].as_array().unwrap_or_else(|| panic!("{page}"));
    let number = |row: &Value, name: &str| row[name].as_u64().unwrap();
    items.iter().map(|row| (number(row, "blockNumber"), number(row, "logIndex"))).collect()
}

const PAGE: &str = "query ($where: FeesFeesCollectedWhere, $orderBy: OrderBy, $direction: OrderDirection, \
        $limit: Int, $after: String) {
    page: feesFeesCollecteds(where: $where, orderBy: $orderBy, orderDirection: $direction, limit: $limit, \
        after: $after) {
        items { blockNumber logIndex } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
    count: feesFeesCollectedCount(where: $where)
}";

pub(super) async fn a_row_has_the_type_of_its_table(kind: Kind) {
    let app = app_with(kind, &[(1, 0), (2, 3)]).await;
    let query = "{
        feesFeesCollecteds(limit: 1) { __typename items { __typename ...place ... on FeesFeesCollected {
            token integrator integratorFee fee: lifiFee } } }
        feesFeesCollected(blockNumber: 1, logIndex: 0) { integratorFee @include(if: true) token @skip(if: true) }
        none: feesFeesCollected(blockNumber: 2, logIndex: 0) { token }
    }
    fragment place on FeesFeesCollected {
        blockNumber logIndex blockHash timestamp transactionHash address blockNumber }";
    let hash = |fork: &str| format!("0x{}{:016x}", fork.repeat(24), 2);
    let row = json!({
        "__typename": "FeesFeesCollected",
        "blockNumber": 2,
        "logIndex": 3,
        "blockHash": hash("01"),
        "timestamp": GENESIS_S + 4,
        "transactionHash": hash("77"),
        "address": "0x4242424242424242424242424242424242424242",
        "token": "0x0202020202020202020202020202020202020202",
        "integrator": Address::repeat_byte(0xa2).to_checksum(None),
        "integratorFee": "2003",
        "fee": "2",
    });
    let expected = json!({
        "feesFeesCollecteds": {"__typename": "FeesFeesCollectedPage", "items": [row]},
        "feesFeesCollected": {"integratorFee": "1000"},
        "none": null,
    });
    assert_eq!(data(&app, query, json!({})).await, expected);
    // What is selected twice is answered once, with what both have selected.
    let twice = "{ a: feesFeesCollecteds { items { logIndex } ...p } } \
        fragment p on FeesFeesCollectedPage { items { blockNumber } pageInfo { hasNextPage } \
        pageInfo { hasPreviousPage } }";
    let a = json!({
        "items": [{"logIndex": 3, "blockNumber": 2}, {"logIndex": 0, "blockNumber": 1}],
        "pageInfo": {"hasNextPage": false, "hasPreviousPage": false},
    });
    assert_eq!(data(&app, twice, json!({})).await, json!({ "a": a }));
}

/// A log of every kind of column; the numbers are beyond what 64 bits hold.
async fn notes(app: &App) {
    let event = "Note(int256 delta, uint256 amount, uint64 wide, int32 small, bool good, bytes4 four, \
                 string words, string indexed said, uint8[] list)";
    let table = table(&*app.store, "notes", 1, event).await;
    let mut rows = Rows::new(table);
    for (block, is_first) in [(1, true), (2, false)] {
        let values = vec![
            Cell::Int(if is_first { I256::MIN } else { I256::MAX }),
            Cell::Uint(if is_first { U256::from(u64::MAX) } else { U256::from(u64::MAX) + U256::from(1) }),
            Cell::Uint(U256::from(u64::MAX)),
            Cell::Integer(if is_first { -5 } else { 5 }),
            Cell::Bool(is_first),
            Cell::Bytes(Bytes::from(vec![0xab, 0, 0, block as u8])),
            Cell::Text(format!("\"w\" {block}")),
            Cell::Bytes(Bytes::from(vec![block as u8; 32])),
            Cell::Text("[1,2]".to_owned()),
        ];
        put(&mut rows, head(block, 0, 1), values);
    }
    commit(&*app.store, vec![Write::Rows(rows)]).await;
}

pub(super) async fn values_are_exact_and_have_their_types(kind: Kind) {
    let app = App::spawn(kind).await;
    notes(&app).await;
    let query = "{ notesNote(blockNumber: 2, logIndex: 0) {
        delta amount wide small good four words said list } }";
    let row = json!({
        "delta": I256::MAX.to_string(),
        "amount": "18446744073709551616",
        "wide": "18446744073709551615",
        "small": 5,
        "good": false,
        "four": "0xab000002",
        "words": "\"w\" 2",
        "said": B256::repeat_byte(2).to_string(),
        "list": [1, 2],
    });
    assert_eq!(data(&app, query, json!({})).await["notesNote"], row);
}

pub(super) async fn filters_compare_exactly(kind: Kind) {
    let app = App::spawn(kind).await;
    notes(&app).await;
    let query = "query ($where: NotesNoteWhere) { notesNotes(where: $where, orderDirection: asc) {
        items { blockNumber logIndex } } notesNoteCount(where: $where) }";
    let (most, first, second) = ("18446744073709551615", vec![1], vec![2]);
    let both = vec![1, 2];
    for (filter, expected) in [
        (json!({}), &both),
        (json!({"amount": most}), &first),
        (json!({"amount": u64::MAX}), &first),
        (json!({"amount": "0x10000000000000000"}), &second),
        (json!({"amount_not": most}), &second),
        (json!({"amount_gt": most}), &second),
        (json!({"amount_gte": most}), &both),
        (json!({"amount_lt": "18446744073709551616"}), &first),
        (json!({"amount_lte": most}), &first),
        (json!({"amount_in": [most, "18446744073709551616"]}), &both),
        // A list of one may be written as the one.
        (json!({"amount_in": most}), &first),
        (json!({"delta_lt": "0"}), &first),
        (json!({"delta": I256::MAX.to_string()}), &second),
        (json!({"delta_gte": I256::MIN.to_string()}), &both),
        (json!({"wide": most, "small_gt": -5}), &second),
        (json!({"small_in": [-5, 7]}), &first),
        (json!({"good": true}), &first),
        (json!({"good_not": true}), &second),
        (json!({"four": "0xab000001"}), &first),
        (json!({"words": "\"w\" 2"}), &second),
        (json!({"words_in": ["x", "\"w\" 1"]}), &first),
        (json!({"said": B256::repeat_byte(2).to_string()}), &second),
        (json!({"blockNumber_gt": 1, "logIndex": 0}), &second),
        (json!({"blockHash_not": head(1, 0, 1).block.hash.to_string()}), &second),
        (json!({"transactionHash": head(1, 0, 1).transaction_hash.to_string()}), &first),
        (json!({"address": Address::repeat_byte(0x42).to_string()}), &both),
        (json!({"timestamp_gte": GENESIS_S + 4}), &second),
        (json!({"timestamp_gte": GENESIS_S, "timestamp_lt": GENESIS_S + 4}), &first),
        (json!({"timestamp_in": [GENESIS_S + 2]}), &first),
    ] {
        let answer = data(&app, query, json!({"where": filter})).await;
        let blocks: Vec<u64> = places(&answer["notesNotes"]).into_iter().map(|(block, _)| block).collect();
        assert_eq!(&blocks, expected, "{filter}");
        assert_eq!(answer["notesNoteCount"], expected.len(), "{filter}");
    }
    let literal =
        "{ notesNoteCount(where: {amount_in: [\"18446744073709551616\", 5], small: 5, good: false}) }";
    assert_eq!(data(&app, literal, json!({})).await["notesNoteCount"], 1);
}

/// Logs of one block are one behind the other however the pages cut it.
pub(super) async fn pages_show_each_row_once_where_they_cut_a_block(kind: Kind) {
    let mut all: Vec<(u64, u32)> = (0..7).map(|log| (5, log)).collect();
    all.extend([(4, 9), (6, 0), (6, 1)]);
    all.sort_unstable();
    let app = app_with(kind, &all).await;
    let mut expected: Vec<(u64, u64)> = all.iter().map(|(block, log)| (*block, u64::from(*log))).collect();
    for direction in ["asc", "desc"] {
        for limit in 1..=4 {
            let (mut seen, mut after) = (Vec::new(), Value::Null);
            loop {
                let asked =
                    json!({"limit": limit, "after": after, "direction": direction, "orderBy": "timestamp"});
                let page = data(&app, PAGE, asked).await["page"].take();
                assert_eq!(page["pageInfo"]["hasPreviousPage"], !seen.is_empty());
                seen.extend(places(&page));
                after = page["pageInfo"]["endCursor"].clone();
                if page["pageInfo"]["hasNextPage"] == false {
                    break;
                }
            }
            assert_eq!(seen, expected, "{limit} {direction}");
        }
        expected.reverse();
    }
    // Without a direction the newest is first, and behind a cursor its direction goes on.
    let first = data(&app, PAGE, json!({"limit": 1})).await;
    assert_eq!((places(&first["page"]), &first["count"]), (vec![(6, 1)], &json!(10)));
    let oldest = data(&app, PAGE, json!({"limit": 1, "direction": "asc"})).await;
    let cursor = &oldest["page"]["pageInfo"]["endCursor"];
    assert_eq!(cursor, &oldest["page"]["pageInfo"]["startCursor"]);
    let next = data(&app, PAGE, json!({"limit": 1, "after": cursor})).await;
    assert_eq!(places(&next["page"]), [(5, 0)]);
    // A cursor is the same here and there.
    let path = format!("/api/v1/events/fees/FeesCollected?limit=1&cursor={}", cursor.as_str().unwrap());
    assert_eq!(app.ok(&path).await["data"][0]["log_index"], 0);
    // Nothing is no page with a cursor.
    let none = data(&app, PAGE, json!({"where": {"blockNumber": 7}})).await;
    let info =
        json!({"hasNextPage": false, "hasPreviousPage": false, "startCursor": null, "endCursor": null});
    assert_eq!(none, json!({"page": {"items": [], "pageInfo": info}, "count": 0}));
}

pub(super) async fn totals_are_those_of_the_list(kind: Kind) {
    let places: Vec<_> = (1..=10).map(|block| (block, 0)).collect();
    let app = app_with(kind, &places).await;
    notes(&app).await;
    let query = "{
        feesFeesCollectedSum(column: lifiFee) { groups { by sum rows } truncated }
        byToken: feesFeesCollectedSum(column: lifiFee, by: token, where: {blockNumber_gt: 4}) {
            __typename groups { by sum } }
        byContract: feesFeesCollectedSum(column: integratorFee, by: address) { groups { sum rows } }
        notesNoteSum(column: amount) { groups { sum } }
    }";
    let data = data(&app, query, json!({})).await;
    let total = json!({"groups": [{"by": null, "sum": "55", "rows": 10}], "truncated": false});
    assert_eq!(data["feesFeesCollectedSum"], total);
    let group = |byte: u8, sum: &str| json!({"by": Address::repeat_byte(byte).to_checksum(None), "sum": sum});
    let groups = json!([group(0, "15"), group(1, "17"), group(2, "13")]);
    assert_eq!(data["byToken"], json!({"__typename": "Totals", "groups": groups}));
    assert_eq!(data["byContract"]["groups"], json!([{"sum": "55000", "rows": 10}]));
    assert_eq!(data["notesNoteSum"]["groups"], json!([{"sum": "36893488147419103231"}]));
}

pub(super) async fn what_a_table_does_not_have_is_named(kind: Kind) {
    let app = app_with(kind, &[(1, 0), (2, 0)]).await;
    let of = |arguments: &str| format!("{{ feesFeesCollecteds{arguments} {{ items {{ blockNumber }} }} }}");
    let cursor = data(&app, PAGE, json!({"limit": 1})).await["page"]["pageInfo"]["endCursor"].take();
    let behind = |filter: &str| of(&format!("(after: {cursor}{filter})"));
    for (query, code, part) in [
        ("{ feesFeesCollecteds { items { integratorFe } } }".to_owned(), "invalid_body", "integratorFee"),
        ("{ feesFeesCollecteds { integratorFee } }".to_owned(), "invalid_body", "integratorFee"),
        ("{ feesCollecteds { items { token } } }".to_owned(), "invalid_body", "feesCollecteds"),
        (of("(where: {integratorFe: \"1\"})"), "invalid_body", "integratorFe"),
        (of("(where: {token_gt: \"0x\"})"), "invalid_body", "token_gt"),
        (of("(where: [])"), "invalid_parameter", "one object"),
        (of("(where: \"x\")"), "invalid_parameter", "one object"),
        (of("(where: {token: null})"), "invalid_parameter", "cannot be null"),
        (of("(where: {token: \"x\"})"), "invalid_parameter", "token"),
        (of("(where: {integratorFee: \"1.5\"})"), "invalid_parameter", "1.5"),
        (of("(where: {integratorFee: 18446744073709551616})"), "invalid_parameter", "as a string"),
        (of("(where: {integratorFee: 1.0})"), "invalid_parameter", "whole"),
        (of("(where: {integratorFee: true})"), "invalid_parameter", "true"),
        (of("(where: {integratorFee: {a: 1}})"), "invalid_parameter", "integratorFee"),
        (of("(where: {integratorFee_gte: \"-1\"})"), "invalid_parameter", "2^256 - 1"),
        (of("(where: {integratorFee_in: []})"), "invalid_parameter", "1 to 100 values"),
        (of("(where: {blockNumber_lt: -1})"), "invalid_parameter", "blockNumber_lt"),
        (of("(where: {timestamp_gt: 1700000000000})"), "invalid_parameter", "milliseconds"),
        (of("(orderBy: integratorFee)"), "invalid_body", "integratorFee"),
        (of("(orderDirection: up)"), "invalid_body", "up"),
        (of("(limit: 0)"), "invalid_parameter", "from 1 to 1000"),
        (of("(limit: 1001)"), "invalid_parameter", "from 1 to 1000"),
        (of("(limit: -1)"), "invalid_parameter", "from 1 to 1000"),
        (of("(after: \"x\")"), "invalid_cursor", "not a cursor"),
        (behind(", where: {blockNumber_lt: 2}"), "invalid_cursor", "other filters"),
        (behind(", orderDirection: asc"), "invalid_cursor", "other order"),
        ("{ feesFeesCollected(blockNumber: 1) { token } }".to_owned(), "invalid_body", "logIndex"),
        (
            "{ feesFeesCollected(blockNumber: -1, logIndex: 0) { token } }".to_owned(),
            "invalid_parameter",
            "-1",
        ),
        (
            "{ feesFeesCollected(blockNumber: 1, logIndex: -1) { token } }".to_owned(),
            "invalid_parameter",
            "-1",
        ),
        ("{ feesFeesCollectedSum(column: token) { truncated } }".to_owned(), "invalid_body", "token"),
        ("{ feesFeesCollectedSum { truncated } }".to_owned(), "invalid_body", "column"),
        (
            "{ feesFeesCollectedSum(column: lifiFee, by: blockNumber) { truncated } }".to_owned(),
            "invalid_body",
            "by",
        ),
        ("{ feesFeesCollecteds @TableQueries { __typename } }".to_owned(), "invalid_body", "TableQueries"),
    ] {
        let (found, message) = refused(&app, &query, json!({})).await;
        assert_eq!(found, code, "{query}: {message}");
        assert!(message.contains(part), "{query}: {message}");
    }
    let null = "query ($token: Bytes) { feesFeesCollectedCount(where: {token: $token}) }";
    assert_eq!(refused(&app, null, json!({})).await.0, "invalid_parameter");
    let many: serde_json::Map<String, Value> = ["blockNumber", "logIndex", "integratorFee", "lifiFee"]
        .into_iter()
        .flat_map(|name| ["", "_not", "_in", "_gt", "_gte", "_lt", "_lte"].map(|end| format!("{name}{end}")))
        .map(|name| (name, json!(1)))
        .collect();
    let (code, message) = refused(&app, PAGE, json!({ "where": many })).await;
    assert_eq!((code.as_str(), message.contains("24 filters")), ("invalid_parameter", true), "{message}");
}

/// Events whose names, and whose fields, mean something else already.
pub(super) async fn every_table_and_column_has_a_name(kind: Kind) {
    let app = App::spawn(kind).await;
    let fields = "uint256 from, uint256 where, uint256 null, uint256 __typename, uint256 blockNumber, \
                  uint256 timestamp, uint256 amount, uint256 amount_gt, uint256, uint256 a$b, uint256 address";
    let odd = table(&*app.store, "odd", 1, &format!("Select({fields})")).await;
    let mut rows = Rows::new(odd);
    put(&mut rows, head(1, 0, 1), (1..=11).map(|n| Cell::Uint(U256::from(n))).collect());
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    let query = "query ($column: OddSelectSumColumn!) {
        oddSelects(where: {from: 1, null_2: 3, timestamp_2_gte: 6, amount_gt: 6, amount_gt_2_gt: 7}) { items {
            from where null_2 typename blockNumber blockNumber_2 timestamp_2 amount amount_gt_2 field_9 a_b address_2 } }
        oddSelectSum(column: $column, by: address_2) { groups { by sum } }
    }";
    let row = json!({
        "from": "1", "where": "2", "null_2": "3", "typename": "4", "blockNumber": 1, "blockNumber_2": "5",
        "timestamp_2": "6", "amount": "7", "amount_gt_2": "8", "field_9": "9", "a_b": "10", "address_2": "11",
    });
    // As a variable: in the text of a query the parser reads `null` at the beginning of the word.
    let answer = data(&app, query, json!({"column": "null_2"})).await;
    assert_eq!(answer["oddSelects"]["items"], json!([row]));
    assert_eq!(answer["oddSelectSum"]["groups"], json!([{"by": "11", "sum": "3"}]));
    // Two events of an index, one of them with a namesake, and one of another index.
    for (index, event) in [
        ("dex", "Swap(uint256 a)"),
        ("dex", "Swap(uint256 a, bool b)"),
        ("dex", "Swaps(uint256 a)"),
        ("other", "Swap(uint256 a)"),
        // These are called like fields that are there already.
        ("audit", "Log(uint256 a)"),
        ("payout", "Request(uint256 a)"),
    ] {
        table(&*app.store, index, 1, event).await;
    }
    let overloaded = table(&*app.store, "dex", 1, "Swap(uint256 a, bool b)").await;
    let digits = overloaded.name.as_str().rsplit('_').next().unwrap().to_owned();
    // A digit that follows keeps its `_`, a letter is written large.
    let tail = match digits.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{digits}"),
        false => format!("{}{}", digits[..1].to_uppercase(), &digits[1..]),
    };
    let query = format!(
        "{{ dexSwaps {{ items {{ a }} }} dexSwap{tail}s {{ items {{ a b }} }} dexSwaps_2s {{ items {{ a }} }} \
         otherSwapCount auditLog_2s {{ items {{ a }} }} payoutRequest_2Count }}"
    );
    let answer = data(&app, &query, json!({})).await;
    assert_eq!(answer["dexSwaps_2s"]["items"], json!([]));
    // The field that was there is still what it was: it takes a key.
    assert_eq!(
        refused(&app, "{ health auditLog(first: 1) { edges { cursor } } }", json!({})).await.0,
        "not_found"
    );
}
