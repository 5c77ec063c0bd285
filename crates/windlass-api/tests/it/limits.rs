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
