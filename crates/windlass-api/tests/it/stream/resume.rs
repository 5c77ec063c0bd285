//! A reader that comes back gets what it has not seen, once.

use std::time::Duration;

use serde_json::json;
use windlass_core::outbox::SinkStart;
use windlass_testkit::make::{delivery, sink};

use super::reader::Reader;
use super::{STREAM, app, collect};
use crate::app::App;
use crate::rows::{FEES, fees_table, table};

#[tokio::test]
async fn a_stream_goes_on_behind_any_event() {
    let (app, fees) = app().await;
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

#[tokio::test]
async fn what_happens_while_nobody_reads_is_told_later() {
    let (app, fees) = app().await;
    let reader = Reader::open(&app, STREAM).await;
    let id = reader.last_id.clone();
    drop(reader);
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    assert_eq!(Reader::resume(&app, STREAM, &id).await.event().await.place(), (1, 0));
}

#[tokio::test]
async fn a_stream_without_rows_still_moves_on() {
    let (app, fees) = app().await;
    let more = table(&*app.store, "more", 137, FEES).await;
    let mut reader = Reader::open(&app, &format!("{STREAM}?index=more")).await;
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    while reader.last_id != "137:1:end" {
        reader.frame().await.expect("a frame");
    }
    collect(&app, &[&more], 0, (2, 2), &[(2, 0)]).await;
    assert_eq!(Reader::resume(&app, STREAM, &reader.last_id).await.event().await.place(), (2, 0));
}

#[tokio::test]
async fn every_chain_has_its_own_place_in_an_id() {
    let (app, fees) = app().await;
    let other = table(&*app.store, "other", 10, FEES).await;
    let mut reader = Reader::open(&app, STREAM).await;
    assert_eq!(reader.last_id, "10:0:end,137:0:end");
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    assert_eq!(reader.event().await.id, "10:0:end,137:1:1.0.fees_fees_collected");
    collect(&app, &[&other], 0, (5, 5), &[(5, 0)]).await;
    let event = reader.event().await;
    assert!(event.id.starts_with("10:1:5.0.other_fees_collected,137:1:"), "{}", event.id);
    collect(&app, &[&fees], 0, (2, 2), &[(2, 0)]).await;
    let mut again = Reader::resume(&app, STREAM, &event.id).await;
    assert_eq!(again.event().await.place(), (2, 0));
    let mut one = Reader::resume(&app, &format!("{STREAM}?index=fees"), &event.id).await;
    assert_eq!(one.event().await.place(), (2, 0));
}

#[tokio::test]
async fn messages_that_were_forgotten_are_owned_up_to() {
    let (app, fees) = app().await;
    app.store.register_sink(&sink("s"), SinkStart::Beginning).await.unwrap();
    for block in 1..=5 {
        collect(&app, &[&fees], 0, (block, block), &[(block, 0), (block, 1)]).await;
    }
    let claimed = app.store.claim_messages(&delivery("s", "w", 10)).await.unwrap();
    app.store.mark_delivered(claimed[0].hold, 3).await.unwrap();
    assert_eq!(app.store.prune_outbox(100).await.unwrap(), 3);
    for (id, from) in [("137:1:end", 2), ("137:2:2.0.fees_fees_collected", 2), ("137:0:end", 1)] {
        let mut reader = Reader::resume(&app, STREAM, id).await;
        let gap = reader.event().await;
        assert_eq!((gap.kind.as_str(), gap.id.as_str()), ("gap", "137:3:end"), "{id}");
        assert_eq!(gap.data, json!({"chain": 137, "from_seq": from, "to_seq": 3}), "{id}");
        assert_eq!(reader.event().await.place(), (4, 0), "{id}");
    }
    for id in ["137:3:end", "137:4:4.0.fees_fees_collected"] {
        let event = Reader::resume(&app, STREAM, id).await.event().await;
        assert_eq!((event.kind.as_str(), event.place().0), ("added", 4), "{id}");
    }
    let mut oldest = Reader::open(&app, &format!("{STREAM}?start=oldest")).await;
    assert_eq!(oldest.event().await.place(), (4, 0));
}

#[tokio::test]
async fn a_stream_is_woken_before_its_time() {
    let app = App::with(|options, _| options.stream_interval = Duration::from_secs(3_600)).await;
    let fees = fees_table(&*app.store).await;
    let mut reader = Reader::open(&app, STREAM).await;
    collect(&app, &[&fees], 0, (1, 1), &[(1, 0)]).await;
    assert_eq!(reader.event().await.place(), (1, 0));
}
