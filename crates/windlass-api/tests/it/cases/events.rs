//! Rows by page: filters, order, cursors, refusals.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::chain::{Address, Bytes, U256};
use windlass_core::commit::Write;
use windlass_core::store::Store;
use windlass_core::table::{I256, Rows, TableSpec, Value as Cell};

use crate::app::App;
use crate::database::{Database, Kind};
use crate::rows::{GENESIS_S, commit, fee_rows, fees_table, head, put, store_fees, table};

const EVENTS: &str = "/api/v1/events/fees/FeesCollected";

/// An app with a row in each of blocks 1 to `blocks`.
async fn app_with(kind: Kind, blocks: u64) -> App {
    let app = App::spawn(kind).await;
    let table = fees_table(&*app.store).await;
    let places: Vec<_> = (1..=blocks).map(|block| (block, 0)).collect();
    store_fees(&*app.store, &table, &places).await;
    app
}

fn blocks(body: &Value) -> Vec<u64> {
    body["data"].as_array().unwrap().iter().map(|row| row["block_number"].as_u64().unwrap()).collect()
}

async fn refused(app: &App, path: &str) -> (u16, String, String) {
    let (status, body) = app.get(path).await;
    let text = |name: &str| body["error"][name].as_str().unwrap_or_default().to_owned();
    (status, text("code"), format!("{} | {}", text("message"), text("hint")))
}

pub(super) async fn a_row_has_its_place_and_its_fields(kind: Kind) {
    let app = app_with(kind, 1).await;
    let hash = |fork: &str| format!("0x{}{:016x}", fork.repeat(24), 1);
    let row = json!({
        "block_number": 1,
        "log_index": 0,
        "block_hash": hash("01"),
        "block_timestamp": GENESIS_S + 2,
        "transaction_hash": hash("77"),
        "address": "0x4242424242424242424242424242424242424242",
        "token": "0x0101010101010101010101010101010101010101",
        "integrator": Address::repeat_byte(0xa1).to_string(),
        "integratorFee": "1000",
        "lifiFee": "1",
    });
    assert_eq!(app.ok(EVENTS).await, json!({"data": [row], "page": {"next_cursor": null, "limit": 100}}));
    assert_eq!(app.ok("/api/v1/events/fees/fees_fees_collected").await["data"].as_array().unwrap().len(), 1);
}

pub(super) async fn every_place_can_be_filtered_by(kind: Kind) {
    let app = app_with(kind, 20).await;
    let tx = format!("0x{}{:016x}", "77".repeat(24), 7);
    let hash = format!("0x{}{:016x}", "01".repeat(24), 8);
    let integrator = Address::repeat_byte(0xa2).to_string();
    let time = |block: u64| GENESIS_S + 2 * block;
    let cases: Vec<(String, Vec<u64>)> = vec![
        ("block=3".into(), vec![3]),
        ("block_number.lte=2".into(), vec![2, 1]),
        ("block.gte=5&block.lt=8".into(), vec![7, 6, 5]),
        ("block.gt=18".into(), vec![20, 19]),
        ("block.in=4,9,400".into(), vec![9, 4]),
        ("block.ne=5&block.gte=4&block.lte=6".into(), vec![6, 4]),
        ("blockNumber=3".into(), vec![3]),
        ("log_index=0&block.lt=2".into(), vec![1]),
        ("log_index.gt=0".into(), vec![]),
        (format!("transaction_hash={tx}"), vec![7]),
        (format!("block_hash={hash}"), vec![8]),
        ("address=0x4242424242424242424242424242424242424242&block=1".into(), vec![1]),
        ("address=0x0000000000000000000000000000000000000000".into(), vec![]),
        (format!("integrator={integrator}"), vec![17, 12, 7, 2]),
        (format!("integrator={}", integrator.to_lowercase()), vec![17, 12, 7, 2]),
        (format!("fields.integrator={integrator}&block.lt=7"), vec![2]),
        ("integratorFee.gte=19000".into(), vec![20, 19]),
        ("integrator_fee.gte=19000".into(), vec![20, 19]),
        ("integratorFee=0x3e8".into(), vec![1]),
        ("lifiFee.lt=3".into(), vec![2, 1]),
        // Compared as numbers, not as text.
        ("lifiFee.gt=9&lifiFee.lt=11".into(), vec![10]),
        (format!("from={}&to={}", time(5), time(8)), vec![7, 6, 5]),
        (format!("block_timestamp.gt={}&block_timestamp.lte={}", time(5), time(8)), vec![8, 7, 6]),
        (format!("block_timestamp={}", time(5)), vec![5]),
        (format!("from={}", time(19)), vec![20, 19]),
        (format!("to={}", time(3)), vec![2, 1]),
        (format!("from={}", time(21)), vec![]),
        (format!("to={}", time(1)), vec![]),
        ("from=2023-11-14T22:13:24Z&to=2023-11-14T22:13:27.5Z".into(), vec![3, 2]),
        ("to=2023-11-15&block.gt=19".into(), vec![20]),
        ("from=2023-11-15".into(), vec![]),
        (format!("block_timestamp.in={},{},7", time(5), time(8)), vec![8, 5]),
        (format!("block_timestamp.ne={}&block.lt=6&block.gt=3", time(5)), vec![4]),
        // However many times are given, the nearest ones bound the blocks.
        (format!("{}&to={}", vec![format!("from={}", time(5)); 23].join("&"), time(7)), vec![6, 5]),
        (format!("from={}&from={}&to={}&to={}", time(3), time(5), time(9), time(7)), vec![6, 5]),
    ];
    for (query, expected) in cases {
        assert_eq!(blocks(&app.ok(&format!("{EVENTS}?{query}")).await), expected, "{query}");
        let count = app.ok(&format!("{EVENTS}/count?{query}")).await;
        assert_eq!(count, json!({"count": expected.len()}), "{query}");
    }
    assert_eq!(app.ok(&format!("{EVENTS}/count")).await, json!({"count": 20}));
}

