//! PostgreSQL goes away while the API serves, and comes back.

use std::time::Duration;

use futures_util::future::join_all;
use windlass_core::commit::Write;

use super::crowd::{Ask, EVERYTHING, answered};
use super::reader::Reader;
use super::stream::STREAM;
use crate::app::App;
use crate::database::{Database, server_address};
use crate::relay::Relay;
use crate::rows::{POLYGON, commit, fee_rows, fees_table, message, store_fees};

/// So many clients ask while the server is away.
const CLIENTS: u64 = 40;

/// An API whose database is reached through a relay, with one row.
async fn behind_relay() -> (Relay, App) {
    let relay = Relay::start(server_address()).await;
    let database = Database::behind(&relay.address.to_string()).await;
    let app = App::on(database, |options, _| {
        options.store_check_interval = Duration::from_millis(20);
        options.store_check_timeout = Duration::from_millis(200);
        options.stream_interval = Duration::from_millis(20);
    })
    .await;
    let table = fees_table(&*app.store).await;
    store_fees(&*app.store, &table, &[(1, 0)]).await;
    (relay, app)
}

/// Everything that can be asked for, by many at once, says that there is no database.
async fn all_refused(app: &App) {
    for ask in EVERYTHING {
        let clients = (0..CLIENTS).map(async |client| answered(ask, ask.send(app, client).await).await);
        for (status, body) in join_all(clients).await {
            assert_eq!(status, 503, "{ask:?}: {body}");
            assert!(body.contains("database") || body.contains("too many requests"), "{ask:?}: {body}");
        }
    }
    assert_eq!(app.text("/readyz").await.0, 503);
    assert_eq!(app.text("/healthz").await.0, 200);
}

async fn all_answered(app: &App) {
    for ask in EVERYTHING {
        let (status, body) = answered(ask, ask.send(app, 0).await).await;
        assert_eq!(status, 200, "{ask:?}: {body}");
    }
}

#[tokio::test]
async fn a_server_that_is_stopped_is_503_and_serving_goes_on_when_it_is_back() {
    let (mut relay, app) = behind_relay().await;
    all_answered(&app).await;
    let mut reader = Reader::open(&app, STREAM).await;
    relay.close();
    all_refused(&app).await;
    relay.reopen().await;
    all_answered(&app).await;
    // A stream that was open outlasts it.
    let table = fees_table(&*app.store).await;
    commit(
        &*app.store,
        vec![Write::Rows(fee_rows(&table, &[(2, 0)], 1)), message("events.added", POLYGON, 1, 2, 2)],
    )
    .await;
    assert_eq!(reader.event().await.place(), (2, 0));
}

/// Which tables there are was never read: that no field is known would be wrong.
#[tokio::test]
async fn tables_that_were_never_listed_are_503_and_not_unknown() {
    let (mut relay, app) = behind_relay().await;
    relay.close();
    let (status, body) = answered(Ask::Table, Ask::Table.send(&app, 0).await).await;
    assert!(status == 503 && body.contains("unavailable"), "{status}: {body}");
    relay.reopen().await;
    // A machine that is busy may answer the check of the store too late a few times.
    for _ in 0..100 {
        if answered(Ask::Table, Ask::Table.send(&app, 0).await).await.0 == 200 {
            return;
        }
    }
    panic!("the tables are not listed although the server is back");
}

#[tokio::test]
async fn a_server_that_falls_silent_is_503_and_serving_goes_on_when_it_is_back() {
    let (relay, app) = behind_relay().await;
    all_answered(&app).await;
    relay.hold();
    let asked = [Ask::Fees, Ask::Events, Ask::GraphQl, Ask::Table];
    for answer in join_all(asked.map(async |ask| answered(ask, ask.send(&app, 0).await).await)).await {
        assert_eq!(answer.0, 503, "{}", answer.1);
    }
    relay.release();
    all_answered(&app).await;
}
