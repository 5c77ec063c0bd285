//! Events and retractions as they come, as server-sent events.
//!
//! | event | data |
//! | --- | --- |
//! | `added` | a row that was collected, with its chain, index, event and table |
//! | `removed` | rows of a chain are taken back: from a block on, as the chain was reorganised, or of the blocks up to `to_block` alone, which are collected anew |
//! | `gap` | messages were forgotten before this reader came for them: read the rows by page |
//! | `failed` | the stream ends, and why (browsers have an `error` of their own) |
//!
//! The id of every event says exactly where the stream is. A reader that comes back
//! with it gets what it has not seen, once: browsers and most libraries send it as
//! `Last-Event-ID` by themselves. An id of another chain or database is refused; one whose
//! messages were forgotten is answered with a `gap`. A chain that the id does not name has
//! joined since, and is told from its first message.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `position` | the ids |
//! | `wanted` | which tables a stream tells of |
//! | `begin`, `tail` | where a stream begins, and whose an id is |
//! | `message` | what the outbox says |
//! | `removals` | what was taken back meanwhile, and the rule for it |
//! | `rows` | the rows of a message |
//! | `told` | what a reader is told |
//! | `feed` | the loop |
//! | `gap` | whether it really goes on where its reader was |

mod begin;
mod feed;
mod gap;
mod message;
mod position;
mod removals;
mod rows;
mod tail;
#[cfg(test)]
mod tests;
mod told;
mod wanted;

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, HeaderName};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use tokio::sync::mpsc;
use windlass_core::store::{Outbox, Tables};

use self::begin::{bad_id, chain_feeds};
use self::feed::Feed;
use self::position::{Position, read_all};
use self::told::Told;
use self::wanted::Wanted;
use crate::error::{ApiError, ApiResult, ErrorBody, ErrorCode};
use crate::extract::Pairs;
use crate::limits::STREAM_BUFFER;
use crate::state::ApiState;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells a proxy in between not to collect events before it passes them on.
const UNBUFFERED: [(HeaderName, &str); 1] = [(HeaderName::from_static("x-accel-buffering"), "no")];
const OWN: [&str; 4] = ["index", "event", "start", "last_event_id"];

/// What is asked of a stream.
#[derive(Debug, Default)]
struct StreamQuery {
    wanted: Wanted,
    is_from_oldest: bool,
    resume: Option<Vec<Position>>,
}

/// Streams events and retractions as they come.
///
/// Events: `added` (a row), `removed` (rows of a chain from a block on, or up to
/// `to_block`, are taken back), `gap` (messages were forgotten before they were read), `failed` (the end).
#[utoipa::path(get, path = "/api/v1/stream", tag = "events",
    params(
        ("index" = Option<String>, Query, description = "only events of this index"),
        ("event" = Option<String>, Query, description = "only this event of the index"),
        ("start" = Option<String>, Query, description = "`now` (default), or `oldest`: with what is kept"),
        ("last_event_id" = Option<String>, Query, description = "the same, for clients that cannot set the header"),
        ("Last-Event-ID" = Option<String>, Header, description = "where to go on: the last id that was seen; that of another chain or database is refused"),
    ),
    responses(
        (status = 200, description = "events, without end", body = String, content_type = "text/event-stream"),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 404, description = "there is no such index or event", body = ErrorBody),
        (status = 503, description = "too many streams are open, or the database does not answer", body = ErrorBody),
    ))]
pub(crate) async fn stream(
    State(state): State<ApiState>,
    headers: HeaderMap,
    Pairs(pairs): Pairs,
) -> ApiResult<Response> {
    let query = StreamQuery::read(&headers, pairs)?;
    let room = Arc::clone(&state.streams).try_acquire_owned();
    let room = room.map_err(|_| ApiError::new(ErrorCode::Overloaded, "too many streams are open"))?;
    let chains = chain_feeds(state.store(), &query).await?;
    let (outlet, mut events) = mpsc::channel::<Told>(STREAM_BUFFER);
    let feed = Feed {
        outbox: Arc::clone(&state.parts.store) as Arc<dyn Outbox>,
        tables: Arc::clone(&state.parts.store) as Arc<dyn Tables>,
        wake: Arc::clone(&state.parts.wake),
        interval: state.options.stream_interval,
        stall: state.options.stall,
        wanted: query.wanted,
        chains,
        outlet,
        is_told: false,
    };
    let stop = state.stop.clone();
    state.tasks.spawn(async move {
        stop.run_until_cancelled(feed.run()).await;
        drop(room);
    });
    let sent = |told: Told| Ok::<Event, Infallible>(told.into());
    let events = stream::poll_fn(move |context| events.poll_recv(context).map(|told| told.map(sent)));
    let alive = KeepAlive::new().interval(state.options.heartbeat);
    Ok((UNBUFFERED, Sse::new(events).keep_alive(alive)).into_response())
}

impl StreamQuery {
    fn read(headers: &HeaderMap, pairs: Vec<(String, String)>) -> ApiResult<Self> {
        let mut query = Self::default();
        let mut resume = None;
        let mut given: Vec<String> = Vec::new();
        for (name, value) in pairs {
            if given.contains(&name) {
                return Err(ApiError::invalid(&name, "it is given twice"));
            }
            given.push(name.clone());
            match (name.as_str(), value.as_str()) {
                ("index", _) => query.wanted.index = Some(value),
                ("event", _) => query.wanted.event = Some(value),
                ("last_event_id", _) => resume = Some(value),
                ("start", "now" | "oldest") => query.is_from_oldest = value == "oldest",
                ("start", _) => return Err(ApiError::invalid("start", "it is `now` or `oldest`")),
                _ => {
                    let told = format!("parameter `{name}` is not known");
                    return Err(ApiError::new(ErrorCode::UnknownParameter, told).nearest(&name, OWN));
                }
            }
        }
        let header = headers.get(LAST_EVENT_ID).map(|value| String::from_utf8_lossy(value.as_bytes()).into());
        let resume: Option<String> = header.or(resume).filter(|id: &String| !id.is_empty());
        query.resume =
            resume.map(|id| read_all(&id).ok_or_else(|| bad_id("this is not an id"))).transpose()?;
        Ok(query)
    }
}
