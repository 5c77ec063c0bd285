//! Asking for payouts.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use windlass_core::payout::desk::{Created, NewPayout};

use super::asked::{Draft, Names, invalid_field};
use super::body::CreatedBody;
use super::sent::{Fields, Params, header_key, one_key, prefix};
use crate::access::{Admitted, Gate, Verb};
use crate::error::{ApiResult, ErrorBody};
use crate::extract::Pairs;

/// A payout as it is asked for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "it describes what is read field by field")]
pub(crate) struct AskBody {
    /// Who gets it: in lower case, or with the capitals of its checksum.
    to: String,
    /// How much, in base units of the token, decimal.
    #[schema(example = "1000000")]
    amount: String,
    /// The token's symbol, or its address; for the chain's own coin its symbol, or the zero address.
    #[schema(example = "USDC")]
    token: String,
    /// The same key is the same payout, for ever. Without one a random key is given.
    idempotency_key: Option<String>,
    /// What it is for: up to 500 bytes on one line. The same key with another memo is answered with
    /// the stored payout, unchanged.
    memo: Option<String>,
    /// Your identifier for it in another system: up to 200 bytes. It never changes, either.
    reference: Option<String>,
}

/// Payouts that are asked for together.
#[derive(Debug, Deserialize, ToSchema)]
#[expect(dead_code, reason = "it describes what is read field by field")]
pub(crate) struct AskListBody {
    /// Up to 1000.
    payouts: Vec<AskBody>,
}

/// A payout, or many.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what is read field by field")]
pub(crate) enum AskingBody {
    One(AskBody),
    Many(AskListBody),
}

/// Payouts that were asked for together.
#[derive(Debug, Serialize, ToSchema)]
pub struct CreatedListBody {
    /// In the order of the request.
    pub data: Vec<CreatedBody>,
}

/// A payout that was asked for, or many.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum AnswerBody {
    One(Box<CreatedBody>),
    Many(CreatedListBody),
}

/// Asks for a payout, or for many: for all or for none.
///
/// The body is a payout, or `{"payouts": […]}` with up to 1000. A key that was used for the
/// same payout is answered with that payout; used for another, it is refused with 409. With
/// `dryRun=true` nothing is asked for: the answer shows what would be, has `dryRun: true`, and no id for
/// a payout that was not stored.
#[utoipa::path(post, path = "/api/v1/payouts", operation_id = "create_payouts", tag = "payouts", security(("key" = [])),
    params(
        ("dryRun" = Option<bool>, Query, description = "only shows what would become of it"),
        ("Idempotency-Key" = Option<String>, Header, description = "the key of a single payout, instead of `idempotencyKey`"),
    ),
    request_body = AskingBody,
    responses(
        (status = 201, description = "it was asked for; of a list, at least one", body = AnswerBody),
        (status = 200, description = "the key was known, or nothing was to be asked for", body = AnswerBody),
        (status = 400, description = "something is wrong with a field, which is named", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
        (status = 403, description = "the key's role may not", body = ErrorBody),
        (status = 409, description = "the key was used for another payout", body = ErrorBody),
        (status = 413, description = "the body is too long", body = ErrorBody),
    ))]
pub(crate) async fn create(
    gate: Gate,
    Pairs(pairs): Pairs,
    request: Request,
) -> ApiResult<(StatusCode, Json<AnswerBody>)> {
    let admitted = gate.admit(Verb::Create).await?;
    let is_dry_run = Params::read(pairs, &["dryRun"])?.flag("dryRun")?;
    let headers = request.headers().clone();
    let (drafts, is_list) = Fields::read(request).await?.drafts()?;
    let asked = requests(&admitted, with_header(drafts, is_list, &headers)?, is_list)?;
    let created =
        if is_dry_run { admitted.preview_all(&asked).await? } else { admitted.create(&asked).await? };
    Ok(answer(&admitted, created, is_list, is_dry_run))
}

/// The same, with the key of the header.
fn with_header(mut drafts: Vec<Draft>, is_list: bool, headers: &HeaderMap) -> ApiResult<Vec<Draft>> {
    let Some(key) = header_key(headers)? else { return Ok(drafts) };
    if is_list {
        return Err(invalid_field("Idempotency-Key", "it names one payout, and this is a list"));
    }
    for draft in &mut drafts {
        draft.key = one_key(draft.key.take(), Some(key.clone()))?;
    }
    Ok(drafts)
}

/// What the drafts ask for. One key for two different payouts is told here, where their
/// places are known.
fn requests(admitted: &Admitted, drafts: Vec<Draft>, is_list: bool) -> ApiResult<Vec<NewPayout>> {
    let mut requests: Vec<NewPayout> = Vec::with_capacity(drafts.len());
    let mut keys = BTreeMap::new();
    for (at, draft) in drafts.iter().enumerate() {
        let prefix = if is_list { prefix(at) } else { String::new() };
        let names = Names { prefix, token: "token" };
        let new = draft.read(&admitted.pay.info, &names)?;
        let first = *keys.entry(new.request.key.clone()).or_insert(at);
        if first != at && requests[first].request.parameters_hash() != new.request.parameters_hash() {
            let why = format!("`payouts[{first}]` has the same key, and asks for something else");
            return Err(invalid_field(&format!("{}idempotencyKey", names.prefix), why));
        }
        requests.push(new);
    }
    Ok(requests)
}

fn answer(
    admitted: &Admitted,
    created: Vec<Created>,
    is_list: bool,
    is_dry_run: bool,
) -> (StatusCode, Json<AnswerBody>) {
    let body = if is_dry_run { CreatedBody::preview } else { CreatedBody::new };
    let tokens = &admitted.pay.info.tokens;
    let mut data: Vec<CreatedBody> = created.into_iter().map(|created| body(tokens, created)).collect();
    let is_made = !is_dry_run && data.iter().any(|created| created.is_new);
    let status = if is_made { StatusCode::CREATED } else { StatusCode::OK };
    let one = if is_list { None } else { data.pop() };
    let body = match one {
        Some(one) => AnswerBody::One(Box::new(one)),
        None => AnswerBody::Many(CreatedListBody { data }),
    };
    (status, Json(body))
}
