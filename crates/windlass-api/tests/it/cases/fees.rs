//! `/fees`: shape, clamps, bodies, order, and pages however deep.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::{ApiOptions, ApiParts};
use windlass_core::chain::{Address, U256};
use windlass_core::commit::Write;
use windlass_core::range::BlockRange;
use windlass_core::table::{Rows, Value as Cell};

use crate::app::App;
use crate::database::Kind;
use crate::rows::{FEES, POLYGON, commit, fee_rows, fees_table, head, put, store_fees, table};

pub(super) async fn a_fee_has_the_shape_that_its_users_know(kind: Kind) {
    let app = App::spawn(kind).await;
    let table = fees_table(&*app.store).await;
    let mut rows = Rows::new(table);
    let token: Address = "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619".parse().unwrap();
    let values = vec![
        Cell::Address(token),
        Cell::Address(Address::ZERO),
        Cell::Uint(U256::MAX),
        Cell::Uint(U256::ZERO),
    ];
    put(&mut rows, head(78_600_000, 3, 1), values);
    commit(&*app.store, vec![Write::Rows(rows)]).await;
    let expected = json!({
        "data": [{
            "chainId": 137,
            "transactionHash": format!("0x{}{:016x}", "77".repeat(24), 78_600_000),
            "logIndex": 3,
            "blockNumber": 78_600_000,
            "token": "0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619",
            "eventIntegrator": "0x0000000000000000000000000000000000000000",
            "integratorFee": "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            "lifiFee": "0",
            "createdAt": "2028-11-07T08:53:20.000Z",
        }],
        "pagination": {"page": 1, "limit": 20, "total": 1, "totalPages": 1},
    });
    assert_eq!(app.get("/fees").await, (200, expected));
}

pub(super) async fn every_clamp_is_the_reference_s(kind: Kind) {
    let app = App::spawn(kind).await;
    let table = fees_table(&*app.store).await;
    let places: Vec<_> = (0..250).map(|log_index| (1, log_index)).collect();
    store_fees(&*app.store, &table, &places).await;
    // Query, page, limit, number of rows, total, pages.
    let cases: &[(&str, Value, Value, usize, u64, u64)] = &[
        ("", json!(1), json!(20), 20, 250, 13),
        ("integrator=137", json!(1), json!(20), 20, 250, 13),
        ("integrator=", json!(1), json!(20), 20, 250, 13),
        ("integrator=1&integrator=2", json!(1), json!(20), 20, 250, 13),
        ("integrator=0x89", json!(1), json!(20), 20, 250, 13),
        ("integrator=%20137%20", json!(1), json!(20), 20, 250, 13),
        ("integrator=1.37e2", json!(1), json!(20), 20, 250, 13),
        ("integrator=137.5", json!(1), json!(20), 0, 0, 0),
        ("integrator=1e2", json!(1), json!(20), 0, 0, 0),
        ("integrator=%20", json!(1), json!(20), 0, 0, 0),
        ("integrator=-137", json!(1), json!(20), 0, 0, 0),
        ("integrator=Infinity", json!(1), json!(20), 0, 0, 0),
        ("integrator=1e400", json!(1), json!(20), 0, 0, 0),
        ("page=0", json!(1), json!(20), 20, 250, 13),
        ("page=-4", json!(1), json!(20), 20, 250, 13),
        ("page=x", json!(1), json!(20), 20, 250, 13),
        ("page=", json!(1), json!(20), 20, 250, 13),
        ("page=2&page=3", json!(1), json!(20), 20, 250, 13),
        ("page=13", json!(13), json!(20), 10, 250, 13),
        ("page=14", json!(14), json!(20), 0, 250, 13),
        ("page=1.5", json!(1.5), json!(20), 20, 250, 13),
        ("page=Infinity", json!(null), json!(20), 0, 250, 13),
        ("page=1e21", json!(1e21), json!(20), 0, 250, 13),
        ("limit=0", json!(1), json!(20), 20, 250, 13),
        ("limit=x", json!(1), json!(20), 20, 250, 13),
        ("limit=-5", json!(1), json!(1), 1, 250, 250),
        ("limit=0.5", json!(1), json!(1), 1, 250, 250),
        ("limit=2.5", json!(1), json!(2.5), 2, 250, 100),
        ("limit=500", json!(1), json!(100), 100, 250, 3),
        ("limit=Infinity", json!(1), json!(100), 100, 250, 3),
        ("limit=10&limit=11", json!(1), json!(20), 20, 250, 13),
        ("other=parameter", json!(1), json!(20), 20, 250, 13),
    ];
    for (query, page, limit, rows, total, pages) in cases {
        let body = app.ok(&format!("/fees?{query}")).await;
        let pagination = json!({"page": page, "limit": limit, "total": total, "totalPages": pages});
        assert_eq!(body["pagination"], pagination, "{query}");
        assert_eq!(body["data"].as_array().unwrap().len(), *rows, "{query}");
    }
}

pub(super) async fn a_chain_that_is_no_number_is_refused(kind: Kind) {
    let app = App::spawn(kind).await;
    let refused = json!({"error": "Invalid integrator value. Expected numeric chain id."});
    for query in ["polygon", "0x", "12px", "NaN", "1,000", "1_000"] {
        let answer = app.get(&format!("/fees?integrator={query}")).await;
        assert_eq!(answer, (400, refused.clone()), "{query}");
    }
}

