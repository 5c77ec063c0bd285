//! What the fields of a table count as: as much as those of `events`, `count` and `sum`.
//!
//! A filter by time counts more. The store keeps rows by block, so the blocks at a time are
//! searched for with a few dozen questions.

use async_graphql::parser::types::{Field, VariableDefinition};
use async_graphql::{Json, Positioned, ServerResult, VisitorContext};
use serde_json::{Map, Value};

use crate::graphql::event::rows_asked;
use crate::limits::{GRAPHQL_PAGE_COMPLEXITY, GRAPHQL_SUM_COMPLEXITY, GRAPHQL_TIME_COMPLEXITY};

type Variables<'a> = &'a [Positioned<VariableDefinition>];

/// A row by its key is a page of one.
pub(super) fn row(
    _: &VisitorContext<'_>,
    _: Variables<'_>,
    _: &Field,
    selected: usize,
) -> ServerResult<usize> {
    Ok(GRAPHQL_PAGE_COMPLEXITY.saturating_add(selected))
}

pub(super) fn page(
    visitor: &VisitorContext<'_>,
    variables: Variables<'_>,
    field: &Field,
    selected: usize,
) -> ServerResult<usize> {
    let limit = visitor.param_value::<Option<i32>>(variables, field, "limit", None)?;
    let rows = rows_asked(limit).saturating_mul(selected);
    Ok(GRAPHQL_PAGE_COMPLEXITY.saturating_add(rows).saturating_add(searches(visitor, variables, field)?))
}

pub(super) fn total(
    visitor: &VisitorContext<'_>,
    variables: Variables<'_>,
    field: &Field,
    selected: usize,
) -> ServerResult<usize> {
    let searches = searches(visitor, variables, field)?;
    Ok(GRAPHQL_SUM_COMPLEXITY.saturating_add(selected).saturating_add(searches))
}

/// What the filters by time count as.
fn searches(visitor: &VisitorContext<'_>, variables: Variables<'_>, field: &Field) -> ServerResult<usize> {
    let given = visitor.param_value::<Option<Json<Value>>>(variables, field, "where", None)?;
    let ends = match given {
        Some(Json(Value::Object(filters))) => ends(&filters),
        _ => 0,
    };
    Ok(ends.saturating_mul(GRAPHQL_TIME_COMPLEXITY))
}

/// For how many ends of spans of time the blocks are searched for.
fn ends(filters: &Map<String, Value>) -> usize {
    let ends = |name: &str| match name.strip_prefix("timestamp") {
        Some("" | "_in") => 2,
        Some("_gt" | "_gte" | "_lt" | "_lte") => 1,
        _ => 0,
    };
    filters.keys().map(|name| ends(name)).sum()
}
