//! Payouts by page, and one with all that belongs to it.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::error::StoreResult;
use windlass_core::payout::ledger::Payout;
use windlass_core::payout::memo::Reference;
use windlass_core::payout::request::IdempotencyKey;
use windlass_core::payout::state::PayoutState;
use windlass_core::payout::store::{MAX_PAYOUT_PAGE, PayoutQuery, Payouts};

use super::asked::{address, amount, payout_id};
use super::body::{PayoutBody, Tokens};
use super::detail::PayoutDetail;
use super::read::{self, PageOf};
use super::sent::Params;
use crate::access::{Gate, Verb};
use crate::error::{ApiError, ApiResult, ErrorBody, ErrorCode};
use crate::events::PageBody;
use crate::extract::{Pairs, PayoutPath};
use crate::limits::DEFAULT_PAGE_ROWS;

/// A page of payouts.
#[derive(Debug, Serialize, ToSchema)]
pub struct PayoutsBody {
    data: Vec<PayoutBody>,
    page: PageBody,
}

impl PayoutsBody {
    /// A page of at most `limit` payouts.
    pub(crate) fn new(tokens: &Tokens, page: PageOf<Payout>, limit: u32) -> Self {
        let next_cursor = page.rows.last().filter(|_| page.has_more).map(|last| last.id.to_string());
        let data = page.rows.into_iter().map(|payout| PayoutBody::new(tokens, payout)).collect();
        Self { data, page: PageBody { next_cursor, limit } }
    }

    /// Reads a page of payouts.
    pub async fn read(ledger: &dyn Payouts, tokens: &Tokens, query: PayoutQuery) -> StoreResult<Self> {
        let limit = query.limit;
        Ok(Self::new(tokens, read::payouts(ledger, query).await?, limit))
    }
}

/// Lists payouts, the oldest or the newest first.
///
/// A page that ends where there is nothing more has no `next_cursor`. With the oldest first,
/// payouts that are created later are behind it: come back with the last payout's id.
#[utoipa::path(get, path = "/api/v1/payouts", tag = "payouts", security(("key" = [])),
    params(
        ("state" = Option<String>, Query, description = "those that stand here, such as `PENDING_RISK`"),
        ("to" = Option<String>, Query, description = "those to this recipient"),
        ("token" = Option<String>, Query, description = "those of this token, by its address"),
        ("amount" = Option<String>, Query, description = "those of exactly this amount, in base units"),
        ("key" = Option<String>, Query, description = "the one with this idempotency key"),
        ("reference" = Option<String>, Query, description = "those with this external reference"),
        ("order" = Option<String>, Query, description = "`oldest` first, the default, or `newest`"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "payouts a page, by default 100"),
        ("after" = Option<String>, Query, description = "`page.next_cursor` of the page before"),
    ),
    responses(
        (status = 200, description = "the answer", body = PayoutsBody),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
    ))]
pub(crate) async fn payouts(gate: Gate, Pairs(pairs): Pairs) -> ApiResult<Json<PayoutsBody>> {
    let admitted = gate.admit(Verb::Read).await?;
    let params = Params::read(
        pairs,
        &["state", "to", "token", "amount", "key", "reference", "order", "limit", "after"],
    )?;
    let limit = params.number("limit", DEFAULT_PAGE_ROWS, MAX_PAYOUT_PAGE)?;
    let no_cursor = |_| ApiError::new(ErrorCode::InvalidCursor, "parameter `after`: this is no cursor");
    let query = PayoutQuery {
        state: params.get("state").map(state).transpose()?,
        to: checked(&params, "to", address)?,
        token: checked(&params, "token", address)?,
        amount: checked(&params, "amount", amount)?,
        key: checked(&params, "key", |text| IdempotencyKey::new(text).map_err(|error| error.to_string()))?,
        reference: checked(&params, "reference", |text| {
            Reference::new(text).map_err(|error| error.to_string())
        })?,
        newest_first: checked(&params, "order", is_newest_first)?.unwrap_or(false),
        after: params.get("after").map(str::parse).transpose().map_err(no_cursor)?,
        limit,
        ..PayoutQuery::default()
    };
    let pay = &admitted.pay;
    Ok(Json(PayoutsBody::read(&*pay.ledger, &pay.info.tokens, query).await?))
}

/// A parameter, if it is given and makes sense.
fn checked<T>(params: &Params, name: &str, read: impl Fn(&str) -> Result<T, String>) -> ApiResult<Option<T>> {
    params.get(name).map(read).transpose().map_err(|error| ApiError::invalid(name, error))
}

fn is_newest_first(text: &str) -> Result<bool, String> {
    match text {
        "oldest" => Ok(false),
        "newest" => Ok(true),
        _ => Err("the order is `oldest` or `newest`".to_owned()),
    }
}

fn state(text: &str) -> ApiResult<PayoutState> {
    text.parse().map_err(|error| {
        let known = PayoutState::ALL.map(PayoutState::as_str);
        ApiError::invalid("state", error)
            .nearest(text, known)
            .or_hint(|| format!("one of {}", known.join(", ")))
    })
}

/// Shows a payout with its approvals, its transactions, and what the rules say of it today.
#[utoipa::path(get, path = "/api/v1/payouts/{id}", tag = "payouts", security(("key" = [])),
    params(("id" = String, Path, description = "the payout's id")),
    responses(
        (status = 200, description = "the answer", body = PayoutDetail),
        (status = 401, description = "it takes a key", body = ErrorBody),
        (status = 404, description = "there is no such payout", body = ErrorBody),
    ))]
pub(crate) async fn payout(
    gate: Gate,
    PayoutPath(id): PayoutPath,
    Pairs(pairs): Pairs,
) -> ApiResult<Json<PayoutDetail>> {
    let admitted = gate.admit(Verb::Read).await?;
    Params::read(pairs, &[])?;
    let payout = read::payout(&*admitted.pay.ledger, payout_id(&id)?).await?;
    Ok(Json(PayoutDetail::of(&admitted, payout).await?))
}
