//! What stands around every handler: who comes in, room, time, and the count of what was
//! answered.

use std::any::Any;
use std::time::Instant;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequest, MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use windlass_core::error::StoreError;

use crate::error::{ApiError, ErrorCode};
use crate::limits::{MAX_BODIES_KIB, MAX_QUERY_BYTES};
use crate::state::ApiState;

/// What to do when a question took too long.
const SLOW_QUESTION: &str = "ask for fewer rows, or narrow the blocks down with `block.gte` and `block.lt`";
/// What to do when a command, or a question in GraphQL, did.
const SLOW_COMMAND: &str = "ask for fewer rows; ask for a payout once more with the same idempotency key";

/// Lets in what is made under a name that is answered here, and short enough.
pub(crate) async fn admit(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    if !state.hosts.admit(&request) {
        return ApiError::new(
            ErrorCode::UnknownHost,
            "nothing is served here under the host of this request",
        )
        .hint("ask for localhost, or list the host in `api.hosts`")
        .into_response();
    }
    if request.uri().query().is_some_and(|query| query.len() > MAX_QUERY_BYTES) {
        return ApiError::uri_too_long().into_response();
    }
    next.run(request).await
}

/// Has the whole body before a request has its turn: who sends slowly, or nothing, holds up
/// nobody else.
pub(crate) async fn whole_body(
    State((state, max_bytes)): State<(ApiState, u64)>,
    request: Request,
    next: Next,
) -> Response {
    let (parts, body) = request.into_parts();
    if body.is_end_stream() {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let too_long = || ApiError::new(ErrorCode::BodyTooLarge, format!("a body has at most {max_bytes} bytes"));
    if body.size_hint().lower() > max_bytes {
        return too_long().into_response();
    }
    // All bodies together have a bound as well, whoever sends them.
    let bytes = body.size_hint().upper().unwrap_or(max_bytes).min(max_bytes);
    let kib = u32::try_from(bytes / 1_024 + 1).unwrap_or(MAX_BODIES_KIB).min(MAX_BODIES_KIB);
    let whole = Request::from_parts(parts.clone(), body);
    let reading = async {
        // It is never closed.
        let room = state.bodies.acquire_many(kib).await.ok();
        Bytes::from_request(whole, &()).await.map(|bytes| (bytes, room))
    };
    let refused = match tokio::time::timeout(state.options.body_timeout, reading).await {
        Ok(Ok((bytes, _room))) => return next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Ok(Err(error)) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => too_long(),
        Ok(Err(error)) => ApiError::new(ErrorCode::InvalidBody, error.body_text()),
        Err(_) => ApiError::new(ErrorCode::BodyTimeout, "the body did not come in time")
            .hint("send it at once, with the request's head"),
    };
    refused.into_response()
}

/// Answers only as many requests at once as there is room for, and each within its time; no
/// longer than the store answers at all. A stream's answer begins at once, so its length is
/// not bounded by this. A command that is given up may have been carried out all the same.
pub(crate) async fn bound(State(state): State<ApiState>, request: Request, next: Next) -> Response {
    let _permit = match state.requests.enter().await {
        Ok(permit) => permit,
        Err(refused) => return refused.into_response(),
    };
    let hint = if request.method() == Method::POST { SLOW_COMMAND } else { SLOW_QUESTION };
    let answer = tokio::time::timeout(state.options.request_timeout, next.run(request));
    tokio::select! {
        answer = answer => answer.unwrap_or_else(|_| {
            ApiError::new(ErrorCode::Timeout, "the answer took too long").hint(hint).into_response()
        }),
        lost = store_lost(&state) => lost.into_response(),
    }
}

/// Returns once the store does not answer. A store that is busy does.
async fn store_lost(state: &ApiState) -> ApiError {
    loop {
        tokio::time::sleep(state.options.store_check_interval).await;
        match tokio::time::timeout(state.options.store_check_timeout, state.store().now()).await {
            Ok(Ok(_) | Err(StoreError::Busy)) => {}
            Ok(Err(error)) => return error.into(),
            Err(_) => return ApiError::new(ErrorCode::Unavailable, "the database does not answer"),
        }
    }
}

/// Counts requests by path and status, and measures how long they took to begin an answer.
pub(crate) async fn measure(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let path = request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned());
    let response = next.run(request).await;
    let path = path.unwrap_or_else(|| "unknown".to_owned());
    let status = response.status().as_u16().to_string();
    metrics::counter!("windlass_http_requests_total", "path" => path.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("windlass_http_request_seconds", "path" => path)
        .record(begun.elapsed().as_secs_f64());
    response
}

/// A handler that panicked: its request is answered, and the others go on.
pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Response {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    ApiError::internal(format!("a handler panicked: {}", text.unwrap_or("without words"))).into_response()
}
