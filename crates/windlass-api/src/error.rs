//! What a request is answered with when it cannot be answered.
//!
//! Every refusal has a code, a message and often a hint. What went wrong inside is
//! logged under an id, and only the id is shown.

use std::fmt::Display;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Json;
use axum::http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::error::StoreError;

use crate::limits::MAX_QUERY_BYTES;

pub(crate) type ApiResult<T> = Result<T, ApiError>;

/// After how many seconds to come back when there was no room, or no database.
pub(crate) const RETRY_AFTER_S: u64 = 1;

/// What kind of refusal it is: clients branch on it, so it never changes its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ErrorCode {
    /// A parameter nobody knows.
    UnknownParameter,
    /// A parameter with a value that it cannot have.
    InvalidParameter,
    /// A cursor of another query, or no cursor at all.
    InvalidCursor,
    /// A body that is not what was expected.
    InvalidBody,
    /// A body that is too long.
    BodyTooLarge,
    /// A body that does not come.
    BodyTimeout,
    /// A target, path and query, that is too long.
    UriTooLong,
    /// Too many headers, or too long ones.
    HeadersTooLarge,
    /// Bytes that are no request.
    InvalidRequest,
    /// A name under which nothing is served here.
    UnknownHost,
    /// There is no such index, event, payout or page.
    NotFound,
    /// It takes a key, and none that is good was given.
    Unauthenticated,
    /// The key's role does not allow it.
    Forbidden,
    /// The key asks too often.
    RateLimited,
    /// The payout, as it stands, does not allow it.
    Conflict,
    /// The idempotency key was used for another payout.
    KeyReused,
    /// The chain cannot be asked now.
    ChainUnavailable,
    /// A method that this page does not have.
    MethodNotAllowed,
    /// Too many requests or streams at once.
    Overloaded,
    /// The store cannot answer now.
    Unavailable,
    /// It took too long.
    Timeout,
    /// It went wrong inside.
    Internal,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// After how many seconds to come back, where that is known.
    pub(crate) retry_after_s: Option<u64>,
}

/// A refusal as it is sent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    error: ErrorDetail,
}

/// What is refused, why, and what to do.
#[derive(Debug, Serialize, ToSchema)]
struct ErrorDetail {
    code: ErrorCode,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl ErrorCode {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::UnknownParameter
            | Self::InvalidParameter
            | Self::InvalidCursor
            | Self::InvalidBody
            | Self::InvalidRequest => StatusCode::BAD_REQUEST,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::UriTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Conflict | Self::KeyReused => StatusCode::CONFLICT,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Overloaded | Self::Unavailable | Self::ChainUnavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The code as it is sent.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownParameter => "unknown_parameter",
            Self::InvalidParameter => "invalid_parameter",
            Self::InvalidCursor => "invalid_cursor",
            Self::InvalidBody => "invalid_body",
            Self::BodyTooLarge => "body_too_large",
            Self::BodyTimeout => "body_timeout",
            Self::UriTooLong => "uri_too_long",
            Self::HeadersTooLarge => "headers_too_large",
            Self::InvalidRequest => "invalid_request",
            Self::UnknownHost => "unknown_host",
            Self::NotFound => "not_found",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::RateLimited => "rate_limited",
            Self::Conflict => "conflict",
            Self::KeyReused => "key_reused",
            Self::ChainUnavailable => "chain_unavailable",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Timeout => "timeout",
            Self::Internal => "internal",
        }
    }
}

impl ApiError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, retry_after_s: None }
    }

    pub(crate) const fn retry_after_s(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds);
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, with this hint unless it has one.
    pub(crate) fn or_hint(self, hint: impl FnOnce() -> String) -> Self {
        if self.hint.is_some() { self } else { self.hint(hint()) }
    }

    /// The same, with the known name that is nearest to a wrong one, if one is near.
    pub(crate) fn nearest<'a>(self, wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(wrong, known) {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// A parameter's value that it cannot have.
    pub(crate) fn invalid(parameter: &str, why: impl Display) -> Self {
        Self::new(ErrorCode::InvalidParameter, format!("parameter `{parameter}`: {why}"))
    }

    /// A target that is too long.
    pub(crate) fn uri_too_long() -> Self {
        Self::new(ErrorCode::UriTooLong, format!("the query of a URL has at most {MAX_QUERY_BYTES} bytes"))
            .hint("list fewer values, or ask in GraphQL, whose filters are in the body")
    }

    /// The refusal as it is sent.
    pub(crate) fn body(self) -> ErrorBody {
        ErrorBody { error: ErrorDetail { code: self.code, message: self.message, hint: self.hint } }
    }

    /// Logs what went wrong, and shows where it is logged.
    pub(crate) fn internal(error: impl Display) -> Self {
        let id = next_id();
        tracing::error!(id, %error, "a request failed");
        Self::new(ErrorCode::Internal, "something went wrong here").hint(format!("the log has it under {id}"))
    }
}

