//! Many clients at once: each gets its answer, or 503 and when to come back.

use futures_util::future::join_all;
use reqwest::Response;
use serde_json::json;

use crate::app::App;
use crate::database::{Database, Kind};
use crate::rows::{fees_table, store_fees};

/// So many clients ask at once: more than are answered at once, and more than there is room
/// for streams.
const CLIENTS: u64 = 200;

/// What a client asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask {
    Fees,
    Events,
    Sum,
    GraphQl,
    Table,
    Stream,
}

pub(super) const EVERYTHING: [Ask; 6] =
    [Ask::Fees, Ask::Events, Ask::Sum, Ask::GraphQl, Ask::Table, Ask::Stream];

impl Ask {
    pub(super) async fn send(self, app: &App, client: u64) -> Response {
        let path = match self {
            Self::Fees => format!("/fees?limit=10&page={}", 1 + client),
            Self::Events => "/api/v1/events/fees/FeesCollected?limit=10".to_owned(),
            Self::Sum => "/api/v1/events/fees/FeesCollected/sum?column=lifiFee&by=integrator".to_owned(),
            Self::Stream => "/api/v1/stream".to_owned(),
            Self::GraphQl => return ask(app, "{ count(index: \"fees\", event: \"FeesCollected\") }").await,
            Self::Table => return ask(app, "{ feesFeesCollecteds(limit: 10) { items { token } } }").await,
        };
        app.client.get(app.url(&path)).send().await.unwrap()
    }
}

/// Asks in GraphQL.
async fn ask(app: &App, query: &str) -> Response {
    let request = app.client.post(app.url("/graphql")).header("content-type", "application/json");
    request.body(json!({ "query": query }).to_string()).send().await.unwrap()
}

/// Status and body of an answer that is 200, or 503 and says why and when to come back.
pub(super) async fn answered(ask: Ask, response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let retry_after = response.headers().get("retry-after").map(|wait| wait.to_str().unwrap().to_owned());
    // A stream has no end.
    if status == 200 && matches!(ask, Ask::Stream) {
        return (status, String::new());
    }
    let body = response.text().await.unwrap();
    match status {
        200 => assert!(!body.contains("\"errors\""), "{ask:?}: {body}"),
        503 => {
            let wait_s: u64 = retry_after.expect("a time to come back").parse().unwrap();
            assert!(wait_s >= 1 && body.contains("error"), "{ask:?}: {body}");
        }
        _ => panic!("{ask:?}: {status}: {body}"),
    }
    (status, body)
}

pub(super) async fn two_hundred_clients_get_their_answer_or_a_time_to_come_back(kind: Kind) {
    let app = App::on(Database::shared(kind).await, |_, _| {}).await;
    let table = fees_table(&*app.store).await;
    let places: Vec<_> = (0..5_000).map(|row| (row / 5, (row % 5) as u32)).collect();
    store_fees(&*app.store, &table, &places).await;
    for ask in EVERYTHING {
        let clients = (0..CLIENTS).map(async |client| {
            let response = ask.send(&app, client).await;
            answered(ask, response).await.0
        });
        let answers = join_all(clients).await;
        assert!(answers.contains(&200), "{ask:?}: nobody was answered");
    }
}

pub(super) async fn clients_beyond_the_queue_are_told_to_come_back(kind: Kind) {
    let app = App::with(kind, |options, _| {
        options.concurrent_requests = 0;
        options.queue_timeout = std::time::Duration::ZERO;
    })
    .await;
    for ask in EVERYTHING {
        let (status, body) = answered(ask, ask.send(&app, 0).await).await;
        assert_eq!(status, 503, "{ask:?}");
        assert!(body.contains("too many requests at once"), "{ask:?}: {body}");
    }
}
