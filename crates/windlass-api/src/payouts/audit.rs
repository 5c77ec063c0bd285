//! The log of what was done, by page.

use axum::Json;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;
use windlass_core::payout::audit::AuditRow;
use windlass_core::payout::store::{AuditQuery, MAX_PAYOUT_PAGE};

use super::asked::payout_id;
use super::body::time;
use super::read;
use super::sent::Params;
use crate::access::{Admitted, Gate, Verb};
use crate::error::{ApiError, ApiResult, ErrorBody, ErrorCode};
use crate::events::PageBody;
use crate::extract::{Pairs, PayoutPath};
use crate::limits::DEFAULT_PAGE_ROWS;

/// A page of the log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditBody {
    data: Vec<AuditRowBody>,
    page: PageBody,
}

/// Something that was done.
#[derive(Debug, Serialize, ToSchema)]
struct AuditRowBody {
    /// Its number, from 1 on without a gap.
    seq: i64,
    at: String,
    /// Who did it: a key's name, a worker.
    actor: String,
    /// What, such as `payout.approved`.
    action: String,
    /// To what: a payout's id, a signer.
    subject: String,
    /// The rest.
    #[schema(value_type = Object)]
    detail: Box<RawValue>,
    /// The code over this entry and the one before.
    mac: String,
}

/// The end of the log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AuditHeadBody {
    /// The number of the last entry; 0 before the first.
    seq: i64,
    /// Its code. Whoever keeps it elsewhere finds out if the end is ever cut off.
    mac: String,
}

/// Lists what was done with a payout, the oldest first.
#[utoipa::path(get, path = "/api/v1/payouts/{id}/audit", operation_id = "payout_audit", tag = "payouts", security(("key" = [])),
    params(
        ("id" = String, Path, description = "the payout's id"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "entries a page, by default 100"),
        ("after" = Option<String>, Query, description = "`page.next_cursor` of the page before"),
    ),
    responses(
        (status = 200, description = "the answer", body = AuditBody),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
        (status = 404, description = "there is no such payout", body = ErrorBody),
    ))]
pub(crate) async fn of_payout(
    gate: Gate,
    PayoutPath(id): PayoutPath,
    Pairs(pairs): Pairs,
) -> ApiResult<Json<AuditBody>> {
    let admitted = gate.admit(Verb::Read).await?;
    let payout = read::payout(&*admitted.pay.ledger, payout_id(&id)?).await?;
    page(&admitted, Some(payout.id.to_string()), pairs).await
}

/// Lists everything that was done, the oldest first.
#[utoipa::path(get, path = "/api/v1/audit", operation_id = "audit_log", tag = "payouts", security(("key" = [])),
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "entries a page, by default 100"),
        ("after" = Option<String>, Query, description = "`page.next_cursor` of the page before, or an entry's number"),
    ),
    responses(
        (status = 200, description = "the answer", body = AuditBody),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
    ))]
pub(crate) async fn log(gate: Gate, Pairs(pairs): Pairs) -> ApiResult<Json<AuditBody>> {
    let admitted = gate.admit(Verb::Read).await?;
    page(&admitted, None, pairs).await
}

/// Shows the end of the log, to be kept elsewhere.
#[utoipa::path(get, path = "/api/v1/audit/head", operation_id = "audit_head", tag = "payouts", security(("key" = [])),
    responses(
        (status = 200, description = "the answer", body = AuditHeadBody),
        (status = 400, description = "it takes no parameters", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
    ))]
pub(crate) async fn head(gate: Gate, Pairs(pairs): Pairs) -> ApiResult<Json<AuditHeadBody>> {
    let admitted = gate.admit(Verb::Read).await?;
    Params::read(pairs, &[])?;
    let head = admitted.pay.ledger.audit_head().await?;
    Ok(Json(AuditHeadBody { seq: head.seq, mac: head.mac.to_string() }))
}

async fn page(
    admitted: &Admitted,
    subject: Option<String>,
    pairs: Vec<(String, String)>,
) -> ApiResult<Json<AuditBody>> {
    let params = Params::read(pairs, &["limit", "after"])?;
    let limit = params.number("limit", DEFAULT_PAGE_ROWS, MAX_PAYOUT_PAGE)?;
    let after = params.get("after").map_or(Ok(0), after)?;
    let page = read::audit(&*admitted.pay.ledger, AuditQuery { subject, after, limit }).await?;
    let next = page.rows.last().filter(|_| page.has_more).map(|last| last.seq.to_string());
    let data = page.rows.into_iter().map(row).collect::<ApiResult<_>>()?;
    Ok(Json(AuditBody { data, page: PageBody { next_cursor: next, limit } }))
}

/// The number of an entry, as a cursor has it.
pub(crate) fn after(text: &str) -> ApiResult<i64> {
    let number = text.parse().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| ApiError::new(ErrorCode::InvalidCursor, "parameter `after`: this is no cursor"))
}

fn row(row: AuditRow) -> ApiResult<AuditRowBody> {
    Ok(AuditRowBody {
        seq: row.seq,
        at: time(row.at),
        actor: row.entry.actor,
        action: row.entry.action,
        subject: row.entry.subject,
        detail: detail(row.entry.detail)?,
        mac: row.mac.to_string(),
    })
}

/// As it was written: the code is over these very letters. What is no JSON, which nobody
/// here has written, is shown all the same.
fn detail(text: String) -> ApiResult<Box<RawValue>> {
    RawValue::from_string(text.clone()).or_else(|_| to_raw_value(&text)).map_err(ApiError::internal)
}
