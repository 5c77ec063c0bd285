//! Alive, ready, measured.

use std::sync::Arc;

use async_trait::async_trait;
use metrics_exporter_prometheus::PrometheusBuilder;
use serde_json::json;
use windlass_api::ports::{Readiness, Reason};
use windlass_core::code::Code;

use crate::app::App;
use crate::database::Kind;

#[tokio::test]
async fn the_root_says_that_it_runs() {
    let app = App::spawn(Kind::Sqlite).await;
    let response = app.client.get(app.url("/")).send().await.unwrap();
    assert!(response.headers()["content-type"].to_str().unwrap().starts_with("text/plain"));
    assert_eq!((response.status().as_u16(), response.text().await.unwrap().as_str()), (200, "Api Running"));
    assert_eq!(app.text("/healthz").await, (200, "ok".to_owned()));
}

struct Stopped;

#[async_trait]
impl Readiness for Stopped {
    async fn reasons(&self) -> Vec<Reason> {
        let message = "block 7 was replaced".to_owned();
        vec![Reason { code: Code::FinalityViolated, message, subject: "polygon".to_owned() }]
    }
}

#[tokio::test]
async fn readiness_names_every_reason() {
    let app = App::spawn(Kind::Sqlite).await;
    assert_eq!(app.get("/readyz").await, (200, json!({"ready": true, "reasons": []})));
    let app = App::with(Kind::Sqlite, |_, parts| parts.readiness = Some(Arc::new(Stopped))).await;
    let reason = json!({"code": "W0206", "message": "block 7 was replaced", "subject": "polygon"});
    assert_eq!(app.get("/readyz").await, (503, json!({"ready": false, "reasons": [reason]})));
}

#[tokio::test]
async fn a_store_that_is_gone_is_a_reason_and_no_answer_shows_why() {
    let app = App::spawn(Kind::Sqlite).await;
    app.store.close().await;
    let (status, body) = app.get("/readyz").await;
    assert_eq!((status, &body["reasons"][0]["subject"]), (503, &json!("store")));
    let (status, body) = app.get("/api/v1/indexes").await;
    assert_eq!((status, &body["error"]["code"]), (503, &json!("unavailable")));
    assert_eq!(app.text("/healthz").await.0, 200);
}

#[tokio::test]
async fn metrics_are_shown_where_they_are_kept() {
    let app = App::spawn(Kind::Sqlite).await;
    let (status, body) = app.get("/metrics").await;
    assert_eq!((status, &body["error"]["code"]), (404, &json!("not_found")));
    let recorder = PrometheusBuilder::new().build_recorder();
    let app = App::with(Kind::Sqlite, |_, parts| parts.metrics = Some(recorder.handle())).await;
    // The server runs on this very thread.
    let _kept = metrics::set_default_local_recorder(&recorder);
    app.get("/api/v1/events/no/such").await;
    let (status, text) = app.text("/metrics").await;
    assert_eq!(status, 200);
    let counted = r#"windlass_http_requests_total{path="/api/v1/events/{index}/{event}",status="404"} 1"#;
    assert!(text.contains(counted), "{text}");
}
