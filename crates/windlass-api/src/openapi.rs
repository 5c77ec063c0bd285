//! The description of it all, in OpenAPI.

use std::sync::LazyLock;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::error::ApiError;
use crate::router::routes;

/// What the description begins with; the paths come from the routes themselves.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Windlass",
        description = "What was collected from chains, and payouts, over HTTP. \
                       Integers that need more than 64 bits are decimal strings. \
                       What is refused has a body like `ErrorBody`, on every path: besides the answers below there are \
                       404 and 405 for what is not here, 414 for a URL and 431 for headers that are too long, \
                       421 under a host that is not served here, 429 when a key asks too often, 503 when there is no room, 504 when it takes too long.",
    ),
    tags(
        (name = "events", description = "rows of events: by page, counted, added up, as they come"),
        (name = "indexes", description = "what is collected, and how far"),
        (name = "fees", description = "as the fee collector's users know it"),
        (name = "payouts", description = "payouts: asked for, approved, looked at; and the log of it"),
        (name = "graphql", description = "the same in GraphQL"),
        (name = "health", description = "is it alive, is it ready, metrics"),
    ),
    modifiers(&Keys)
)]
pub(crate) struct Described;

/// How a key is sent.
struct Keys;

impl Modify for Keys {
    fn modify(&self, described: &mut utoipa::openapi::OpenApi) {
        let mut key = Http::new(HttpAuthScheme::Bearer);
        key.description = Some("the secret of a key; `windlass key create` shows it once".to_owned());
        described.components.get_or_insert_default().add_security_scheme("key", SecurityScheme::Http(key));
    }
}

/// The description as text: what `/openapi.json` answers with.
pub fn openapi_json() -> Result<String, serde_json::Error> {
    routes().into_openapi().to_pretty_json()
}

/// Describes the API.
#[utoipa::path(get, path = "/openapi.json", tag = "health",
    responses((status = 200, description = "this", body = Object)))]
pub(crate) async fn openapi() -> Response {
    static TEXT: LazyLock<Result<String, serde_json::Error>> = LazyLock::new(openapi_json);
    match &*TEXT {
        Ok(text) => ([(CONTENT_TYPE, "application/json")], text.as_str()).into_response(),
        Err(error) => ApiError::internal(error).into_response(),
    }
}
