//! `/fees`, as the fee collector's users know it: the same parameters, clamps,
//! bodies and order.
//!
//! It serves every table of the event `FeesCollected` with the collector's types, on
//! the chain whose id is asked for under the name `integrator`. `createdAt` is the
//! time of the block; the collector had the time at which it stored the event, which
//! is lost when a chain is collected anew. Where two indexes collect the same
//! contract, each of their rows counts.

mod anchor;
mod number;
mod query;
mod rows;
mod seek;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value as Json_, json};
use utoipa::ToSchema;
use windlass_core::chain::ChainId;
use windlass_core::store::TableInfo;
use windlass_core::table::{ColumnKind, EventRow, TableSpec, Value};

pub(crate) use self::anchor::Anchors;
use self::query::FeesQuery;
use self::rows::Numbered;
use crate::error::{self, ApiError, ApiResult, ErrorMessage};
use crate::extract::Pairs;
use crate::state::ApiState;

/// The event, its fields' names apart.
const EVENT: &str = "FeesCollected(address,address,uint256,uint256)";
/// What its columns hold: token, integrator, the integrator's fee, the collector's fee.
const KINDS: [ColumnKind; 4] = [ColumnKind::Address, ColumnKind::Address, ColumnKind::Uint, ColumnKind::Uint];

/// A page of fees.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FeesBody {
    data: Vec<Fee>,
    pagination: Pagination,
}

/// An event.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Fee {
    chain_id: u64,
    transaction_hash: String,
    log_index: u32,
    block_number: u64,
    token: String,
    event_integrator: String,
    /// A decimal number of up to 256 bits.
    integrator_fee: String,
    /// A decimal number of up to 256 bits.
    lifi_fee: String,
    /// The block's time, in ISO 8601 with milliseconds.
    created_at: String,
}

/// Which page it is, of how many.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Pagination {
    #[schema(value_type = f64)]
    page: Json_,
    #[schema(value_type = f64)]
    limit: Json_,
    total: u64,
    #[schema(value_type = u64)]
    total_pages: Json_,
}

/// Lists collected fees of a chain, newest first.
#[utoipa::path(get, path = "/fees", tag = "fees",
    params(
        ("integrator" = Option<String>, Query, description = "the chain's id; 137 unless given once"),
        ("page" = Option<String>, Query, description = "from 1; anything else is 1"),
        ("limit" = Option<String>, Query, description = "1 to 100, by default 20"),
    ),
    responses(
        (status = 200, description = "newest first", body = FeesBody),
        (status = 400, description = "the chain's id is not a number", example = json!({"error": INVALID_CHAIN})),
        (status = 500, description = "a fault of the server", example = json!({"error": FAILED})),
        (status = 503, description = "too many requests at once, or the database does not answer; `Retry-After` says when to come back", example = json!({"error": "too many requests at once"})),
        (status = 504, description = "the answer took too long", example = json!({"error": "the answer took too long"})),
    ))]
pub(crate) async fn fees(State(state): State<ApiState>, Pairs(pairs): Pairs) -> Response {
    let Some(query) = FeesQuery::read(&pairs) else {
        return (StatusCode::BAD_REQUEST, Json(json!({ "error": INVALID_CHAIN }))).into_response();
    };
    match answer(&state, query).await {
        Ok(body) => Json(body).into_response(),
        Err(error) => error.into_response(),
    }
}

const INVALID_CHAIN: &str = "Invalid integrator value. Expected numeric chain id.";
const FAILED: &str = "Internal server error";

/// Gives every refusal of `/fees` the body that its users know. What may pass says so and
/// keeps its status and `Retry-After`; every fault of ours looks the same from outside.
pub(crate) async fn failed(response: Response) -> Response {
    let status = response.status();
    if status.is_client_error() || status.is_success() {
        return response;
    }
    let message = response.extensions().get::<ErrorMessage>();
    match message {
        Some(ErrorMessage(message))
            if [StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT].contains(&status) =>
        {
            let retry_after = error::headers(status, None);
            (status, retry_after, Json(json!({ "error": message }))).into_response()
        }
        _ => (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({ "error": FAILED }))).into_response(),
    }
}

async fn answer(state: &ApiState, query: FeesQuery) -> ApiResult<FeesBody> {
    let mut tables = state.store().list_tables().await?;
    tables.retain(|table| is_fees(&table.spec) && query.is_of(table.spec.chain));
    let numbered = Numbered { store: state.store(), tables: &tables, anchors: &state.anchors };
    let (found, total) = numbered.page(query.skip(), query.rows()).await?;
    let data = found.iter().map(|(chain, row)| fee(*chain, row)).collect::<ApiResult<_>>()?;
    let pagination = Pagination {
        page: number::json(query.page),
        limit: number::json(query.limit),
        total,
        total_pages: number::json(query.pages(total)),
    };
    Ok(FeesBody { data, pagination })
}

/// Whether a table holds the collector's event, whatever its fields are called.
fn is_fees(table: &TableSpec) -> bool {
    let kinds = table.columns.iter().map(|column| column.kind);
    table.signature.replace(" indexed", "") == EVENT && kinds.eq(KINDS)
}

fn fee(chain: ChainId, row: &EventRow) -> ApiResult<Fee> {
    let [
        Value::Address(token),
        Value::Address(integrator),
        Value::Uint(integrator_fee),
        Value::Uint(lifi_fee),
    ] = row.values.as_slice()
    else {
        return Err(ApiError::internal("a row of fees has other columns than its table"));
    };
    Ok(Fee {
        chain_id: chain.as_u64(),
        transaction_hash: row.head.transaction_hash.to_string(),
        log_index: row.head.log_index,
        block_number: row.head.block.number,
        token: token.to_string(),
        event_integrator: integrator.to_string(),
        integrator_fee: integrator_fee.to_string(),
        lifi_fee: lifi_fee.to_string(),
        created_at: iso_time(row.head.timestamp_s)?,
    })
}

/// As `Date.prototype.toISOString` writes it.
fn iso_time(seconds: u64) -> ApiResult<String> {
    let time = i64::try_from(seconds).ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let time = time.ok_or_else(|| ApiError::internal(format!("no time is {seconds} s after 1970")))?;
    Ok(format!("{time:.3}"))
}

/// The tables' rows in all: kept, not counted.
fn total(tables: &[TableInfo]) -> u64 {
    tables.iter().map(|table| table.rows).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[tokio::test]
    async fn a_fault_of_ours_is_500_and_what_may_pass_is_not() {
        let of = async |error: ApiError| {
            let response = failed(error.into_response()).await;
            let (status, retry) =
                (response.status().as_u16(), response.headers().contains_key("retry-after"));
            let body = axum::body::to_bytes(response.into_body(), 1_024).await.unwrap();
            (status, retry, String::from_utf8(body.to_vec()).unwrap())
        };
        let internal = of(ApiError::internal("secret")).await;
        assert_eq!(internal, (500, false, r#"{"error":"Internal server error"}"#.to_owned()));
        let away = of(ApiError::new(ErrorCode::Unavailable, "no database")).await;
        assert_eq!(away, (503, true, r#"{"error":"no database"}"#.to_owned()));
        let slow = of(ApiError::new(ErrorCode::Timeout, "too slow")).await;
        assert_eq!(slow, (504, false, r#"{"error":"too slow"}"#.to_owned()));
    }

    #[test]
    fn times_have_milliseconds() {
        assert_eq!(iso_time(0).unwrap(), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso_time(1_761_955_200).unwrap(), "2025-11-01T00:00:00.000Z");
        assert!(iso_time(u64::MAX).is_err());
    }
}
