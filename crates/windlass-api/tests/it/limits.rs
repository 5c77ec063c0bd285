//! What never exceeds what, and who may come in.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use windlass_api::limits::MAX_QUERY_BYTES;
use windlass_api::ports::{IndexProgress, ProgressSource};
use windlass_api::{Api, ApiOptions, ApiParts, BindError};
use windlass_core::code::Code;

use crate::app::{App, free_port};
use crate::database::Kind;

#[tokio::test]
async fn an_address_that_is_taken_is_told_at_once() {
    let app = App::spawn(Kind::Sqlite).await;
    let parts = ApiParts::new(app.store.clone());
    let listen = app.url.strip_prefix("http://").unwrap().parse().unwrap();
    let error = Api::bind(ApiOptions { listen, ..free_port() }, parts).await.err().unwrap();
    assert!(matches!(error, BindError::Listen { .. }), "{error}");
    assert_eq!(error.code(), Code::ListenFailed);
}

#[tokio::test]
async fn another_address_than_loopback_has_to_be_allowed() {
    let app = App::spawn(Kind::Sqlite).await;
    let open = ApiOptions { listen: (Ipv4Addr::UNSPECIFIED, 0).into(), ..free_port() };
    let refused = Api::bind(open.clone(), ApiParts::new(app.store.clone())).await.err().unwrap();
    assert!(matches!(refused, BindError::Remote { .. }), "{refused}");
    let allowed = ApiOptions { allow_remote: true, ..open };
    assert!(Api::bind(allowed, ApiParts::new(app.store.clone())).await.is_ok());
}

#[tokio::test]
async fn more_requests_than_there_is_room_for_are_told_to_come_back() {
    let app = App::with(Kind::Sqlite, |options, _| {
        (options.concurrent_requests, options.queue_timeout) = (0, Duration::ZERO);
    })
    .await;
    let response = app.client.get(app.url("/api/v1/indexes")).send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    let body: serde_json::Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!(body["error"]["code"], "overloaded");
    assert_eq!(app.text("/healthz").await.0, 200);
}

/// Somebody who never answers.
struct Silent;

#[async_trait]
impl ProgressSource for Silent {
    async fn progress(&self) -> Vec<IndexProgress> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn an_answer_that_takes_too_long_is_given_up() {
    let app = App::with(Kind::Sqlite, |options, parts| {
        options.request_timeout = Duration::from_millis(5);
        parts.progress = Some(Arc::new(Silent));
    })
    .await;
    let (status, body) = app.get("/api/v1/indexes").await;
    assert_eq!((status, &body["error"]["code"]), (504, &json!("timeout")));
}

#[tokio::test]
async fn bodies_queries_and_methods_are_bounded() {
    let app = App::spawn(Kind::Sqlite).await;
    let (status, body) = app.get(&format!("/api/v1/indexes?{}", "x".repeat(MAX_QUERY_BYTES + 1))).await;
    assert_eq!((status, &body["error"]["code"]), (414, &json!("uri_too_long")));
    let large = format!("{{\"query\":\"{}\"}}", " ".repeat(70_000));
    let (status, body) = app.post("/graphql", "application/json", large).await;
    assert_eq!(status, 413, "{body}");
    assert!(body.contains("body_too_large"), "{body}");
    let (status, body) = app.post("/api/v1/indexes", "application/json", "{}".into()).await;
    assert_eq!(status, 405, "{body}");
    assert!(body.contains("method_not_allowed"), "{body}");
}

/// As many clients as requests are answered at once send the beginning of a body, and no more.
#[tokio::test]
async fn who_sends_a_body_slowly_holds_up_nobody() {
    let app = App::with(Kind::Sqlite, |options, _| {
        (options.concurrent_requests, options.queue_timeout) = (2, Duration::ZERO);
        options.body_timeout = Duration::from_millis(300);
    })
    .await;
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n";
    let slow = format!("{head}content-length: 60000\r\n\r\n{{");
    let (answers, ()) = tokio::join!(
        async { tokio::join!(app.raw(slow.as_bytes()), app.raw(slow.as_bytes()), app.raw(slow.as_bytes())) },
        async {
            for _ in 0..20 {
                assert_eq!(app.get("/api/v1/indexes").await.0, 200);
            }
        }
    );
    for answer in [answers.0, answers.1, answers.2] {
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("body_timeout"), "{answer}");
    }
    let huge = format!("{head}content-length: 99999999\r\n\r\n");
    let answer = app.raw(huge.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("body_too_large"), "{answer}");
}

/// Connections on which nothing is ever sent, as many as there may be.
#[tokio::test]
async fn who_sends_nothing_is_sent_away_soon_where_there_is_little_room() {
    let app = App::with(Kind::Sqlite, |options, _| options.connections = 8).await;
    let address = app.url.strip_prefix("http://").unwrap().to_owned();
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.push(tokio::net::TcpStream::connect(&address).await.unwrap());
    }
    let answered = tokio::time::timeout(Duration::from_secs(20), app.text("/healthz")).await;
    assert_eq!(answered.expect("long before a minute is over").0, 200);
}

#[tokio::test]
async fn pages_of_other_origins_read_nothing_unless_told() {
    let ask = async |app: &App| {
        let request = app.client.get(app.url("/api/v1/indexes")).header("origin", "https://a.example");
        request.send().await.unwrap().headers().get("access-control-allow-origin").cloned()
    };
    assert_eq!(ask(&App::spawn(Kind::Sqlite).await).await, None);
    let of = async |origin: &str| {
        let origins = vec![origin.to_owned()];
        ask(&App::with(Kind::Sqlite, |options, _| options.cors_origins = origins).await).await
    };
    assert_eq!(of("https://a.example").await.unwrap(), "https://a.example");
    assert_eq!(of("*").await.unwrap(), "*");
    assert_eq!(of("https://b.example").await, None);
    let app = App::spawn(Kind::Sqlite).await;
    for origin in ["a.example", "https://a.example/", "ftp://a.example", "https://"] {
        let options = ApiOptions { cors_origins: vec![origin.to_owned()], ..free_port() };
        let refused = Api::bind(options, ApiParts::new(app.store.clone())).await;
        assert!(matches!(refused, Err(BindError::Origin { .. })), "{origin}");
    }
}

#[tokio::test]
async fn stopping_finishes_and_lets_the_port_go() {
    let app = App::spawn(Kind::Sqlite).await;
    assert_eq!(app.text("/healthz").await.0, 200);
    app.stop.cancel();
    let mut app = app;
    (&mut app.task).await.unwrap();
    // Not by listening there again: another test may have been given the port meanwhile.
    let gone = app.client.get(app.url("/healthz")).send().await.unwrap_err();
    assert!(gone.is_connect(), "{gone:?}");
}
