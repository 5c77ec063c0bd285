//! JSON-RPC over HTTP, with the faults that only HTTP and TCP can have.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension, Router,
    body::Body,
    extract::{
        DefaultBodyLimit, FromRequest, Request, State,
        ws::{WebSocketUpgrade, rejection::WebSocketUpgradeRejection},
    },
    http::{
        Response, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER},
    },
    middleware,
    response::IntoResponse,
    routing::{get, post},
};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::{
    connection::Link,
    dispatch::Dispatcher,
    door::{self, Door},
    envelope::Payload,
    reply::Reply,
    wire::ResetSwitch,
    ws,
};
use crate::{faults::WireFault, node::RpcError};

/// The largest request, as in geth.
pub const MAX_BODY_BYTES: usize = 5 << 20;

/// How long a client may take to send a body; geth's read timeout.
pub const MAX_BODY_READ_MS: u64 = 30_000;

const GREETING: &str = "a development chain: POST JSON-RPC to /, or open a WebSocket at / or /ws\n";

/// Every route of the server.
pub(super) fn router(dispatcher: Arc<Dispatcher>, door: Door) -> Router {
    Router::new()
        .route("/", post(call).get(upgrade_or_greet))
        .route("/ws", get(upgrade_or_greet))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(door, door::check))
        .with_state(dispatcher)
}

async fn upgrade_or_greet(
    State(dispatcher): State<Arc<Dispatcher>>,
    Extension(link): Extension<Link>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response<Body> {
    match upgrade {
        Ok(upgrade) => upgrade
            .max_message_size(MAX_BODY_BYTES)
            .on_upgrade(move |socket| ws::serve(socket, dispatcher, link)),
        Err(_) => GREETING.into_response(),
    }
}

/// Reads a body, then answers it. A client that leaves meanwhile ends this at the next wait.
async fn call(
    State(dispatcher): State<Arc<Dispatcher>>,
    Extension(link): Extension<Link>,
    request: Request,
) -> Response<Body> {
    let limit = Duration::from_millis(MAX_BODY_READ_MS);
    match tokio::time::timeout(limit, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => answer(&dispatcher, &link, &body).await,
        Ok(Err(rejection)) => rejection.into_response(),
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}

async fn answer(dispatcher: &Dispatcher, link: &Link, body: &[u8]) -> Response<Body> {
    let under_way = link.call();
    let admitted = dispatcher.admit(Payload::read(body));
    dispatcher.wait(admitted.delay()).await;
    let Some(fault) = admitted.wire() else {
        let (reply, status) = dispatcher.reply(&admitted, None).await;
        return full(reply, status, Some(under_way));
    };
    dispatcher.happened(fault.kind());
    match fault {
        WireFault::TooManyRequests { retry_after_s } | WireFault::RateLimited { retry_after_s } => {
            too_many_requests(retry_after_s)
        }
        WireFault::ServerError { status } => server_error(status),
        WireFault::Truncate => truncated(dispatcher.reply(&admitted, None).await.0),
        WireFault::Reset => cut_off(&link.reset),
        WireFault::TimeOut { hold } => {
            dispatcher.sleep(hold).await;
            cut_off(&link.reset)
        }
    }
}

/// The connection breaks before a byte of this response is written.
fn cut_off(reset: &ResetSwitch) -> Response<Body> {
    reset.trip();
    Response::default()
}

/// The call is under way until the last piece is taken.
fn full(reply: Reply, status: u16, under_way: Option<TaskTrackerToken>) -> Response<Body> {
    if reply.is_empty() {
        return Response::default();
    }
    let len = reply.len();
    let pieces = stream::iter(reply.into_pieces()).map(move |piece| {
        let _ = &under_way;
        Ok::<Bytes, Infallible>(piece)
    });
    json(status, len, Body::from_stream(pieces))
}

/// Promises the whole, sends half, and breaks off.
fn truncated(reply: Reply) -> Response<Body> {
    let whole = reply.into_bytes();
    let half = whole.slice(..whole.len() / 2);
    let broken_off = async {
        // What was queued is written while the body is not ready.
        tokio::task::yield_now().await;
        Err(std::io::Error::other("a truncated body was asked for"))
    };
    let body = stream::iter([Ok(half)]).chain(stream::once(broken_off));
    json(200, whole.len(), Body::from_stream(body))
}

fn json(status: u16, len: usize, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("plain ASCII"));
    response.headers_mut().insert(CONTENT_LENGTH, len.into());
    response
}

fn too_many_requests(retry_after_s: Option<u32>) -> Response<Body> {
    let mut reply = Reply::default();
    reply.push(None, Err(RpcError::new(429, "Too Many Requests")));
    let mut response = full(reply, 429, None);
    if let Some(seconds) = retry_after_s {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

fn server_error(status: u16) -> Response<Body> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, format!("<html><body><h1>{status}</h1></body></html>\n")).into_response()
}
