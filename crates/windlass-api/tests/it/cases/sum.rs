//! Totals, exact.

use serde_json::json;
use windlass_core::chain::{Address, U256};
use windlass_core::commit::Write;
use windlass_core::table::{I256, Rows, Value as Cell};

use crate::app::App;
use crate::database::Kind;
use crate::rows::{commit, fees_table, head, put, table};

const SUM: &str = "/api/v1/events/fees/FeesCollected/sum";

/// Three rows whose fees overflow 256 bits together.
async fn app(kind: Kind) -> App {
    let app = App::spawn(kind).await;
    let mut rows = Rows::new(fees_table(&*app.store).await);
    for (block, token) in [(1, 1), (2, 2), (3, 1)] {
        let party = |byte| Cell::Address(Address::repeat_byte(byte));
        let values = vec![party(token), party(9), Cell::Uint(U256::MAX), Cell::Uint(U256::from(block))];
        put(&mut rows, head(block, 0, 1), values);
    }
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    app
}

pub(super) async fn totals_are_exact_beyond_256_bits(kind: Kind) {
    let app = app(kind).await;
    // Three times 2^256 - 1.
    let thrice = "347376267711948586270712955026063723559809953996921692118372752023739388919805";
    let all = json!({"data": [{"by": null, "sum": thrice, "rows": 3}], "truncated": false});
    assert_eq!(app.ok(&format!("{SUM}?column=integratorFee")).await, all);
    let some = app.ok(&format!("{SUM}?column=lifiFee&block.gt=1")).await;
    assert_eq!(some["data"], json!([{"by": null, "sum": "5", "rows": 2}]));
    let timed = app.ok(&format!("{SUM}?column=lifiFee&to={}", crate::rows::GENESIS_S + 6)).await;
    assert_eq!(timed["data"], json!([{"by": null, "sum": "3", "rows": 2}]));
}

pub(super) async fn totals_come_by_group(kind: Kind) {
    let app = app(kind).await;
    let group = |byte: u8, sum: &str, rows: u64| {
        let by = Address::repeat_byte(byte).to_string();
        json!({"by": by, "sum": sum, "rows": rows})
    };
    let body = app.ok(&format!("{SUM}?column=lifiFee&by=token")).await;
    assert_eq!(body, json!({"data": [group(1, "4", 2), group(2, "2", 1)], "truncated": false}));
    let body = app.ok(&format!("{SUM}?column=lifi_fee&by=token&limit=1")).await;
    assert_eq!(body, json!({"data": [group(1, "4", 2)], "truncated": true}));
    let body = app.ok(&format!("{SUM}?column=lifiFee&by=address")).await;
    assert_eq!(body["data"], json!([group(0x42, "6", 3)]));
}

pub(super) async fn sums_that_make_no_sense_are_refused(kind: Kind) {
    let app = app(kind).await;
    let summed = "`integratorFee`, `lifiFee`";
    for (query, named, hint) in [
        ("", "parameter `column`: it is missing", summed),
        ("column=token", "parameter `column`: `token` is of type `address` and has no sum", summed),
        ("column=nothing", "parameter `column`: there is no column `nothing`", summed),
        ("column=lifeFee", "parameter `column`: there is no column `lifeFee`", "did you mean `lifiFee`?"),
        ("column=block", "parameter `column`: `block` ", summed),
        ("column=lifiFee&by=nothing", "parameter `by`: there is no column `nothing`", ""),
        ("column=lifiFee&by=tokn", "parameter `by`: there is no column `tokn`", "did you mean `token`?"),
        ("column=lifiFee&by=block", "parameter `by`: ", "`address`"),
        ("column=lifiFee&limit=0", "`limit`", ""),
        ("column=lifiFee&limit=1001", "`limit`", ""),
        ("column=lifiFee&x=1", "`x`", ""),
        ("column=lifiFee&column=lifiFee", "parameter `column`: it is given twice", ""),
    ] {
        let (status, body) = app.get(&format!("{SUM}?{query}")).await;
        assert_eq!(status, 400, "{query}: {body}");
        let text = |name: &str| body["error"][name].as_str().unwrap_or_default().to_owned();
        assert!(text("message").contains(named), "{query}: {body}");
        assert!(text("hint").contains(hint), "{query}: {body}");
    }
}

/// A column's type is told as the contract's source has it.
pub(super) async fn a_column_without_a_sum_is_told_with_its_type(kind: Kind) {
    let app = App::spawn(kind).await;
    table(&*app.store, "notes", 1, "Note(bytes4 indexed a, (uint256 x, bool y)[] b, string indexed c)").await;
    for (column, told) in [("a", "`bytes4`"), ("b", "`(uint256,bool)[]`"), ("c", "`string`")] {
        let (status, body) = app.get(&format!("/api/v1/events/notes/Note/sum?column={column}")).await;
        let message = body["error"]["message"].as_str().unwrap();
        assert!(status == 400 && message.contains(told), "{body}");
        assert_eq!(body["error"]["hint"], "this event has no column that can be summed");
    }
}

/// Whatever a column holds, there can be a total for each of its values.
pub(super) async fn totals_come_by_every_kind_of_column(kind: Kind) {
    let app = App::spawn(kind).await;
    let event = "Note(int64 n, int256 big, bool good, bytes data, string words, uint8[] list)";
    let mut rows = Rows::new(table(&*app.store, "notes", 1, event).await);
    for block in 1..=2_u8 {
        let values = vec![
            Cell::Integer(-i64::from(block)),
            Cell::Int(I256::MINUS_ONE),
            Cell::Bool(true),
            Cell::Bytes(vec![1].into()),
            Cell::Text("w".into()),
            Cell::Text("[\"1\"]".into()),
        ];
        put(&mut rows, head(block.into(), 0, 1), values);
    }
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    let of = "/api/v1/events/notes/Note/sum?column";
    for (by, value) in [
        ("big", json!("-1")),
        ("good", json!(true)),
        ("data", json!("0x01")),
        ("words", json!("w")),
        ("list", json!(["1"])),
    ] {
        let body = app.ok(&format!("{of}=n&by={by}")).await;
        assert_eq!(body["data"], json!([{"by": value, "sum": "-3", "rows": 2}]), "{by}");
    }
    let body = app.ok(&format!("{of}=big&by=n")).await;
    assert_eq!(body["data"], json!([{"by": -2, "sum": "-1", "rows": 1}, {"by": -1, "sum": "-1", "rows": 1}]));
}
