//! Totals, exact.

use serde_json::json;
use windlass_core::chain::{Address, U256};
use windlass_core::commit::Write;
use windlass_core::table::{Rows, Value as Cell};

use crate::app::App;
use crate::rows::{commit, fees_table, head, put};

const SUM: &str = "/api/v1/events/fees/FeesCollected/sum";

/// Three rows whose fees overflow 256 bits together.
async fn app() -> App {
    let app = App::spawn().await;
    let mut rows = Rows::new(fees_table(&*app.store).await);
    for (block, token) in [(1, 1), (2, 2), (3, 1)] {
        let party = |byte| Cell::Address(Address::repeat_byte(byte));
        let values = vec![party(token), party(9), Cell::Uint(U256::MAX), Cell::Uint(U256::from(block))];
        put(&mut rows, head(block, 0, 1), values);
    }
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    app
}

#[tokio::test]
async fn totals_are_exact_beyond_256_bits() {
    let app = app().await;
    // Three times 2^256 - 1.
    let thrice = "347376267711948586270712955026063723559809953996921692118372752023739388919805";
    let all = json!({"data": [{"by": null, "sum": thrice, "rows": 3}], "truncated": false});
    assert_eq!(app.ok(&format!("{SUM}?column=integratorFee")).await, all);
    let some = app.ok(&format!("{SUM}?column=lifiFee&block.gt=1")).await;
    assert_eq!(some["data"], json!([{"by": null, "sum": "5", "rows": 2}]));
    let timed = app.ok(&format!("{SUM}?column=lifiFee&to={}", crate::rows::GENESIS_S + 6)).await;
    assert_eq!(timed["data"], json!([{"by": null, "sum": "3", "rows": 2}]));
}

#[tokio::test]
async fn totals_come_by_group() {
    let app = app().await;
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

#[tokio::test]
async fn sums_that_make_no_sense_are_refused() {
    let app = app().await;
    for query in [
        "",
        "column=token",
        "column=nothing",
        "column=block",
        "column=lifiFee&by=nothing",
        "column=lifiFee&by=block",
        "column=lifiFee&limit=0",
        "column=lifiFee&limit=1001",
        "column=lifiFee&x=1",
    ] {
        let (status, body) = app.get(&format!("{SUM}?{query}")).await;
        assert_eq!(status, 400, "{query}: {body}");
    }
    let (_, body) = app.get(&format!("{SUM}?column=lifeFee")).await;
    assert_eq!(body["error"]["hint"], "did you mean `lifiFee`?");
}
