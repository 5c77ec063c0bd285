//! A reader that comes back gets what it has not seen, once.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_core::outbox::{DeliveryFailure, SinkStart};
use windlass_core::retry::Verdict;
use windlass_testkit::make::{delivery, sink};

use super::reader::{Reader, plain};
use super::stream::{STREAM, app, collect};
use crate::app::App;
use crate::database::Kind;
use crate::rows::{FEES, fees_table, table};

pub(super) async fn a_stream_goes_on_behind_any_event(kind: Kind) {
    let (app, fees) = app(kind).await;
    let more = table(&*app.store, "more", 137, FEES).await;
    // The same logs in two tables: rows of one key are told apart by their tables.
    for (from, places) in [(1, [(1, 0), (1, 1), (2, 0)]), (3, [(3, 0), (3, 7), (4, 0)])] {
        collect(&app, &[&fees, &more], 0, (from, from + 1), &places).await;
    }
    let mut reader = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    let mut told = Vec::new();
    for _ in 0..12 {
        let event = reader.event().await;
        told.push((event.id.clone(), event.place(), event.data["table"].clone()));
    }
    for (seen, (id, ..)) in told.iter().enumerate() {
        let mut again = Reader::resume(&app, STREAM, id).await;
        for expected in &told[seen + 1..] {
            let event = again.event().await;
            assert_eq!(
                (event.id.clone(), event.place(), event.data["table"].clone()),
                *expected,
                "after {id}"
            );
        }
    }
    let mut by_parameter =
        Reader::open(&app, &format!("{STREAM}?start=oldest&last_event_id={}", told[10].0)).await;
    assert_eq!(by_parameter.event().await.id, told[11].0);
}

pub(super) async fn what_happens_while_nobody_reads_is_told_later(kind: Kind) {
    let (app, fees) = app(kind).await;
    let reader = Reader::open(&app, STREAM).await;
    let id = reader.last_id.clone();
    drop(reader);
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    assert_eq!(Reader::resume(&app, STREAM, &id).await.event().await.place(), (1, 0));
}

pub(super) async fn a_stream_without_rows_still_moves_on(kind: Kind) {
    let (app, fees) = app(kind).await;
    let more = table(&*app.store, "more", 137, FEES).await;
    let mut reader = Reader::open(&app, &format!("{STREAM}?index=more")).await;
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    while plain(&reader.last_id) != "137:1:end" {
        reader.frame().await.expect("a frame");
    }
    collect(&app, &[&more], 0, (2, 2), &[(2, 0)]).await;
    assert_eq!(Reader::resume(&app, STREAM, &reader.last_id).await.event().await.place(), (2, 0));
}

pub(super) async fn every_chain_has_its_own_place_in_an_id(kind: Kind) {
    let (app, fees) = app(kind).await;
    let other = table(&*app.store, "other", 10, FEES).await;
    let mut reader = Reader::open(&app, STREAM).await;
    assert_eq!(plain(&reader.last_id), "10:0:end,137:0:end");
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    assert_eq!(plain(&reader.event().await.id), "10:0:end,137:1:1.0.fees_fees_collected");
    collect(&app, &[&other], 0, (5, 5), &[(5, 0)]).await;
    let event = reader.event().await;
    assert!(plain(&event.id).starts_with("10:1:5.0.other_fees_collected,137:1:"), "{}", event.id);
    collect(&app, &[&fees], 0, (2, 2), &[(2, 0)]).await;
    let mut again = Reader::resume(&app, STREAM, &event.id).await;
    assert_eq!(again.event().await.place(), (2, 0));
    let mut one = Reader::resume(&app, &format!("{STREAM}?index=fees"), &event.id).await;
    assert_eq!(one.event().await.place(), (2, 0));
}

/// Every id that a reader of all there is has seen, by what it says: `137:2:end`. Of the
/// whole message the last one is heard when the next begins.
async fn ids(app: &App, events: usize) -> BTreeMap<String, String> {
    let mut reader = Reader::open(app, &format!("{STREAM}?start=oldest")).await;
    let mut ids = BTreeMap::new();
    for _ in 0..events {
        let event = reader.event().await;
        ids.insert(plain(&event.id), event.id);
    }
    while !reader.last_id.ends_with(":end") {
        reader.frame().await.expect("a frame");
    }
    ids.insert(plain(&reader.last_id), reader.last_id.clone());
    ids
}

/// Forgets the first messages, as if all sinks had them.
async fn forget(app: &App, up_to: i64) {
    let claimed = app.store.claim_messages(&delivery("s", "w", 10)).await.unwrap();
    app.store.mark_delivered(claimed[0].hold, up_to).await.unwrap();
    app.store.prune_outbox(100).await.unwrap();
}

pub(super) async fn messages_that_were_forgotten_are_owned_up_to(kind: Kind) {
    let (app, fees) = app(kind).await;
    app.store.register_sink(&sink("s"), SinkStart::Beginning).await.unwrap();
    let first = Reader::open(&app, STREAM).await.last_id;
    let mut ends = Vec::new();
    for block in 1..=5 {
        collect(&app, &[&fees], 0, (block, block), &[(block, 0), (block, 1)]).await;
        ends.push(Reader::open(&app, STREAM).await.last_id);
    }
    let ids = ids(&app, 10).await;
    forget(&app, 3).await;
    for (id, from) in [(&ends[0], 2), (&ids["137:2:2.0.fees_fees_collected"], 2), (&first, 1)] {
        let mut reader = Reader::resume(&app, STREAM, id).await;
        let gap = reader.event().await;
        assert_eq!(gap.kind, "gap", "{id}");
        assert_eq!(gap.data, json!({"chain": 137, "from_seq": from, "to_seq": 3}), "{id}");
        assert_eq!(reader.event().await.place(), (4, 0), "{id}");
        // Whoever heard of it does not hear of it again.
        let again = Reader::resume(&app, STREAM, &gap.id).await.event().await;
        assert_eq!((again.kind.as_str(), again.place()), ("added", (4, 0)), "{id}");
    }
    for id in [&ends[2], &ids["137:4:4.0.fees_fees_collected"]] {
        let event = Reader::resume(&app, STREAM, id).await.event().await;
        assert_eq!((event.kind.as_str(), event.place().0), ("added", 4), "{id}");
    }
    let mut oldest = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    assert_eq!(oldest.event().await.place(), (4, 0));
}

