//! Events and retractions as they come, as server-sent events.
//!
//! | event | data |
//! | --- | --- |
//! | `added` | a row that was collected, with its chain, index, event and table |
//! | `removed` | the rows of a chain from a block on are taken back: the chain was reorganised |
//! | `gap` | messages were forgotten before this reader came for them: read the rows by page |
//! | `failed` | the stream ends, and why (browsers have an `error` of their own) |
//!
//! The id of every event says exactly where the stream is. A reader that comes back
//! with it gets what it has not seen, once: browsers and most libraries send it as
//! `Last-Event-ID` by themselves.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `position` | the ids |
//! | `wanted` | which tables a stream tells of |
//! | `tail` | where a stream begins |
//! | `message` | what the outbox says |
//! | `removals` | what was taken back meanwhile, and the rule for it |
//! | `rows` | the rows of a message |
//! | `told` | what a reader is told |
//! | `feed` | the loop |

mod feed;
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
use windlass_core::chain::ChainId;
use windlass_core::name::Partition;
use windlass_core::store::{Outbox, Store, Tables};

use self::feed::{ChainFeed, Feed};
use self::position::{Position, read_all};
use self::removals::Removals;
use self::tail::{is_ahead, tail};
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
/// Events: `added` (a row), `removed` (rows of a chain from a block on are taken
/// back), `gap` (messages were forgotten before they were read), `failed` (the end).
#[utoipa::path(get, path = "/api/v1/stream", tag = "events",
    params(
        ("index" = Option<String>, Query, description = "only events of this index"),
        ("event" = Option<String>, Query, description = "only this event of the index"),
        ("start" = Option<String>, Query, description = "`now` (default), or `oldest`: with what is kept"),
        ("last_event_id" = Option<String>, Query, description = "for clients that cannot set the header"),
        ("Last-Event-ID" = Option<String>, Header, description = "where to go on: the last id that was seen"),
    ),
    responses(
        (status = 200, description = "events, without end", body = String, content_type = "text/event-stream"),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 404, description = "there is no such index or event", body = ErrorBody),
        (status = 503, description = "too many streams are open", body = ErrorBody),
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
        for (name, value) in pairs {
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

/// Where each chain of a stream begins.
async fn chain_feeds(store: &dyn Store, query: &StreamQuery) -> ApiResult<Vec<ChainFeed>> {
    let mut feeds = Vec::new();
    for chain in query.wanted.chains(store).await? {
        let partition = Partition::new(format!("collect/{chain}")).map_err(ApiError::internal)?;
        let mut resume = query.resume.iter().flatten();
        let (position, is_continuing) = match resume.find(|position| position.chain == chain) {
            Some(position) if is_ahead(store, &partition, position.seq).await? => {
                return Err(bad_id("the id is ahead of all there is"));
            }
            Some(position) => (position.clone(), true),
            None => begin(store, &partition, chain, query.is_from_oldest).await?,
        };
        feeds.push(ChainFeed { partition, position, is_continuing, removals: Removals::default() });
    }
    Ok(feeds)
}

/// Where a chain begins that nobody has read, and whether what is there must follow on it.
async fn begin(
    store: &dyn Store,
    partition: &Partition,
    chain: ChainId,
    is_from_oldest: bool,
) -> ApiResult<(Position, bool)> {
    let seq = if is_from_oldest { 0 } else { tail(store, partition).await? };
    Ok((Position::end_of(chain, seq), seq > 0))
}

fn bad_id(told: &str) -> ApiError {
    ApiError::new(ErrorCode::InvalidCursor, told)
        .hint("send the id of the last event of the same stream as it was, or none to begin now")
}