pub(super) async fn every_kind_of_column_can_be_filtered_by(kind: Kind) {
    let app = App::spawn(kind).await;
    let event = "Note(int256 delta, int32 small, bool good, bytes data, string words, uint8[] list)";
    let table = table(&*app.store, "notes", 1, event).await;
    let mut rows = Rows::new(table);
    for (block, delta) in [(1, -5i64), (2, 7)] {
        let values = vec![
            Cell::Int(delta.try_into().unwrap()),
            Cell::Integer(delta),
            Cell::Bool(delta > 0),
            Cell::Bytes(Bytes::from(vec![block as u8])),
            Cell::Text(format!("w, {block}")),
            Cell::Text("[\"1\",\"2\"]".into()),
        ];
        put(&mut rows, head(block, 0, 1), values);
    }
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    let of = "/api/v1/events/notes/Note";
    for (query, expected) in [
        ("delta.lt=0", vec![1]),
        ("delta=-5", vec![1]),
        ("small.gte=-5", vec![2, 1]),
        ("small.gt=-5", vec![2]),
        ("good=true", vec![2]),
        ("data=0x01", vec![1]),
        ("words=w,%201", vec![1]),
    ] {
        assert_eq!(blocks(&app.ok(&format!("{of}?{query}")).await), expected, "{query}");
    }
    assert_eq!(app.ok(of).await["data"][0]["list"], json!(["1", "2"]));
    let (status, code, told) = refused(&app, &format!("{of}?list=1")).await;
    assert_eq!((status, code.as_str()), (400, "invalid_parameter"), "{told}");
}

pub(super) async fn a_field_called_from_is_the_field(kind: Kind) {
    let app = App::spawn(kind).await;
    let event = "Transfer(address indexed from, address indexed to, uint256 value)";
    let table = table(&*app.store, "token", 1, event).await;
    let mut rows = Rows::new(table);
    for block in 1..=3_u64 {
        let party = |byte: u64| Cell::Address(Address::repeat_byte(byte as u8));
        put(
            &mut rows,
            head(block, 0, 1),
            vec![party(block), party(block + 1), Cell::Uint(U256::from(block))],
        );
    }
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    let of = "/api/v1/events/token/Transfer";
    let second = Address::repeat_byte(2);
    assert_eq!(blocks(&app.ok(&format!("{of}?from={second}")).await), [2]);
    assert_eq!(blocks(&app.ok(&format!("{of}?fields.to={second}")).await), [1]);
    let since = GENESIS_S + 4;
    assert_eq!(blocks(&app.ok(&format!("{of}?block_timestamp.gte={since}")).await), [3, 2]);
    let (status, _, told) = refused(&app, &format!("{of}?from={since}")).await;
    assert_eq!(status, 400, "{told}");
}

