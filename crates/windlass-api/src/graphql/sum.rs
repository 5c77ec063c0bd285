//! Totals of a column.

use async_graphql::{Json, SimpleObject};
use serde_json::Value;

use super::scalar::Long;
use crate::sum::SumBody;

/// Totals of a column.
#[derive(Debug, SimpleObject)]
pub(crate) struct Totals {
    /// Without `by` there is one; with it they come by value, the lowest first.
    groups: Vec<TotalGroup>,
    /// Whether there are more groups than were asked for.
    truncated: bool,
}

/// A total.
#[derive(Debug, SimpleObject)]
struct TotalGroup {
    /// The value that the rows share.
    by: Option<Json<Value>>,
    /// A decimal number, exact, of any length.
    sum: String,
    /// Of how many rows.
    rows: Long,
}

impl From<SumBody> for Totals {
    fn from(body: SumBody) -> Self {
        let group = |total: crate::sum::Total| TotalGroup {
            by: total.by.map(Json),
            sum: total.sum,
            rows: Long(total.rows),
        };
        Self { groups: body.data.into_iter().map(group).collect(), truncated: body.truncated }
    }
}
