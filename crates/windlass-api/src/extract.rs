//! What handlers take out of a URL. What cannot be read is refused in JSON, like all else.

use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;

use crate::error::{ApiError, ErrorCode};

/// The parameters, in their order; a name may come several times.
#[derive(Debug)]
pub(crate) struct Pairs(pub(crate) Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Pairs {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Query::from_request_parts(parts, state).await;
        let Query(pairs) =
            read.map_err(|error| ApiError::new(ErrorCode::InvalidParameter, error.body_text()))?;
        Ok(Self(pairs))
    }
}

/// An event of an index, as a path names it.
#[derive(Debug)]
pub(crate) struct EventPath {
    pub(crate) index: String,
    pub(crate) event: String,
}

impl<S: Send + Sync> FromRequestParts<S> for EventPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Path::from_request_parts(parts, state).await;
        let Path((index, event)) =
            read.map_err(|error| ApiError::new(ErrorCode::NotFound, error.body_text()))?;
        Ok(Self { index, event })
    }
}

/// A payout, as a path names it.
#[derive(Debug)]
pub(crate) struct PayoutPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PayoutPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let read = Path::from_request_parts(parts, state).await;
        let Path(id) = read.map_err(|error| ApiError::new(ErrorCode::NotFound, error.body_text()))?;
        Ok(Self(id))
    }
}