pub(super) async fn a_reader_goes_on_where_all_was_forgotten(kind: Kind) {
    let (app, fees) = app(kind).await;
    app.store.register_sink(&sink("s"), SinkStart::Beginning).await.unwrap();
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    let id = Reader::open(&app, STREAM).await.last_id;
    forget(&app, 1).await;
    let mut reader = Reader::resume(&app, STREAM, &id).await;
    collect(&app, &[&fees], 0, (2, 2), &[(2, 0)]).await;
    let event = reader.event().await;
    assert_eq!((event.kind.as_str(), event.place()), ("added", (2, 0)));
}

/// A repetition for one sink has a number, and nothing to tell.
pub(super) async fn a_message_for_one_sink_alone_is_no_gap(kind: Kind) {
    let (app, fees) = app(kind).await;
    app.store.register_sink(&sink("s"), SinkStart::Beginning).await.unwrap();
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    let mut reader = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    assert_eq!(reader.event().await.place(), (1, 0));
    let hold = app.store.claim_messages(&delivery("s", "w", 10)).await.unwrap()[0].hold;
    let failure = DeliveryFailure { hold, error: "no".into(), verdict: Verdict::Dead };
    app.store.fail_delivery(&failure).await.unwrap();
    let dead = app.store.list_dead_messages(None, 10).await.unwrap();
    assert_eq!(app.store.requeue_dead_messages(&[dead[0].id]).await.unwrap(), 1);
    collect(&app, &[&fees], 0, (2, 2), &[(2, 0)]).await;
    let event = reader.event().await;
    assert_eq!((event.kind.as_str(), plain(&event.id).as_str()), ("added", "137:3:2.0.fees_fees_collected"));
}

async fn refused(app: &App, id: &str) -> String {
    let request = app.client.get(app.url(STREAM)).header("last-event-id", id).send().await.unwrap();
    assert_eq!(request.status(), 400, "{id}");
    let body: Value = serde_json::from_str(&request.text().await.unwrap()).unwrap();
    assert_eq!(body["error"]["code"], "invalid_cursor", "{id}");
    assert!(body["error"]["hint"].as_str().unwrap().contains("leave"), "{body}");
    body["error"]["message"].as_str().unwrap().to_owned()
}

pub(super) async fn an_id_of_another_chain_is_refused(kind: Kind) {
    let (app, fees) = app(kind).await;
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    let id = Reader::open(&app, STREAM).await.last_id;
    let told = refused(&app, &id.replace("137:", "10:")).await;
    assert!(told.contains("chain 10") && told.contains("chain 137"), "{told}");
    refused(&app, "10:0:end").await;
    assert_eq!(app.text(&format!("{STREAM}?last_event_id=10:0:end")).await.0, 400);
    // One that also has this stream's chain is an id of it.
    collect(&app, &[&fees], 0, (2, 2), &[(2, 0)]).await;
    let both = format!("10:7.00000000:end,{id}");
    assert_eq!(Reader::resume(&app, STREAM, &both).await.event().await.place(), (2, 0));
}

pub(super) async fn an_id_of_another_database_is_refused(kind: Kind) {
    let (here, fees) = app(kind).await;
    let (there, others) = app(kind).await;
    for block in 1..=5 {
        collect(&there, &[&others], 0, (block, block), &[(block, 0)]).await;
    }
    let ids = ids(&there, 5).await;
    // Nothing was written here, so nothing can be held against it, until something is.
    let last = &ids["137:5:end"];
    let mut reader = Reader::resume(&here, STREAM, last).await;
    collect(&here, &[&fees], 0, (11, 11), &[(11, 0)]).await;
    let failed = reader.event().await;
    assert_eq!((failed.kind.as_str(), &failed.data["code"]), ("failed", &json!("invalid_cursor")));
    collect(&here, &[&fees], 0, (12, 12), &[(12, 0)]).await;
    collect(&here, &[&fees], 0, (13, 13), &[(13, 0)]).await;
    for id in ids.values() {
        let told = refused(&here, id).await;
        assert!(told.contains("this database"), "{told}");
    }
    Reader::resume(&there, STREAM, last).await;
}

/// A chain that was not there when a reader left has news of which it saw nothing.
pub(super) async fn a_chain_that_joins_is_told_from_its_first_message(kind: Kind) {
    let (app, fees) = app(kind).await;
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    let id = Reader::open(&app, STREAM).await.last_id;
    let other = table(&*app.store, "other", 10, FEES).await;
    collect(&app, &[&other], 0, (5, 5), &[(5, 0)]).await;
    let event = Reader::resume(&app, STREAM, &id).await.event().await;
    assert_eq!((event.data["chain"].clone(), event.place()), (json!(10), (5, 0)));
}

pub(super) async fn a_stream_is_woken_before_its_time(kind: Kind) {
    let app = App::with(kind, |options, _| options.stream_interval = Duration::from_secs(3_600)).await;
    let fees = fees_table(&*app.store).await;
    let mut reader = Reader::open(&app, STREAM).await;
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    assert_eq!(reader.event().await.place(), (1, 0));
}
