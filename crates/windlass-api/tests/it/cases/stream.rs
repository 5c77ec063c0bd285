//! Events and retractions as they come.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_core::commit::Write;
use windlass_core::range::BlockRange;
use windlass_core::table::TableSpec;

use super::reader::{Reader, plain};
use crate::app::App;
use crate::database::Kind;
use crate::rows::{FEES, POLYGON, commit, fact_message, fee_rows, fees_table, message, table};

pub(super) const STREAM: &str = "/api/v1/stream";

/// An app whose streams look often, with the table of fees.
pub(super) async fn app(kind: Kind) -> (App, Arc<TableSpec>) {
    let app = App::with(kind, |options, _| options.stream_interval = Duration::from_millis(10)).await;
    let table = fees_table(&*app.store).await;
    (app, table)
}

/// Collects blocks, with these logs in them, as one commit.
pub(super) async fn collect(
    app: &App,
    tables: &[&Arc<TableSpec>],
    generation: u64,
    (from, to): (u64, u64),
    places: &[(u64, u32)],
) {
    let chain = tables[0].chain.as_u64();
    let fork = generation as u8 + 1;
    let mut writes: Vec<Write> =
        tables.iter().map(|table| Write::Rows(fee_rows(table, places, fork))).collect();
    writes.push(message("events.added", chain, generation, from, to));
    commit(&*app.store, writes).await;
    app.wake.notify_waiters();
}

/// Takes blocks back, as one commit.
pub(super) async fn take_back(app: &App, table: &TableSpec, generation: u64, from_block: u64) {
    let retract = Write::Retract { chain: table.chain, from_block };
    let chain = table.chain.as_u64();
    let told = message("events.removed", chain, generation, from_block, from_block.saturating_sub(1));
    commit(&*app.store, vec![retract, told]).await;
    app.wake.notify_waiters();
}

/// Collects a block anew, with these logs in it, as one commit.
pub(super) async fn mend(
    app: &App,
    table: &Arc<TableSpec>,
    generation: u64,
    block: u64,
    places: &[(u64, u32)],
) {
    let (chain, name) = (table.chain.as_u64(), table.name.clone());
    let fact = json!({
        "chain": chain, "generation": generation, "from_block": block, "to_block": block, "tables": [name],
        "events": 0,
    });
    let erase =
        Write::EraseRows { table: name, blocks: BlockRange { from: block, to: block }, contracts: vec![] };
    let mut writes = vec![fact_message("events.removed", chain, generation, &fact), erase];
    if !places.is_empty() {
        writes.push(Write::Rows(fee_rows(table, places, generation as u8 + 1)));
        writes.push(message("events.added", chain, generation, block, block));
    }
    commit(&*app.store, writes).await;
    app.wake.notify_waiters();
}

pub(super) async fn rows_come_in_the_chains_order_from_now_on(kind: Kind) {
    let (app, fees) = app(kind).await;
    collect(&app, &[&fees], 0, (1, 5), &[(1, 0), (5, 0)]).await;
    let mut reader = Reader::open(&app, STREAM).await;
    collect(&app, &[&fees], 0, (6, 9), &[(7, 1), (7, 0), (9, 4)]).await;
    let first = reader.event().await;
    assert_eq!((first.kind.as_str(), plain(&first.id).as_str()), ("added", "137:2:7.0.fees_fees_collected"));
    let data = &first.data;
    assert_eq!(
        (&data["chain"], &data["index"], &data["event"]),
        (&json!(137), &json!("fees"), &json!("FeesCollected"))
    );
    assert_eq!(data["row"]["integratorFee"], "7000");
    assert_eq!([reader.event().await.place(), reader.event().await.place()], [(7, 1), (9, 4)]);
}

pub(super) async fn a_reader_may_begin_with_what_is_kept(kind: Kind) {
    let (app, fees) = app(kind).await;
    let more = table(&*app.store, "more", POLYGON, FEES).await;
    // More rows than are read at once, of one table many more than of the other.
    let many: Vec<_> = (0..2_500).map(|i| (1 + i / 100, (i % 100) as u32)).collect();
    let few: Vec<_> = (1..=25).map(|block| (block, 40)).collect();
    commit(&*app.store, vec![Write::Rows(fee_rows(&more, &few, 1))]).await;
    collect(&app, &[&fees], 0, (1, 25), &many).await;
    let mut expected: Vec<_> = many.iter().map(|place| (*place, "fees")).collect();
    expected.extend(few.iter().map(|place| (*place, "more")));
    expected.sort_unstable();
    let mut reader = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    for (place, index) in expected {
        let event = reader.event().await;
        assert_eq!((event.place(), event.data["index"].as_str().unwrap()), (place, index));
    }
}