pub(super) async fn pages_go_on_where_the_one_before_ended(kind: Kind) {
    let app = app_with(kind, 10).await;
    for (order, expected) in [("asc", (1..=10).collect::<Vec<_>>()), ("desc", (1..=10).rev().collect())] {
        let mut seen = Vec::new();
        let mut path = format!("{EVENTS}?order={order}&limit=3");
        loop {
            let body = app.ok(&path).await;
            seen.extend(blocks(&body));
            let Some(cursor) = body["page"]["next_cursor"].as_str() else { break };
            // The cursor knows its order.
            path = format!("{EVENTS}?limit=3&cursor={cursor}");
        }
        assert_eq!(seen, expected, "{order}");
    }
    let whole = app.ok(&format!("{EVENTS}?limit=10")).await;
    assert_eq!(whole["page"], json!({"next_cursor": null, "limit": 10}));
}

pub(super) async fn filters_and_cursors_go_together(kind: Kind) {
    let app = app_with(kind, 60).await;
    let integrator = Address::repeat_byte(0xa3);
    let filters = format!("integrator={integrator}&block.lt=55&from={}&limit=2", GENESIS_S + 2 * 10);
    let mut seen = Vec::new();
    let mut path = format!("{EVENTS}?{filters}");
    loop {
        let body = app.ok(&path).await;
        seen.extend(blocks(&body));
        let Some(cursor) = body["page"]["next_cursor"].as_str() else { break };
        path = format!("{EVENTS}?cursor={cursor}&{filters}");
    }
    assert_eq!(seen, [53, 48, 43, 38, 33, 28, 23, 18, 13]);
}

pub(super) async fn a_cursor_of_another_question_is_refused(kind: Kind) {
    let app = app_with(kind, 10).await;
    let other = table(&*app.store, "fees2", 137, crate::rows::FEES).await;
    store_fees(&*app.store, &other, &[(1, 0)]).await;
    let cursor = app.ok(&format!("{EVENTS}?limit=3&block.gt=1")).await["page"]["next_cursor"].clone();
    let cursor = cursor.as_str().unwrap();
    for path in [
        format!("{EVENTS}?cursor={cursor}"),
        format!("{EVENTS}?cursor={cursor}&block.gt=2"),
        format!("{EVENTS}?cursor={cursor}&block.gte=1"),
        format!("{EVENTS}?cursor={cursor}&block.gt=1&order=asc"),
        format!("/api/v1/events/fees2/FeesCollected?cursor={cursor}&block.gt=1"),
        format!("{EVENTS}?cursor=AAAA"),
        format!("{EVENTS}?cursor="),
        format!("{EVENTS}?cursor={cursor}A&block.gt=1"),
    ] {
        let (status, code, told) = refused(&app, &path).await;
        assert_eq!((status, code.as_str()), (400, "invalid_cursor"), "{path}: {told}");
    }
    let same = format!("{EVENTS}?block.gt=1&cursor={cursor}&limit=2&order=desc");
    assert_eq!(blocks(&app.ok(&same).await), [7, 6]);
}

pub(super) async fn bad_questions_are_refused_by_name(kind: Kind) {
    let app = app_with(kind, 1).await;
    let cases = [
        ("integratr=0x01", "unknown_parameter", "`integratr`", "did you mean `integrator`?"),
        ("blok.gte=1", "unknown_parameter", "`blok.gte`", "did you mean `block`?"),
        ("limt=5", "unknown_parameter", "`limt`", "did you mean `limit`?"),
        ("zzzzzzzz=5", "unknown_parameter", "`zzzzzzzz`", ""),
        ("fields.block=5", "unknown_parameter", "`fields.block`", ""),
        ("block.most=5", "unknown_parameter", "`block.most`", ".lte"),
        ("block=x", "invalid_parameter", "`block`", ""),
        ("block.gte=", "invalid_parameter", "`block.gte`", ""),
        ("block=9223372036854775808", "invalid_parameter", "`block`", ""),
        ("integrator=0x12", "invalid_parameter", "`integrator`", ""),
        ("integratorFee=-1", "invalid_parameter", "`integratorFee`", ""),
        ("integratorFee=1.5", "invalid_parameter", "`integratorFee`", ""),
        ("transaction_hash=0xabc", "invalid_parameter", "`transaction_hash`", ""),
        ("from=yesterday", "invalid_parameter", "`from`", ""),
        ("block_timestamp=2023-11-14T22:13:24.5Z", "invalid_parameter", "`block_timestamp`", ""),
        ("order=down", "invalid_parameter", "`order`", ""),
        ("limit=0", "invalid_parameter", "`limit`", ""),
        ("limit=1001", "invalid_parameter", "`limit`", "1000"),
        ("limit=1&limit=2", "invalid_parameter", "`limit`", "twice"),
    ];
    for (query, code, named, hint) in cases {
        let (status, found, told) = refused(&app, &format!("{EVENTS}?{query}")).await;
        assert_eq!((status, found.as_str()), (400, code), "{query}: {told}");
        assert!(told.contains(named) && told.contains(hint), "{query}: {told}");
    }
    let many = vec!["block.gt=0"; 25].join("&");
    assert_eq!(refused(&app, &format!("{EVENTS}?{many}")).await.0, 400);
    let listed = vec!["1"; 101].join(",");
    assert_eq!(refused(&app, &format!("{EVENTS}?block.in={listed}")).await.0, 400);
}

