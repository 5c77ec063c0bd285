//! What handlers stand on.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use windlass_core::chain::Address;
use windlass_core::payout::desk::{DeskInfo, PayoutDesk};
use windlass_core::payout::store::Payouts;
use windlass_core::store::Store;

use super::body;
use crate::access::{Gate, KeyLimiter};
use crate::error::{ApiError, ErrorCode};
use crate::options::ApiOptions;
use crate::state::ApiState;

/// Where payouts are asked for, and who may do so without a key.
#[derive(Clone)]
pub struct PayoutParts {
    /// The desk of the vault that pays.
    pub desk: Arc<dyn PayoutDesk>,
    /// What is kept of payouts, each row verified.
    pub ledger: Arc<dyn Payouts>,
    /// Whether somebody on this machine may do everything without a key. It is only so
    /// while the API listens on loopback and under local names alone.
    pub development: bool,
}

/// Paying, as handlers see it.
pub(crate) struct Pay {
    pub(crate) desk: Arc<dyn PayoutDesk>,
    /// What the desk tells of itself, which never changes.
    pub(crate) info: DeskInfo,
    pub(crate) store: Arc<dyn Store>,
    /// What is kept of payouts, verified.
    pub(crate) ledger: Arc<dyn Payouts>,
    /// Whether no key is needed.
    pub(crate) is_open: bool,
    pub(crate) limiter: KeyLimiter,
}

impl Pay {
    pub(crate) fn new(parts: PayoutParts, store: Arc<dyn Store>, options: &ApiOptions) -> Self {
        Self {
            info: parts.desk.info(),
            desk: parts.desk,
            store,
            ledger: parts.ledger,
            // Under another name somebody stands in front, and whom it lets through is not known.
            is_open: parts.development && options.listen.ip().is_loopback() && options.hosts.is_empty(),
            limiter: KeyLimiter::new(options.rate_limit),
        }
    }

    /// What people call a token; its address where nobody has told.
    pub(crate) fn asset(&self, token: Address) -> String {
        body::asset(&self.info.tokens, token)
    }
}

/// Nothing is paid here.
pub(crate) fn not_configured() -> ApiError {
    ApiError::new(ErrorCode::NotFound, "paying is not configured here")
        .hint("describe a vault under `[pay]` in the configuration, and start again")
}

impl FromRequestParts<ApiState> for Gate {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, ApiError> {
        Self::new(state.pay.as_ref(), &parts.headers).ok_or_else(not_configured)
    }
}
