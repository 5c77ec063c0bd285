//! Approving, rejecting, cancelling and trying again.

use axum::Json;
use axum::extract::Request;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_core::payout::desk::Approved;

use super::advice::RiskBody;
use super::asked::{idempotency_key, payout_id, random_key};
use super::body::{CreatedBody, PayoutBody, Tokens};
use super::sent::{Fields, Params, header_key, one_key};
use crate::access::{Gate, Verb};
use crate::error::{ApiResult, ErrorBody};
use crate::extract::{Pairs, PayoutPath};

/// What an approval has brought about.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedBody {
    /// As it stands now: approved, rejected by the rules, or waiting for more approvers.
    payout: PayoutBody,
    /// How many have approved it.
    approvals: u32,
    /// How many have to.
    approvals_needed: u32,
    /// What the rules say of it now, with headroom.
    advice: Option<RiskBody>,
}

impl ApprovedBody {
    /// A payout that was approved.
    pub fn new(tokens: &Tokens, approved: Approved) -> Self {
        Self {
            payout: PayoutBody::new(tokens, approved.payout),
            approvals: approved.approvals,
            approvals_needed: approved.needed,
            advice: approved.report.map(RiskBody::from),
        }
    }
}

/// Why a payout is not to be made.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "it describes what is read field by field")]
pub(crate) struct EndingBody {
    reason: String,
}

/// How a payout is tried again.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what is read field by field")]
pub(crate) struct RetryBody {
    /// A new key. Without one a random key is given.
    idempotency_key: Option<String>,
}

/// Approves a payout.
///
/// The last approval that it takes asks the rules, and is binding: what they refuse is
/// rejected, the rest holds its part of the day's budget. Whoever has asked for a payout
/// cannot approve it. Approving again changes nothing.
#[utoipa::path(post, path = "/api/v1/payouts/{id}/approve", operation_id = "approve_payout", tag = "payouts", security(("key" = [])),
    params(("id" = String, Path, description = "the payout's id")),
    responses(
        (status = 200, description = "how it stands now", body = ApprovedBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
        (status = 403, description = "the key's role may not, or its owner has asked for the payout", body = ErrorBody),
        (status = 404, description = "there is no such payout", body = ErrorBody),
        (status = 409, description = "it no longer waits for approval", body = ErrorBody),
    ))]
pub(crate) async fn approve(
    gate: Gate,
    PayoutPath(id): PayoutPath,
    Pairs(pairs): Pairs,
    request: Request,
) -> ApiResult<Json<ApprovedBody>> {
    let admitted = gate.admit(Verb::Approve).await?;
    Params::read(pairs, &[])?;
    Fields::read(request).await?.only(&[])?;
    let approved = admitted.approve(payout_id(&id)?).await?;
    Ok(Json(ApprovedBody::new(&admitted.pay.info.tokens, approved)))
}

/// Rejects a payout that nothing was signed for.
///
/// Rejecting it again changes nothing.
#[utoipa::path(post, path = "/api/v1/payouts/{id}/reject", operation_id = "reject_payout", tag = "payouts", security(("key" = [])),
    params(("id" = String, Path, description = "the payout's id")),
    request_body = EndingBody,
    responses(
        (status = 200, description = "how it stands now", body = PayoutBody),
        (status = 400, description = "there is no reason", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
        (status = 403, description = "the key's role may not", body = ErrorBody),
        (status = 404, description = "there is no such payout", body = ErrorBody),
        (status = 409, description = "it is on its way, or over", body = ErrorBody),
    ))]
pub(crate) async fn reject(
    gate: Gate,
    PayoutPath(id): PayoutPath,
    Pairs(pairs): Pairs,
    request: Request,
) -> ApiResult<Json<PayoutBody>> {
    let admitted = gate.admit(Verb::Reject).await?;
    Params::read(pairs, &[])?;
    let reason = Fields::read(request).await?.only(&["reason"])?.needed("reason")?;
    let rejected = admitted.reject(payout_id(&id)?, &reason).await?;
    Ok(Json(PayoutBody::new(&admitted.pay.info.tokens, rejected)))
}

/// Takes back a payout that nothing was signed for.
///
/// It becomes `REJECTED`, with a reason that begins with `cancelled: `.
#[utoipa::path(post, path = "/api/v1/payouts/{id}/cancel", operation_id = "cancel_payout", tag = "payouts", security(("key" = [])),
    params(("id" = String, Path, description = "the payout's id")),
    request_body = EndingBody,
    responses(
        (status = 200, description = "how it stands now", body = PayoutBody),
        (status = 400, description = "there is no reason", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
        (status = 403, description = "the key's role may not", body = ErrorBody),
        (status = 404, description = "there is no such payout", body = ErrorBody),
        (status = 409, description = "it is on its way, or over", body = ErrorBody),
    ))]
pub(crate) async fn cancel(
    gate: Gate,
    PayoutPath(id): PayoutPath,
    Pairs(pairs): Pairs,
    request: Request,
) -> ApiResult<Json<PayoutBody>> {
    let admitted = gate.admit(Verb::Cancel).await?;
    Params::read(pairs, &[])?;
    let reason = Fields::read(request).await?.only(&["reason"])?.needed("reason")?;
    let cancelled = admitted.cancel(payout_id(&id)?, &reason).await?;
    Ok(Json(PayoutBody::new(&admitted.pay.info.tokens, cancelled)))
}

/// Asks again for what has failed or was rejected, as a payout of its own.
///
/// The vault is asked first: what it has paid, or may still pay, is refused.
#[utoipa::path(post, path = "/api/v1/payouts/{id}/retry", operation_id = "retry_payout", tag = "payouts", security(("key" = [])),
    params(
        ("id" = String, Path, description = "the payout's id"),
        ("Idempotency-Key" = Option<String>, Header, description = "the new key, instead of `idempotencyKey`"),
    ),
    request_body = Option<RetryBody>,
    responses(
        (status = 201, description = "the new payout", body = CreatedBody),
        (status = 200, description = "the key was known: it is the payout of before", body = CreatedBody),
        (status = 400, description = "the key is none", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
        (status = 403, description = "the key's role may not", body = ErrorBody),
        (status = 404, description = "there is no such payout", body = ErrorBody),
        (status = 409, description = "it has not ended, might be paid, or is tried again already", body = ErrorBody),
        (status = 503, description = "the vault cannot be asked", body = ErrorBody),
    ))]
pub(crate) async fn retry(
    gate: Gate,
    PayoutPath(id): PayoutPath,
    Pairs(pairs): Pairs,
    request: Request,
) -> ApiResult<(StatusCode, Json<CreatedBody>)> {
    let admitted = gate.admit(Verb::Retry).await?;
    Params::read(pairs, &[])?;
    let in_header = header_key(request.headers())?;
    let in_body = Fields::read(request).await?.only(&["idempotencyKey"])?.text("idempotencyKey")?;
    let key = match one_key(in_body, in_header)? {
        Some(key) => idempotency_key("idempotencyKey", &key)?,
        None => random_key()?,
    };
    let created = admitted.retry(payout_id(&id)?, key).await?;
    let status = if created.is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(CreatedBody::new(&admitted.pay.info.tokens, created))))
}
