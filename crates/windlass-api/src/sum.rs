//! Totals of a column, exact.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use windlass_core::row_query::{Condition, Place, SumGroup, SumQuery};
use windlass_core::store::Store;
use windlass_core::table::{Identifier, TableSpec};
use windlass_core::value_text::ValueJson;

use crate::catalog::find_table;
use crate::column_type::{has_sum, summable, type_name};
use crate::error::{ApiError, ApiResult, ErrorBody};
use crate::extract::{EventPath, Pairs};
use crate::filter::{Asked, named_place, within_blocks};
use crate::limits::MAX_GROUPS;
use crate::state::ApiState;

/// What the sum's own parameters are called.
const OWN: [&str; 3] = ["column", "by", "limit"];

/// Which total is asked for.
#[derive(Debug)]
pub(crate) struct TotalQuery<'a> {
    pub(crate) table: &'a Arc<TableSpec>,
    pub(crate) conditions: &'a [Condition],
    pub(crate) column: &'a str,
    pub(crate) by: Option<&'a str>,
    pub(crate) limit: u32,
}

/// Totals.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SumBody {
    /// Without `by` there is one; with it they come by value, the lowest first.
    pub(crate) data: Vec<Total>,
    /// Whether there are more groups than were asked for.
    pub(crate) truncated: bool,
}

/// A total.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Total {
    /// The value that the rows share; `null` without `by`.
    pub(crate) by: Option<Value>,
    /// A decimal number, exact, of any length.
    pub(crate) sum: String,
    /// Of how many rows.
    pub(crate) rows: u64,
}

/// Adds up a column of the rows that meet the filters, which are those of the list.
#[utoipa::path(get, path = "/api/v1/events/{index}/{event}/sum", tag = "events",
    params(
        ("index" = String, Path, description = "the index's name"),
        ("event" = String, Path, description = "the event's name, or its table's"),
        ("column" = String, Query, description = "an integer column, by the name of its field or its SQL name"),
        ("by" = Option<String>, Query, description = "a column, or `address`: one total for each of its values"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "groups, by default 1000"),
    ),
    responses(
        (status = 200, description = "the answer", body = SumBody),
        (status = 400, description = "the question makes no sense", body = ErrorBody),
        (status = 404, description = "there is no such index or event", body = ErrorBody),
    ))]
pub(crate) async fn sum(
    State(state): State<ApiState>,
    EventPath { index, event }: EventPath,
    Pairs(pairs): Pairs,
) -> ApiResult<Json<SumBody>> {
    let table = find_table(state.store(), &index, &event).await?;
    let asked = Asked::read(&table.spec, &OWN, pairs)?;
    let missing = || ApiError::invalid("column", "it is missing").hint(summable(&table.spec));
    let column = asked.control("column").ok_or_else(missing)?;
    let query = TotalQuery {
        table: &table.spec,
        conditions: &asked.conditions,
        column,
        by: asked.control("by"),
        limit: asked.number("limit", MAX_GROUPS, MAX_GROUPS)?,
    };
    Ok(Json(query.read(state.store()).await?))
}

impl TotalQuery<'_> {
    pub(crate) async fn read(self, store: &dyn Store) -> ApiResult<SumBody> {
        let column = self.summed()?;
        let by = self.grouped()?;
        let query = SumQuery {
            table: self.table.name.clone(),
            conditions: self.conditions.to_vec(),
            column,
            by: by.clone(),
            limit: self.limit + 1,
        };
        query.validate(self.table)?;
        let conditions = within_blocks(store, &self.table.name, &query.conditions).await?;
        let mut groups = store.sum_rows(&SumQuery { conditions, ..query }).await?;
        let truncated = groups.len() > self.limit as usize;
        groups.truncate(self.limit as usize);
        let data =
            groups.into_iter().map(|group| self.total(by.as_ref(), group)).collect::<ApiResult<_>>()?;
        Ok(SumBody { data, truncated })
    }

    fn summed(&self) -> ApiResult<Identifier> {
        let place = named_place(self.table, "column", self.column);
        let place = place.map_err(|error| error.or_hint(|| summable(self.table)))?;
        let told = match place {
            Place::Column(name) if has_sum(Place::Column(name.clone()).kind(self.table)?) => return Ok(name),
            Place::Column(name) => {
                format!("`{}` is of type `{}` and has no sum", self.column, type_name(self.table, &name))
            }
            _ => format!("`{}` is no column of the event's own and has no sum", self.column),
        };
        Err(ApiError::invalid("column", told).hint(summable(self.table)))
    }

    fn grouped(&self) -> ApiResult<Option<Place>> {
        let Some(name) = self.by else { return Ok(None) };
        match named_place(self.table, "by", name)? {
            place @ (Place::Address | Place::Column(_)) => Ok(Some(place)),
            _ => Err(ApiError::invalid("by", format!("there are no totals by `{name}`"))
                .hint("name a column of the event, or `address`")),
        }
    }

    fn total(&self, by: Option<&Place>, group: SumGroup) -> ApiResult<Total> {
        let kind = by.map(|place| place.kind(self.table)).transpose()?;
        let value = kind.zip(group.by.as_ref()).map(|(kind, value)| ValueJson::new(kind, value));
        let by = value.map(serde_json::to_value).transpose().map_err(ApiError::internal)?;
        Ok(Total { by, sum: group.sum, rows: group.rows })
    }
}
