//! What a day holds.

use async_graphql::SimpleObject;

use crate::graphql::scalar::Long;
use crate::payouts::totals::{StateCountBody, TokenTotalBody, TotalsBody};

/// What a day holds.
#[derive(Debug, SimpleObject)]
pub(crate) struct DailyTotals {
    /// The day, in UTC.
    day: String,
    /// The tokens that are paid, by address.
    tokens: Vec<TokenTotal>,
    /// How many payouts stand where, of all days.
    states: Vec<StateCount>,
}

/// What a day holds of a token. Amounts are in base units, decimal.
#[derive(Debug, SimpleObject)]
struct TokenTotal {
    token: String,
    asset: String,
    /// Held for payouts that were approved.
    held: String,
    /// The most that a day may hold; nothing where there is no limit.
    limit: Option<String>,
    /// What is left of it.
    headroom: Option<String>,
}

/// How many payouts stand somewhere.
#[derive(Debug, SimpleObject)]
struct StateCount {
    status: String,
    count: Long,
}

impl From<TotalsBody> for DailyTotals {
    fn from(body: TotalsBody) -> Self {
        let token = |total: TokenTotalBody| {
            let TokenTotalBody { token, asset, held, limit, headroom } = total;
            TokenTotal { token, asset, held, limit, headroom }
        };
        let state = |state: StateCountBody| StateCount { status: state.state, count: Long(state.count) };
        Self {
            day: body.day,
            tokens: body.tokens.into_iter().map(token).collect(),
            states: body.states.into_iter().map(state).collect(),
        }
    }
}
