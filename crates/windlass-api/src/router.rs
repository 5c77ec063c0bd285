//! Where every handler stands.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Method};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::IntoResponse;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::{AllowOrigin, CorsLayer};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::{ApiError, ErrorCode};
use crate::limits::{MAX_ASKING_BODY_BYTES, MAX_BODY_BYTES};
use crate::openapi::Described;
use crate::server::BindError;
use crate::state::ApiState;
use crate::{events, fees, graphql, guard, health, indexes, openapi, payouts, stream, sum};

/// Every path, for the description.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(Described::openapi())
        .merge(health_routes())
        .merge(fee_routes())
        .merge(data_routes())
        .merge(payouts::asking_routes())
}

/// Answered whatever else is under way.
fn health_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(health::root))
        .routes(routes!(health::healthz))
        .routes(routes!(health::readyz))
        .routes(routes!(health::metrics))
        .routes(routes!(openapi::openapi))
}

fn fee_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(fees::fees))
}

fn data_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(indexes::indexes))
        .routes(routes!(events::events))
        .routes(routes!(events::count))
        .routes(routes!(sum::sum))
        .routes(routes!(stream::stream))
        .routes(routes!(graphql::graphql, graphql::console))
        .merge(payouts::routes())
}

/// The whole API.
pub(crate) fn router(state: ApiState) -> Result<Router, BindError> {
    let bound = from_fn_with_state(state.clone(), guard::bound);
    let caught = || CatchPanicLayer::custom(guard::panicked);
    let whole = |max_bytes: usize| from_fn_with_state((state.clone(), max_bytes as u64), guard::whole_body);
    let asking = Router::from(payouts::asking_routes())
        .layer(caught())
        .layer(bound.clone())
        .layer(whole(MAX_ASKING_BODY_BYTES))
        .layer(DefaultBodyLimit::max(MAX_ASKING_BODY_BYTES));
    let data = Router::from(data_routes()).layer(caught()).layer(bound.clone()).layer(whole(MAX_BODY_BYTES));
    let data = data.merge(asking);
    let fees = Router::from(fee_routes()).layer(caught()).layer(bound).layer(map_response(fees::failed));
    let mut router = Router::from(health_routes())
        .layer(caught())
        .merge(data)
        .merge(fees)
        .fallback(missing)
        .method_not_allowed_fallback(wrong_method)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    if let Some(cors) = cors(&state.options.cors_origins)? {
        router = router.layer(cors);
    }
    // What answers by itself stands within what lets in, and everything is counted.
    let admitted = from_fn_with_state(state.clone(), guard::admit);
    Ok(router.layer(admitted).layer(from_fn(guard::measure)).with_state(state))
}

async fn missing(request: Request) -> impl IntoResponse {
    ApiError::new(ErrorCode::NotFound, format!("there is no `{}` here", request.uri().path()))
        .hint("see /openapi.json")
}

async fn wrong_method(request: Request) -> impl IntoResponse {
    let told = format!("`{}` does not take {}", request.uri().path(), request.method());
    ApiError::new(ErrorCode::MethodNotAllowed, told).hint("see /openapi.json")
}

/// Lets pages of these origins read the API; `None` when there are none.
fn cors(origins: &[String]) -> Result<Option<CorsLayer>, BindError> {
    if origins.is_empty() {
        return Ok(None);
    }
    let allowed = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().map(|origin| value(origin)).collect::<Result<Vec<_>, _>>()?)
    };
    let named = ["last-event-id", "idempotency-key"].map(HeaderName::from_static);
    let headers = [CONTENT_TYPE, AUTHORIZATION].into_iter().chain(named);
    Ok(Some(
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::POST])
            .allow_headers(headers.collect::<Vec<_>>()),
    ))
}

fn value(origin: &str) -> Result<HeaderValue, BindError> {
    let is_origin = origin.split_once("://").is_some_and(|(scheme, host)| {
        ["http", "https"].contains(&scheme) && !host.is_empty() && !host.contains('/')
    });
    let value = HeaderValue::from_str(origin).ok().filter(|_| is_origin);
    value.ok_or_else(|| BindError::Origin { origin: origin.to_owned() })
}
