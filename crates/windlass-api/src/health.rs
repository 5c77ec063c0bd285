//! Is it alive, is it ready, and how it fares in numbers.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::code::Code;

use crate::error::{ApiError, ErrorBody, ErrorCode};
use crate::limits::MAX_LISTED_REASONS;
use crate::ports::Reason;
use crate::state::ApiState;

/// How long the store may take to say that it is there.
const MAX_STORE_ANSWER_MS: u64 = 2_000;
const TEXT: &str = "text/plain; charset=utf-8";
/// The text format of Prometheus, in its version.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Shows that the API is there.
#[utoipa::path(get, path = "/", tag = "health",
    responses((status = 200, description = "`Api Running`", body = String, content_type = "text/plain")))]
pub(crate) async fn root() -> impl IntoResponse {
    ([(CONTENT_TYPE, TEXT)], "Api Running")
}

/// Shows that the process lives.
#[utoipa::path(get, path = "/healthz", tag = "health",
    responses((status = 200, description = "`ok`", body = String, content_type = "text/plain")))]
pub(crate) async fn healthz() -> impl IntoResponse {
    ([(CONTENT_TYPE, TEXT)], "ok")
}

/// Whether it is ready.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReadyBody {
    ready: bool,
    reasons: Vec<ReasonBody>,
}

/// Why it is not.
#[derive(Debug, Serialize, ToSchema)]
struct ReasonBody {
    /// `windlass explain` knows it.
    code: String,
    message: String,
    subject: String,
}

impl From<Reason> for ReasonBody {
    fn from(reason: Reason) -> Self {
        Self { code: reason.code.to_string(), message: reason.message, subject: reason.subject }
    }
}

/// Says whether all is done that should be: the store answers, every chain that has
/// indexes is collected by some process, its endpoints answer, none is stopped, no range
/// was given up.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses(
        (status = 200, description = "it is", body = ReadyBody),
        (status = 503, description = "it is not, and why", body = ReadyBody),
    ))]
pub(crate) async fn readyz(State(state): State<ApiState>) -> Response {
    let mut reasons: Vec<Reason> = store_reason(&state).await.into_iter().collect();
    if let Some(readiness) = &state.parts.readiness {
        reasons.extend(readiness.reasons().await);
    }
    reasons.truncate(MAX_LISTED_REASONS);
    let ready = reasons.is_empty();
    let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let reasons = reasons.into_iter().map(ReasonBody::from).collect();
    (status, Json(ReadyBody { ready, reasons })).into_response()
}

/// Why the store is not well; a store that takes its time is not.
async fn store_reason(state: &ApiState) -> Option<Reason> {
    let answer = tokio::time::timeout(Duration::from_millis(MAX_STORE_ANSWER_MS), state.store().now()).await;
    let (code, message) = match answer {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => (error.code(), error.to_string()),
        Err(_) => {
            (Code::DatabaseBusy, format!("the database did not answer within {MAX_STORE_ANSWER_MS} ms"))
        }
    };
    Some(Reason { code, message, subject: "store".to_owned() })
}

/// Numbers for Prometheus; 404 where nobody keeps them.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses(
        (status = 200, description = "in the text format of Prometheus", body = String, content_type = "text/plain"),
        (status = 404, description = "no metrics are kept", body = ErrorBody),
    ))]
pub(crate) async fn metrics(State(state): State<ApiState>) -> Response {
    match &state.parts.metrics {
        Some(handle) => ([(CONTENT_TYPE, PROMETHEUS)], handle.render()).into_response(),
        None => ApiError::new(ErrorCode::NotFound, "no metrics are kept").into_response(),
    }
}
