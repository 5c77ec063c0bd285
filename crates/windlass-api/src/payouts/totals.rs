//! How much of each token a day holds, and how many payouts stand where.

use std::collections::BTreeSet;

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use windlass_core::chain::{Address, U256};
use windlass_core::payout::day::UtcDay;
use windlass_core::payout::ledger::BudgetKey;
use windlass_core::payout::store::MAX_PAYOUT_PAGE;
use windlass_core::time::Timestamp;

use super::Pay;
use super::sent::Params;
use crate::access::{Gate, Verb};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::Pairs;
use crate::filter::shown;

/// What a day holds.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TotalsBody {
    /// The day, in UTC.
    #[schema(example = "2026-11-16")]
    pub(crate) day: String,
    /// The tokens that are paid, by address.
    pub(crate) tokens: Vec<TokenTotalBody>,
    /// How many payouts stand where, of all days.
    pub(crate) states: Vec<StateCountBody>,
}

/// What a day holds of a token. Amounts are in base units, decimal.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenTotalBody {
    pub(crate) token: String,
    /// What people call the token; its address where that is not known.
    pub(crate) asset: String,
    /// Held for payouts that were approved.
    pub(crate) held: String,
    /// The most that a day may hold; `null` where there is no limit.
    pub(crate) limit: Option<String>,
    /// What is left of it.
    pub(crate) headroom: Option<String>,
}

/// How many payouts stand somewhere.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateCountBody {
    pub(crate) state: String,
    pub(crate) count: u64,
}

/// Tells what a day holds of each token and what is left of its limit.
#[utoipa::path(get, path = "/api/v1/payouts/totals", operation_id = "payout_totals", tag = "payouts", security(("key" = [])),
    params(("day" = Option<String>, Query, description = "a date in UTC, by default today")),
    responses(
        (status = 200, description = "the answer", body = TotalsBody),
        (status = 400, description = "it is no date", body = ErrorBody),
        (status = 401, description = "it takes a key", body = ErrorBody),
    ))]
pub(crate) async fn totals(gate: Gate, Pairs(pairs): Pairs) -> ApiResult<Json<TotalsBody>> {
    let admitted = gate.admit(Verb::Read).await?;
    let params = Params::read(pairs, &["day"])?;
    Ok(Json(read(&admitted.pay, params.get("day")).await?))
}

/// What a day holds; today by the store's clock unless one is named.
pub(crate) async fn read(pay: &Pay, day: Option<&str>) -> ApiResult<TotalsBody> {
    let day = match day {
        Some(text) => self::day(text)?,
        None => UtcDay::of(pay.store.now().await?),
    };
    let (info, mut tokens) = (&pay.info, Vec::new());
    let paid: BTreeSet<Address> = info.tokens.keys().chain(info.rules.tokens.keys()).copied().collect();
    let keys: Vec<BudgetKey> =
        paid.into_iter().map(|token| BudgetKey { vault: info.vault, token, day, to: None }).collect();
    for keys in keys.chunks(MAX_PAYOUT_PAGE as usize) {
        for budget in pay.ledger.budgets(keys).await? {
            tokens.push(token(pay, budget.key.token, budget.total));
        }
    }
    let states = pay.ledger.count_payouts().await?.into_iter();
    let states = states.map(|(state, count)| StateCountBody { state: state.to_string(), count }).collect();
    Ok(TotalsBody { day: day.to_string(), tokens, states })
}

fn token(pay: &Pay, token: Address, held: U256) -> TokenTotalBody {
    let limit = pay.info.rules.limits_of(token).max_daily_total;
    TokenTotalBody {
        token: token.to_checksum(None),
        asset: pay.asset(token),
        held: held.to_string(),
        limit: limit.map(|limit| limit.to_string()),
        headroom: limit.map(|limit| limit.saturating_sub(held).to_string()),
    }
}

/// A date, as a day.
fn day(text: &str) -> ApiResult<UtcDay> {
    let midnight = text.parse::<jiff::civil::Date>().ok().filter(|_| text.len() == "2026-11-16".len());
    let midnight = midnight.and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC).ok());
    midnight.map(|midnight| UtcDay::of(Timestamp::from_ms(midnight.timestamp().as_millisecond()))).ok_or_else(
        || ApiError::invalid("day", format!("`{}` is not a date such as 2026-11-16", shown(text))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_named_by_its_date() {
        for date in ["1970-01-01", "2000-02-29", "2026-11-16"] {
            assert_eq!(day(date).unwrap().to_string(), date);
        }
        for bad in ["", "today", "2026-13-01", "2026-02-30", "2026-11-16T00:00:00", "20261116"] {
            assert!(day(bad).is_err(), "{bad}");
        }
    }
}