pub(super) async fn what_is_not_there_is_not_found(kind: Kind) {
    let app = app_with(kind, 1).await;
    for (path, named) in [
        ("/api/v1/events/feees/FeesCollected", "did you mean `fees`?"),
        ("/api/v1/events/fees/FeesColected", "did you mean `FeesCollected`?"),
        ("/api/v1/events/fees/Other/sum?column=x", "`Other`"),
        ("/api/v2/anything", "/api/v2/anything"),
        ("/api/v1/events/fees/%ff", "UTF-8"),
    ] {
        let (status, code, told) = refused(&app, path).await;
        assert_eq!((status, code.as_str()), (404, "not_found"), "{path}");
        assert!(told.contains(named), "{path}: {told}");
    }
}

pub(super) async fn overloaded_events_are_named_by_their_tables(kind: Kind) {
    let app = App::spawn(kind).await;
    let one = table(&*app.store, "t", 1, "Sold(uint256 a)").await;
    let two = table(&*app.store, "t", 1, "Sold(uint256 a, bool b)").await;
    let (status, _, told) = refused(&app, "/api/v1/events/t/Sold").await;
    assert_eq!(status, 400);
    assert!(told.contains(one.name.as_str()) && told.contains(two.name.as_str()), "{told}");
    for table in [one, two] {
        assert_eq!(app.ok(&format!("/api/v1/events/t/{}", table.name)).await["data"], json!([]));
    }
}