pub(super) async fn a_stream_begins_behind_the_newest_message(kind: Kind) {
    let (app, fees) = app(kind).await;
    for count in 1..=40_u64 {
        collect(&app, &[&fees], 0, (count, count), &[(count, 0)]).await;
        let reader = Reader::open(&app, STREAM).await;
        assert_eq!(plain(&reader.last_id), format!("137:{count}:end"));
    }
}

pub(super) async fn an_index_or_event_can_be_asked_for_alone(kind: Kind) {
    let (app, fees) = app(kind).await;
    let more = table(&*app.store, "more", POLYGON, FEES).await;
    let other =
        table(&*app.store, "fees", POLYGON, "Other(address a, address b, uint256 c, uint256 d)").await;
    collect(&app, &[&fees, &more, &other], 0, (1, 2), &[(1, 0), (2, 0)]).await;
    for (query, expected) in [
        ("", vec!["fees_fees_collected", "fees_other", "more_fees_collected"]),
        ("&index=fees", vec!["fees_fees_collected", "fees_other"]),
        ("&index=fees&event=Other", vec!["fees_other"]),
        ("&index=more&event=more_fees_collected", vec!["more_fees_collected"]),
    ] {
        let mut reader = Reader::open(&app, &format!("{STREAM}?start=oldest{query}")).await;
        for block in [1, 2] {
            for table in &expected {
                let event = reader.event().await;
                assert_eq!(
                    (event.place(), event.data["table"].as_str().unwrap()),
                    ((block, 0), *table),
                    "{query}"
                );
            }
        }
    }
}

pub(super) async fn a_message_may_speak_of_some_tables_only(kind: Kind) {
    let (app, fees) = app(kind).await;
    let more = table(&*app.store, "more", POLYGON, FEES).await;
    let Write::Publish(mut told) = message("events.added", POLYGON, 0, 1, 1) else {
        unreachable!("a message")
    };
    told[0].payload = told[0].payload.replace("\"tables\":[]", "\"tables\":[\"more_fees_collected\"]");
    let rows = [&fees, &more].map(|table| Write::Rows(fee_rows(table, &[(1, 0)], 1)));
    commit(&*app.store, rows.into_iter().chain([Write::Publish(told)]).collect()).await;
    collect(&app, &[&fees], 0, (2, 2), &[(2, 0)]).await;
    let mut reader = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    assert_eq!(reader.event().await.data["table"], "more_fees_collected");
    assert_eq!(reader.event().await.place(), (2, 0));
}

pub(super) async fn questions_that_make_no_sense_are_refused(kind: Kind) {
    let (app, fees) = app(kind).await;
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    for (query, status) in [
        ("index=none", 404),
        ("index=fees&event=None", 404),
        ("event=FeesCollected", 400),
        ("start=yesterday", 400),
        ("strat=now", 400),
        ("index=fees&index=fees", 400),
        ("index=fees&event=Other&event=FeesCollected", 400),
        ("start=oldest&start=now", 400),
        ("last_event_id=137:0:end&last_event_id=137:0:end", 400),
        ("last_event_id=x", 400),
        ("last_event_id=137:7:end", 400),
        ("last_event_id=137:0:end,137:0:end", 400),
    ] {
        let answer = app.client.get(app.url(&format!("{STREAM}?{query}"))).send().await.unwrap();
        assert_eq!(answer.status(), status, "{query}");
    }
    let nothing = App::spawn(kind).await;
    assert_eq!(nothing.get(STREAM).await.0, 404);
}

pub(super) async fn streams_are_bounded_and_leave_room_when_they_end(kind: Kind) {
    let app = App::with(kind, |options, _| options.streams = 1).await;
    fees_table(&*app.store).await;
    let reader = Reader::open(&app, STREAM).await;
    let (status, body) = app.get(STREAM).await;
    assert_eq!((status, &body["error"]["code"]), (503, &json!("overloaded")));
    drop(reader);
    // The room is free once the server has noticed.
    while app.client.get(app.url(STREAM)).send().await.unwrap().status() != 200 {
        tokio::task::yield_now().await;
    }
}

pub(super) async fn a_quiet_stream_shows_that_it_lives_and_ends_with_the_server(kind: Kind) {
    let app = App::with(kind, |options, _| options.heartbeat = Duration::from_millis(5)).await;
    fees_table(&*app.store).await;
    let mut reader = Reader::open(&app, STREAM).await;
    while reader.frame().await.expect("a frame").comments == 0 {}
    app.stop.cancel();
    while reader.frame().await.is_some() {}
    let mut app = app;
    (&mut app.task).await.unwrap();
}
