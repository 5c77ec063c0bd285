//! The same in GraphQL: a type for each table, and Relay connections over rows of any event.
//!
//! A query is bounded in depth and in how much it asks for; a sum counts as much, for it
//! may read the whole table.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `schema` | the schema over the tables that there are |
//! | `table/` | the types of tables, and what is asked of them |
//! | `query` | what can be asked of any table by its name, with the event's fields as JSON |
//! | `payout/` | payouts: what can be asked and done |
//! | `event`, `sum`, `index`, `scalar` | what is answered |
//! | `nesting`, `weight` | what is refused before anything follows it |
//! | `tell` | what an answer says of its errors |

mod event;
mod index;
mod nesting;
mod payout;
mod query;
mod scalar;
mod schema;
mod sum;
mod table;
mod tell;
mod weight;

use async_graphql::parser::types::OperationType;
use async_graphql::{Pos, Request, Response};
use axum::Json;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use serde_json::{Map, Value};

use self::payout::{Asker, HeaderKey};
pub(crate) use self::schema::SchemaSource;
use crate::access::Gate;
use crate::error::{ApiError, ApiResult, ErrorBody, ErrorCode, default_retry_after_s};
use crate::limits::{MAX_BODY_BYTES, MAX_GRAPHQL_NESTING};
use crate::payouts::header_key;
use crate::state::ApiState;

const CONSOLE: &str = include_str!("console.html");
/// The page may talk to this server and to nobody else.
const CONSOLE_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                              connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Answers a GraphQL query, or does what a mutation says.
#[utoipa::path(post, path = "/graphql", tag = "graphql",
    params(("Idempotency-Key" = Option<String>, Header,
        description = "the key of the one payout that a mutation asks for, instead of its argument `idempotencyKey`")),
    request_body(content = Object, description = "`query`, and `variables` and `operationName` if needed"),
    responses(
        (status = 200, description = "`data`, or `errors` with codes, or both", body = Object),
        (status = 400, description = "the body is not a query", body = ErrorBody),
        (status = 401, description = "an error says that something takes a key; `data` has the rest", body = Object),
        (status = 403, description = "an error says that a key may not; `data` has the rest", body = Object),
        (status = 413, description = "the body is too long", body = ErrorBody),
        (status = 503, description = "too many requests at once, or an error says that the database or the chain cannot be asked; `Retry-After` says when to come back", body = Object),
    ))]
pub(crate) async fn graphql(
    State(state): State<ApiState>,
    headers: HeaderMap,
    body: Result<Json<Map<String, Value>>, JsonRejection>,
) -> ApiResult<impl IntoResponse> {
    let Json(body) = body.map_err(refuse)?;
    if !body.get("query").is_some_and(Value::is_string) {
        return Err(no_question());
    }
    let request = serde_json::from_value(Value::Object(body)).map_err(|_| no_question())?;
    let mut is_mutation = false;
    let response = match checked(request) {
        Ok(mut request) => {
            is_mutation = asks_for_mutation(&mut request);
            answer(&state, &headers, request, is_mutation).await
        }
        Err(error) => Err(error),
    };
    let response = response.unwrap_or_else(|error| {
        let mut error = async_graphql::Error::from(error).into_server_error(Pos::default());
        error.locations.clear();
        Response::from_errors(vec![error])
    });
    let (status, headers) = tell::status(&response, is_mutation);
    Ok((status, headers, Json(response)))
}

async fn answer(
    state: &ApiState,
    headers: &HeaderMap,
    request: Request,
    is_mutation: bool,
) -> ApiResult<Response> {
    let schema = state.schema.current().await?;
    let asker = Asker::new(Gate::new(state.pay.as_ref(), headers), HeaderKey::new(header_key(headers)));
    Ok(tell::told(schema.execute(request.data(asker)).await, is_mutation))
}

/// Whether something is to be done, and not only asked.
fn asks_for_mutation(request: &mut Request) -> bool {
    let wanted = request.operation_name.clone();
    let Ok(document) = request.parsed_query() else { return false };
    document.operations.iter().any(|(name, operation)| {
        let is_wanted = wanted.is_none() || name.map(|name| name.as_str()) == wanted.as_deref();
        is_wanted && operation.node.ty == OperationType::Mutation
    })
}

/// The same request, unless its query is too large to be looked at.
fn checked(mut request: Request) -> ApiResult<Request> {
    let refused = |told: String| Err(ApiError::new(ErrorCode::InvalidBody, told));
    if nesting::is_too_deep(&request.query) {
        return refused(format!("the query is nested more than {MAX_GRAPHQL_NESTING} deep"));
    }
    // What cannot be read is told with its place by the schema.
    match request.parsed_query().map(weight::check) {
        Ok(Err(told)) => refused(told),
        Ok(Ok(())) | Err(_) => Ok(request),
    }
}

fn refuse(rejection: JsonRejection) -> ApiError {
    match rejection {
        _ if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let told = format!("a body has at most {MAX_BODY_BYTES} bytes");
            ApiError::new(ErrorCode::BodyTooLarge, told)
        }
        JsonRejection::JsonDataError(_) => no_question(),
        rejection => ApiError::new(ErrorCode::InvalidBody, rejection.body_text()).hint(ASK),
    }
}

/// How to ask.
const ASK: &str = r#"send {"query": "…", "variables": {…}} as application/json"#;

fn no_question() -> ApiError {
    ApiError::new(ErrorCode::InvalidBody, "the body is not one object with a query").hint(ASK)
}

/// A page to try queries on; it loads nothing from anywhere.
#[utoipa::path(get, path = "/graphql", tag = "graphql",
    responses((status = 200, description = "a page", body = String, content_type = "text/html")))]
pub(crate) async fn console() -> impl IntoResponse {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, CONSOLE_POLICY)];
    (headers, CONSOLE)
}

impl From<ApiError> for async_graphql::Error {
    fn from(error: ApiError) -> Self {
        let mut shown = Self::new(error.message);
        let extensions = shown.extensions.get_or_insert_default();
        extensions.set("code", error.code.as_str());
        if let Some(hint) = error.hint {
            extensions.set("hint", hint);
        }
        let wait_s = error.retry_after_s.or_else(|| default_retry_after_s(error.code.status()));
        if let Some(wait_s) = wait_s {
            extensions.set(tell::RETRY_AFTER_S, wait_s);
        }
        shown
    }
}