pub(super) async fn what_may_pass_is_503_and_says_so(kind: Kind) {
    let app = App::spawn(kind).await;
    app.store.close().await;
    assert_eq!(app.get("/fees").await, (503, json!({"error": "the database cannot be reached"})));
    let full = |options: &mut ApiOptions, _: &mut ApiParts| {
        (options.concurrent_requests, options.queue_timeout) = (0, Duration::ZERO);
    };
    let app = App::with(kind, full).await;
    assert_eq!(app.get("/fees").await, (503, json!({"error": "too many requests at once"})));
}

pub(super) async fn only_tables_of_the_event_on_the_chain_are_served(kind: Kind) {
    let app = App::spawn(kind).await;
    let none = json!({"data": [], "pagination": {"page": 1, "limit": 20, "total": 0, "totalPages": 0}});
    assert_eq!(app.ok("/fees").await, none);
    let underscored =
        "FeesCollected(address indexed _token, address _integrator, uint _integratorFee, uint _lifiFee)";
    let other_chain = table(&*app.store, "elsewhere", 10, underscored).await;
    store_fees(&*app.store, &other_chain, &[(1, 0)]).await;
    for other in [
        "FeesCollected(address a, address b, uint256 c, uint128 d)",
        "FeesWithdrawn(address a, address b, uint256 c, uint256 d)",
    ] {
        table(&*app.store, "others", POLYGON, other).await;
    }
    assert_eq!(app.ok("/fees").await, none);
    assert_eq!(app.ok("/fees?integrator=10").await["pagination"]["total"], 1);
}

pub(super) async fn fees_of_several_tables_come_in_one_order(kind: Kind) {
    let app = App::spawn(kind).await;
    let one = fees_table(&*app.store).await;
    let two = table(&*app.store, "more", POLYGON, FEES).await;
    store_fees(&*app.store, &one, &[(1, 5), (3, 0), (3, 2)]).await;
    store_fees(&*app.store, &two, &[(2, 9), (3, 1), (4, 0)]).await;
    let body = app.ok("/fees?limit=2&page=2").await;
    assert_eq!(places(&body), [(3, 1), (3, 0)]);
    assert_eq!(places(&app.ok("/fees").await), [(4, 0), (3, 2), (3, 1), (3, 0), (2, 9), (1, 5)]);
    assert_eq!(body["pagination"], json!({"page": 2, "limit": 2, "total": 6, "totalPages": 3}));
}

/// Deeper than what is walked over: the page is found by counting.
pub(super) async fn a_deep_page_is_the_page_that_walking_would_find(kind: Kind) {
    let app = App::spawn(kind).await;
    let table = fees_table(&*app.store).await;
    // Dense and empty stretches, and one block with more rows than are walked over.
    let mut all: Vec<(u64, u32)> = (0..3_000).map(|i| (1_000 + i / 3, (i % 3) as u32)).collect();
    all.extend((0..1_500).map(|log_index| (5_000, log_index)));
    all.extend((0..500).map(|i| (1_000_000 + i * 977, 1)));
    for places in all.chunks(1_000) {
        commit(&*app.store, vec![Write::Rows(fee_rows(&table, places, 1))]).await;
    }
    all.reverse();
    for page in [1_u64, 2, 11, 12, 19, 20, 21, 22, 35, 49, 50] {
        let body = app.ok(&format!("/fees?limit=100&page={page}")).await;
        let expected = &all[(page as usize - 1) * 100..][..100];
        assert_eq!(places(&body), expected, "page {page}");
    }
    assert_eq!(places(&app.ok("/fees?limit=100&page=51").await), []);
}

/// Where a page was found before is no help once rows have come below it, or gone.
pub(super) async fn deep_pages_stay_right_while_rows_come_and_go(kind: Kind) {
    let app = App::spawn(kind).await;
    let table = fees_table(&*app.store).await;
    let mut all: Vec<(u64, u32)> = (0..4_000).map(|i| (10_000 + i / 4, (i % 4) as u32)).collect();
    for places in all.chunks(1_000) {
        commit(&*app.store, vec![Write::Rows(fee_rows(&table, places, 1))]).await;
    }
    let newest: Vec<_> = (0..30).map(|i| (20_000 + i, 0)).collect();
    let oldest: Vec<_> = (0..300).map(|i| (500 + i, 0)).collect();
    let between: Vec<_> = (0..7).map(|log_index| (10_900, 10 + log_index)).collect();
    deep_pages(&app, &mut all, "at first").await;
    for (places, when) in
        [(newest, "rows came above"), (oldest, "rows came below"), (between, "rows came between")]
    {
        store_fees(&*app.store, &table, &places).await;
        all.extend(places);
        deep_pages(&app, &mut all, when).await;
    }
    let blocks = BlockRange { from: 10_950, to: 10_959 };
    let erase = Write::EraseRows { table: table.name.clone(), blocks, contracts: vec![] };
    commit(&*app.store, vec![erase]).await;
    all.retain(|(block, _)| !(10_950..=10_959).contains(block));
    deep_pages(&app, &mut all, "rows went").await;
}

/// Asks for deep pages one after another, as somebody who walks through them does.
async fn deep_pages(app: &App, all: &mut [(u64, u32)], when: &str) {
    all.sort_unstable_by(|one, other| other.cmp(one));
    for page in [15, 16, 17, 30, 29, 38, 16] {
        let body = app.ok(&format!("/fees?limit=100&page={page}")).await;
        let expected: Vec<_> = all.iter().skip((page - 1) * 100).take(100).copied().collect();
        assert_eq!(places(&body), expected, "page {page}, {when}");
    }
}

fn places(body: &Value) -> Vec<(u64, u32)> {
    let place =
        |row: &Value| (row["blockNumber"].as_u64().unwrap(), row["logIndex"].as_u64().unwrap() as u32);
    body["data"].as_array().unwrap().iter().map(place).collect()
}