/// A value that no row can have is a slip of whoever asks, and not a question for nothing.
pub(super) async fn values_that_no_row_can_have_are_refused(kind: Kind) {
    let app = App::spawn(kind).await;
    let event = "Note(uint8 small, int8 tiny, uint64 wide, int128 delta, bytes4 four, bytes32 word, \
                 bytes any, string indexed said, function call)";
    let table = table(&*app.store, "notes", 1, event).await;
    let mut rows = Rows::new(table);
    let bytes = |len: usize| Cell::Bytes(Bytes::from(vec![7; len]));
    let values = vec![
        Cell::Integer(255),
        Cell::Integer(-128),
        Cell::Uint(U256::from(u64::MAX)),
        Cell::Int(I256::MINUS_ONE),
        bytes(4),
        bytes(32),
        bytes(3),
        bytes(32),
        bytes(24),
    ];
    put(&mut rows, head(1, 0, 1), values);
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    let of = "/api/v1/events/notes/Note";
    let (hash, word) = (format!("0x{}", "ab".repeat(32)), format!("0x{}", "07".repeat(32)));
    for (query, expected) in [
        (format!("transaction_hash={hash}"), vec![]),
        ("small=255&tiny=-128&wide=0xffffffffffffffff".into(), vec![1]),
        ("small.gte=0&small.lte=255&tiny.gte=-128&tiny.lte=127".into(), vec![1]),
        ("delta=-1&delta.gte=-0x80000000000000000000000000000000".into(), vec![1]),
        (format!("four=0x07070707&word={word}&any=0x070707&said={word}"), vec![1]),
        (format!("call=0x{}", "07".repeat(24)), vec![1]),
        ("any=0x".into(), vec![]),
        ("block.lte=9223372036854775807&log_index.lte=4294967295".into(), vec![1]),
        ("from=0&to=253402300799".into(), vec![1]),
        ("from=1960-01-01".into(), vec![1]),
    ] {
        assert_eq!(blocks(&app.ok(&format!("{of}?{query}")).await), expected, "{query}");
    }
    for (query, named, told) in [
        ("transaction_hash=0x12", "`transaction_hash`", "32 bytes: `0x` and 64 hexadecimal digits"),
        ("transaction_hash.gte=0x12", "`transaction_hash.gte`", "32 bytes"),
        ("block_hash.in=0x12,0x13", "`block_hash.in`", "32 bytes"),
        ("blockHash=nothing", "`blockHash`", "32 bytes"),
        ("address=0x12", "`address`", "40 hexadecimal digits"),
        ("four=0x0707070707", "`four`", "4 bytes: `0x` and 8 hexadecimal digits"),
        ("word=0x07", "`word`", "32 bytes"),
        ("said=hello", "`said`", "the hash of an indexed `string`"),
        ("call=0x07", "`call`", "24 bytes"),
        ("any=7", "`any`", "an even number of hexadecimal digits"),
        ("block=-1", "`block`", "from 0 to 9223372036854775807"),
        ("block.gte=-1", "`block.gte`", "from 0 to 9223372036854775807"),
        ("block.in=1,-1", "`block.in`", "`-1`"),
        ("log_index.lt=-1", "`log_index.lt`", "from 0 to 4294967295"),
        ("log_index=4294967296", "`log_index`", "from 0 to 4294967295"),
        ("small=300", "`small`", "from 0 to 255"),
        ("small.lt=300", "`small.lt`", "from 0 to 255"),
        ("small=-1", "`small`", "from 0 to 255"),
        ("small=x", "`small`", "from 0 to 255"),
        ("tiny=128", "`tiny`", "from -128 to 127"),
        ("tiny=-129", "`tiny`", "from -128 to 127"),
        ("wide=0x10000000000000000", "`wide`", "from 0 to 18446744073709551615"),
        ("delta=0x80000000000000000000000000000000", "`delta`", "from -2^127 to 2^127 - 1"),
        ("from=-1", "`from`", "`-1` is not a time"),
        ("block_timestamp.gte=-1", "`block_timestamp.gte`", "`-1` is not a time"),
        ("to=1761998400000", "`to`", "milliseconds"),
        ("from=2025-11-01T02:00:00+02:00", "`from`", "%2B"),
    ] {
        let (status, code, message) = refused(&app, &format!("{of}?{query}")).await;
        assert_eq!((status, code.as_str()), (400, "invalid_parameter"), "{query}: {message}");
        assert!(message.contains(named) && message.contains(told), "{query}: {message}");
        let (status, ..) = refused(&app, &format!("{of}/count?{query}")).await;
        assert_eq!(status, 400, "{query}");
    }
}

/// Writes new blocks on top, and old ones below, until told to stop.
async fn keep_writing(
    store: Arc<dyn Store>,
    table: Arc<TableSpec>,
    stop: tokio_util::sync::CancellationToken,
) {
    let mut above = 10_000;
    let mut below = 4_999;
    while !stop.is_cancelled() {
        commit(&*store, vec![Write::Rows(fee_rows(&table, &[(above, 0), (below, 0)], 1))]).await;
        (above, below) = (above + 1, below - 1);
        tokio::task::yield_now().await;
    }
}

pub(super) async fn pages_tell_each_row_once_while_others_are_written(kind: Kind) {
    let app = App::on(Database::shared(kind).await, |_, _| {}).await;
    let table = fees_table(&*app.store).await;
    let before: Vec<_> = (5_000..5_400).map(|block| (block, 0)).collect();
    store_fees(&*app.store, &table, &before).await;
    let stop = tokio_util::sync::CancellationToken::new();
    let writing = tokio::spawn(keep_writing(Arc::clone(&app.store), table, stop.clone()));
    for order in ["desc", "asc"] {
        let mut seen = Vec::new();
        let mut cursor = String::new();
        // New rows on top may be told in rising order for as long as they come.
        while !before.iter().all(|(block, _)| seen.contains(block)) {
            let body = app.ok(&format!("{EVENTS}?order={order}&limit=7{cursor}")).await;
            seen.extend(blocks(&body));
            let Some(next) = body["page"]["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        let distinct: BTreeSet<u64> = seen.iter().copied().collect();
        assert_eq!(distinct.len(), seen.len(), "{order}: a row was told twice");
        assert!(before.iter().all(|(block, _)| distinct.contains(block)), "{order}: a row was not told");
    }
    stop.cancel();
    writing.await.unwrap();
}
