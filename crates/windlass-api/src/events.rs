//! Rows of an event, by page, and how many there are.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::row_query::RowOrder;
use windlass_core::value_text::RowJson;

use crate::catalog::find_table;
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{EventPath, Pairs};
use crate::filter::{Asked, within_blocks};
use crate::limits::{DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS};
use crate::page::PageQuery;
use crate::state::ApiState;

/// What the page's own parameters are called.
const OWN: [&str; 3] = ["order", "limit", "cursor"];

/// A page of rows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EventsBody<'a> {
    /// Each begins with `block_number`, `log_index`, `block_hash`, `block_timestamp`,
    /// `transaction_hash` and `address`, and then has the event's fields. Integers
    /// that need more than 64 bits are decimal strings.
    #[schema(value_type = Vec<Object>)]
    data: Vec<RowJson<'a>>,
    page: PageBody,
}

/// Which page it is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PageBody {
    /// Goes on where this page ends; `null` on the last one.
    pub(crate) next_cursor: Option<String>,
    pub(crate) limit: u32,
}

/// Lists the rows of an event, newest first unless told otherwise.
///
/// Every column is a filter, by the name of its field or its SQL name: `token=0x…`,
/// `integratorFee.gte=5`, with `.eq .ne .gt .gte .lt .lte` and `.in=a,b`. So are
/// `block`, `log_index`, `block_hash`, `block_timestamp`, `transaction_hash` and
/// `address`. `from=` and `to=` bound the time, the first included and the second not;
/// where the event has fields of these names they mean the fields, and
/// `block_timestamp.gte=` and `.lt=` the time. `fields.NAME` always means the field.
/// All filters have to be met. A value that no row can have is refused: a hash of another
/// length, a negative block, an integer beyond the field's type, whatever it is compared
/// by. A cursor costs the same however far it is.
#[utoipa::path(get, path = "/api/v1/events/{index}/{event}", tag = "events",
    params(
        ("index" = String, Path, description = "the index's name"),
        ("event" = String, Path, description = "the event's name, or its table's where there are several"),
        ("order" = Option<String>, Query, description = "`desc`, newest first (default), or `asc`"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "rows a page, by default 100"),
        ("cursor" = Option<String>, Query, description = "`page.next_cursor` of the page before"),
        ("block" = Option<u64>, Query, description = "also `block.gte`, `block.lt` and so on, like every filter"),
        ("transaction_hash" = Option<String>, Query),
        ("address" = Option<String>, Query, description = "the contract"),
        ("from" = Option<String>, Query, description = "RFC 3339, a date, or seconds since 1970; included"),
        ("to" = Option<String>, Query, description = "likewise; not included"),
    ),
    responses(
        (status = 200, description = "the answer", body = EventsBody),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 404, description = "there is no such index or event", body = ErrorBody),
    ))]
pub(crate) async fn events(
    State(state): State<ApiState>,
    EventPath { index, event }: EventPath,
    Pairs(pairs): Pairs,
) -> ApiResult<Response> {
    let table = find_table(state.store(), &index, &event).await?;
    let asked = Asked::read(&table.spec, &OWN, pairs)?;
    let limit = asked.number("limit", DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS)?;
    let query = PageQuery {
        table: &table.spec,
        conditions: &asked.conditions,
        order: asked.control("order").map(order).transpose()?,
        after: asked.control("cursor"),
        limit,
    };
    let page = query.read(state.store()).await?;
    let data = page.rows.iter().map(|row| RowJson::of(&table.spec, row)).collect();
    let body = EventsBody { data, page: PageBody { next_cursor: page.next_cursor(), limit } };
    Ok(Json(body).into_response())
}

fn order(text: &str) -> ApiResult<RowOrder> {
    match text {
        "asc" => Ok(RowOrder::OldestFirst),
        "desc" => Ok(RowOrder::NewestFirst),
        _ => Err(ApiError::invalid("order", format!("`{text}` is neither `asc` nor `desc`"))),
    }
}

/// How many rows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CountBody {
    count: u64,
}

/// Counts the rows of an event that meet the filters, which are those of the list.
#[utoipa::path(get, path = "/api/v1/events/{index}/{event}/count", tag = "events",
    params(
        ("index" = String, Path, description = "the index's name"),
        ("event" = String, Path, description = "the event's name, or its table's"),
    ),
    responses(
        (status = 200, description = "the answer", body = CountBody),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 404, description = "there is no such index or event", body = ErrorBody),
    ))]
pub(crate) async fn count(
    State(state): State<ApiState>,
    EventPath { index, event }: EventPath,
    Pairs(pairs): Pairs,
) -> ApiResult<Json<CountBody>> {
    let table = find_table(state.store(), &index, &event).await?;
    let asked = Asked::read(&table.spec, &[], pairs)?;
    let conditions = within_blocks(state.store(), &table.spec.name, &asked.conditions).await?;
    let count = state.store().count_rows(&table.spec.name, &conditions).await?;
    Ok(Json(CountBody { count }))
}