/// An id that no other error of this or an earlier process has: the time of the
/// first one, and a number.
fn next_id() -> String {
    static FIRST_MS: LazyLock<i64> = LazyLock::new(|| jiff::Timestamp::now().as_millisecond());
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{:x}-{}", *FIRST_MS, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The nearest of the known names, if it is near: at most a third of it wrong. A name
/// of another length is not looked at, so that a long one costs nothing.
fn nearest<'a>(wrong: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let (letters, lower) = (wrong.chars().count(), wrong.to_lowercase());
    let slips = |name: &'a str| {
        let most = name.chars().count().div_ceil(3);
        let is_like = letters.abs_diff(name.chars().count()) <= most;
        let slips = is_like.then(|| strsim::damerau_levenshtein(&lower, &name.to_lowercase()))?;
        (slips <= most).then_some((slips, name))
    };
    known.into_iter().filter_map(slips).min_by_key(|(slips, _)| *slips).map(|(_, name)| name)
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Self::new(ErrorCode::Unavailable, "the database is busy"),
            StoreError::OutcomeUnknown { .. } => Self::new(ErrorCode::Unavailable, error.to_string()),
            StoreError::DiskFull | StoreError::ReadOnly => {
                tracing::warn!(%error, "a request was refused by the database");
                Self::new(ErrorCode::Unavailable, error.to_string())
            }
            StoreError::Forged(_) | StoreError::AuditBroken(_) => {
                tracing::error!(%error, "a request met what was tampered with");
                Self::new(ErrorCode::Unavailable, error.to_string())
                    .hint("tell whoever runs this: `windlass audit-log verify` says more")
            }
            StoreError::TableMissing(_) => Self::new(ErrorCode::NotFound, error.to_string()),
            StoreError::Invalid(_) => Self::new(ErrorCode::InvalidParameter, error.to_string()),
            StoreError::Unreachable { .. }
            | StoreError::AuthFailed { .. }
            | StoreError::Closed
            | StoreError::Gone { .. } => {
                tracing::warn!(%error, "a request found no database");
                Self::new(ErrorCode::Unavailable, "the database cannot be reached")
            }
            _ => Self::internal(error),
        }
    }
}

/// The message of a refusal, beside its body: for `/fees`, whose bodies have another form.
#[derive(Debug, Clone)]
pub(crate) struct ErrorMessage(pub(crate) String);

/// What a refusal says in its headers: how to ask, or when to come back.
pub(crate) fn headers(status: StatusCode, retry_after_s: Option<u64>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(wait_s) = retry_after_s.or_else(|| default_retry_after_s(status)) {
        headers.insert(RETRY_AFTER, wait_s.into());
    }
    headers
}

/// When to come back if the refusal itself does not say.
pub(crate) fn default_retry_after_s(status: StatusCode) -> Option<u64> {
    (status == StatusCode::SERVICE_UNAVAILABLE).then_some(RETRY_AFTER_S)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, wait) = (self.code.status(), self.retry_after_s);
        let message = ErrorMessage(self.message.clone());
        let mut response = (status, Json(self.body())).into_response();
        response.headers_mut().extend(headers(status, wait));
        response.extensions_mut().insert(message);
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_suggested() {
        let known = ["integrator", "integratorFee", "lifiFee", "token"];
        assert_eq!(nearest("integratr", known), Some("integrator"));
        assert_eq!(nearest("LIFIFEE", known), Some("lifiFee"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn codes_are_sent_by_their_names() {
        for code in [
            ErrorCode::UnknownParameter,
            ErrorCode::UriTooLong,
            ErrorCode::HeadersTooLarge,
            ErrorCode::InvalidRequest,
            ErrorCode::UnknownHost,
            ErrorCode::MethodNotAllowed,
            ErrorCode::Unauthenticated,
            ErrorCode::Forbidden,
            ErrorCode::RateLimited,
            ErrorCode::Conflict,
            ErrorCode::KeyReused,
            ErrorCode::ChainUnavailable,
            ErrorCode::Internal,
        ] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn what_went_wrong_inside_is_not_shown() {
        let (first, second) = (ApiError::internal("secret"), ApiError::internal("secret"));
        assert!(!format!("{first:?}").contains("secret"));
        assert_ne!(first.hint, second.hint);
    }
}
