//! What is refused before it is a request, and readers that do not read.

use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use windlass_api::ApiOptions;
use windlass_api::limits::MAX_QUERY_BYTES;
use windlass_core::commit::Write;

use crate::app::App;
use crate::database::Kind;
use crate::rows::{commit, fee_rows, fees_table, message};

/// A server that hangs has failed its test.
const PATIENCE: Duration = Duration::from_secs(30);

/// The status, and the error's code, of what the server says last.
async fn refused(app: &App, request: &str) -> (u16, String) {
    let answer = app.raw(request.as_bytes()).await;
    let (heads, body) = answer.rsplit_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    let head = &heads[heads.rfind("HTTP/1.").unwrap()..];
    assert!(head.contains("content-type: application/json"), "{answer}");
    assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
    let body: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"));
    assert!(body["error"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body["error"]["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn every_refusal_has_a_body() {
    let app = App::spawn(Kind::Sqlite).await;
    let local = "host: localhost\r\nconnection: close\r\n";
    let of = |code: &str, status: u16| (status, code.to_owned());
    for bytes in [MAX_QUERY_BYTES + 1, 65_000, 70_000, 200_000] {
        let request = format!("GET /healthz?{} HTTP/1.1\r\n{local}\r\n", "x".repeat(bytes));
        assert_eq!(refused(&app, &request).await, of("uri_too_long", 414), "{bytes}");
    }
    let path = format!("GET /{} HTTP/1.1\r\n{local}\r\n", "x".repeat(70_000));
    assert_eq!(refused(&app, &path).await, of("uri_too_long", 414));
    let many: String = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect();
    let many = format!("GET /healthz HTTP/1.1\r\n{local}{many}\r\n");
    assert_eq!(refused(&app, &many).await, of("headers_too_large", 431));
    let long = format!("GET /healthz HTTP/1.1\r\n{local}x: {}\r\n\r\n", "x".repeat(1_000_000));
    assert_eq!(refused(&app, &long).await, of("headers_too_large", 431));
    for garbage in ["nonsense\r\n\r\n", "GET / HTTP/9\r\n\r\n", "G@T / HTTP/1.1\r\n\r\n"] {
        assert_eq!(refused(&app, garbage).await, of("invalid_request", 400), "{garbage:?}");
    }
    let missing = format!("GET /none HTTP/1.1\r\n{local}\r\n");
    assert_eq!(refused(&app, &missing).await, of("not_found", 404));
    let method = format!("DELETE /healthz HTTP/1.1\r\n{local}\r\n");
    assert_eq!(refused(&app, &method).await, of("method_not_allowed", 405));
    let body = format!("POST /graphql HTTP/1.1\r\n{local}content-type: application/json\r\n");
    let large = format!("{body}content-length: 70000\r\n\r\n{}", " ".repeat(70_000));
    assert_eq!(refused(&app, &large).await, of("body_too_large", 413));
    let chunked =
        format!("{body}transfer-encoding: chunked\r\n\r\n11170\r\n{}\r\n0\r\n\r\n", " ".repeat(70_000));
    assert_eq!(refused(&app, &chunked).await, of("body_too_large", 413));
}

/// The refusal comes behind an answer that was given before it on the same connection.
#[tokio::test]
async fn a_refusal_leaves_the_answer_before_it_alone() {
    let app = App::spawn(Kind::Sqlite).await;
    let good = "GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let bad = format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(70_000));
    let answer = app.raw(format!("{good}{good}{bad}").as_bytes()).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    assert!(answer.contains("\r\n\r\nokHTTP/1.1 200 OK"), "{answer}");
    assert!(answer.contains("\r\n\r\nokHTTP/1.1 414 URI Too Long"), "{answer}");
    assert!(answer.ends_with("}}"), "{answer}");
}

/// A body that never comes is not waited for as long as an answer may take.
#[tokio::test]
async fn a_body_that_does_not_come_is_given_up() {
    let app = App::with(Kind::Sqlite, |options, _| options.body_timeout = Duration::from_millis(50)).await;
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                content-type: application/json\r\ncontent-length: 100\r\n\r\n";
    let answered = tokio::time::timeout(PATIENCE, refused(&app, head)).await.expect("an answer");
    assert_eq!(answered, (408, "body_timeout".to_owned()));
}

/// An app whose rows are more than a socket holds.
async fn full_app(change: impl FnOnce(&mut ApiOptions)) -> App {
    let app = App::with(Kind::Sqlite, |options, _| change(options)).await;
    let table = fees_table(&*app.store).await;
    for part in 0..20 {
        let places: Vec<_> = (0..1_000).map(|log_index| (1 + part, log_index)).collect();
        let told = message("events.added", 137, 0, 1 + part, 1 + part);
        commit(&*app.store, vec![Write::Rows(fee_rows(&table, &places, 1)), told]).await;
    }
    app
}

/// Whoever asks for more than it takes gives its place to others.
#[tokio::test]
async fn a_reader_that_does_not_read_loses_its_connection() {
    let app = full_app(|options| {
        options.connections = 1;
        options.stall = Duration::from_millis(50);
    })
    .await;
    let page = "GET /api/v1/events/fees/FeesCollected?limit=1000 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for request in
        [page.repeat(40), "GET /api/v1/stream?start=oldest HTTP/1.1\r\nhost: localhost\r\n\r\n".into()]
    {
        let mut greedy = app.connect().await;
        greedy.write_all(request.as_bytes()).await.unwrap();
        let answered = tokio::time::timeout(PATIENCE, app.text("/healthz")).await;
        assert_eq!(answered.expect("a free place").0, 200);
        drop(greedy);
    }
}

/// A stream that nobody reads holds up no other.
#[tokio::test]
async fn readers_of_streams_do_not_wait_for_each_other() {
    let app = full_app(|_| {}).await;
    let stream = "/api/v1/stream?start=oldest";
    let mut idle = Vec::new();
    for _ in 0..5 {
        let mut one = app.connect().await;
        one.write_all(format!("GET {stream} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.unwrap();
        idle.push(one);
    }
    let mut response = app.client.get(app.url(stream)).send().await.unwrap();
    let (mut told, mut heard) = (0, String::new());
    while told < 20_000 {
        let chunk = tokio::time::timeout(PATIENCE, response.chunk()).await.expect("more in time");
        heard.push_str(std::str::from_utf8(&chunk.unwrap().expect("a stream without end")).unwrap());
        told += heard.matches(ADDED).count();
        // What is cut off here goes on with the next chunk.
        heard.drain(..(heard.len() + 1).saturating_sub(ADDED.len()));
    }
}

const ADDED: &str = "event: added";
