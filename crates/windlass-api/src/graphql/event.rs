//! Rows of an event, as a connection.

use async_graphql::connection::{Connection, Edge, EmptyFields};
use async_graphql::{Enum, InputObject, Json, SimpleObject};
use serde_json::{Map, Value};
use windlass_core::row_query::{Condition, RowOrder};
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::{EventRow, TableSpec};
use windlass_core::value_text::ValueJson;

use super::scalar::Long;
use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::filter::{Operator, compare};
use crate::limits::{DEFAULT_PAGE_ROWS, MAX_PAGE_ROWS};
use crate::page::PageQuery;

/// A log that was collected.
#[derive(Debug, SimpleObject)]
#[graphql(name = "Event")]
pub(crate) struct EventNode {
    block_number: Long,
    log_index: u32,
    block_hash: String,
    /// The block's time, in seconds since 1970.
    timestamp: Long,
    transaction_hash: String,
    /// The contract.
    address: String,
    /// The event's own fields by name. Integers that need more than 64 bits are decimal strings.
    fields: Json<Value>,
}

/// In which order rows come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum)]
pub(crate) enum Order {
    /// As the chain made them.
    Asc,
    /// Newest first.
    Desc,
}

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Enum, Default)]
pub(crate) enum Comparator {
    #[default]
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    /// One of `values`.
    In,
}

/// What a row has to meet.
#[derive(Debug, InputObject)]
pub(crate) struct Filter {
    /// A column, by the name of its field or its SQL name; or `block`, `log_index`,
    /// `block_hash`, `block_timestamp`, `transaction_hash`, `address`.
    column: String,
    #[graphql(default)]
    op: Comparator,
    /// What it is compared with, as text: decimal or `0x…`, an address, a time.
    value: Option<String>,
    /// Several, for `IN`.
    values: Option<Vec<String>>,
}

/// Which page.
pub(super) struct Asked {
    pub(super) filter: Option<Vec<Filter>>,
    pub(super) first: Option<i32>,
    pub(super) after: Option<String>,
    pub(super) order: Option<Order>,
}

pub(crate) type EventConnection = Connection<String, EventNode, EmptyFields, EmptyFields>;

/// How many rows a query asks for, for what it counts as; too many are refused later.
pub(super) fn rows_asked(first: Option<i32>) -> usize {
    first.map_or(DEFAULT_PAGE_ROWS as usize, |first| usize::try_from(first).unwrap_or(0))
}

/// How many rows a page has; too many are refused.
pub(super) fn page_limit(argument: &str, asked: Option<i32>) -> ApiResult<u32> {
    let limit = asked.map_or(Some(DEFAULT_PAGE_ROWS), |asked| u32::try_from(asked).ok());
    limit
        .filter(|limit| (1..=MAX_PAGE_ROWS).contains(limit))
        .ok_or_else(|| ApiError::invalid(argument, format!("it is a number from 1 to {MAX_PAGE_ROWS}")))
}

/// A page of rows.
pub(super) async fn page(store: &dyn Store, table: &TableInfo, asked: Asked) -> ApiResult<EventConnection> {
    let limit = page_limit("first", asked.first)?;
    let query = PageQuery {
        table: &table.spec,
        conditions: &conditions(&table.spec, asked.filter)?,
        order: asked.order.map(|order| match order {
            Order::Asc => RowOrder::OldestFirst,
            Order::Desc => RowOrder::NewestFirst,
        }),
        after: asked.after.as_deref(),
        limit,
    };
    let page = query.read(store).await?;
    let mut connection = Connection::new(asked.after.is_some(), page.has_more);
    for row in &page.rows {
        connection.edges.push(Edge::new(page.cursor(row), node(&table.spec, row)?));
    }
    Ok(connection)
}

/// Filters as conditions.
pub(super) fn conditions(table: &TableSpec, filter: Option<Vec<Filter>>) -> ApiResult<Vec<Condition>> {
    let mut conditions = Vec::new();
    for filter in filter.into_iter().flatten() {
        let values = match (&filter.value, &filter.values) {
            (Some(value), None) => vec![value.as_str()],
            (None, Some(values)) => values.iter().map(String::as_str).collect(),
            _ => {
                let told = format!("the filter on `{}` needs either `value` or `values`", filter.column);
                return Err(ApiError::new(ErrorCode::InvalidParameter, told));
            }
        };
        compare(table, &mut conditions, &filter.column, filter.op.into(), &values)?;
    }
    Ok(conditions)
}

impl From<Comparator> for Operator {
    fn from(comparator: Comparator) -> Self {
        match comparator {
            Comparator::Eq => Self::Eq,
            Comparator::Ne => Self::Ne,
            Comparator::Gt => Self::Gt,
            Comparator::Gte => Self::Gte,
            Comparator::Lt => Self::Lt,
            Comparator::Lte => Self::Lte,
            Comparator::In => Self::In,
        }
    }
}

fn node(table: &TableSpec, row: &EventRow) -> ApiResult<EventNode> {
    let mut fields = Map::with_capacity(row.values.len());
    for (column, value) in table.columns.iter().zip(&row.values) {
        let value = serde_json::to_value(ValueJson::new(column.kind, value)).map_err(ApiError::internal)?;
        fields.insert(column.field.clone(), value);
    }
    Ok(EventNode {
        block_number: Long(row.head.block.number),
        log_index: row.head.log_index,
        block_hash: row.head.block.hash.to_string(),
        timestamp: Long(row.head.timestamp_s),
        transaction_hash: row.head.transaction_hash.to_string(),
        address: row.head.address.to_string(),
        fields: Json(Value::Object(fields)),
    })
}
