//! What a field of a table is answered with.

use async_graphql::{Context, OutputType, Result, SelectionField, Value};
use windlass_core::row_query::{Condition, Place};
use windlass_core::store::Store;
use windlass_core::table::EventRow;

use super::argument::{Arguments, OrderDirection};
use super::column::TypedColumn;
use super::{TableField, TypedTable, select};
use crate::error::{ApiError, ApiResult};
use crate::filter::{Operator, push_condition, within_blocks};
use crate::graphql::event::page_limit;
use crate::graphql::payout::turn;
use crate::graphql::sum::Totals;
use crate::limits::MAX_GROUPS;
use crate::page::{Page, PageQuery};
use crate::state::ApiParts;
use crate::sum::TotalQuery;

impl TypedTable {
    /// The answer to a field of `Query`. Only a few are read at once, however many are asked for.
    pub(super) async fn answer(&self, field: TableField, context: &Context<'_>) -> Result<Value> {
        let store = &*context.data::<ApiParts>()?.store;
        let arguments = Arguments::of(context)?;
        let _turn = turn(context).await?;
        match field {
            TableField::Row => self.row(store, &arguments, context.field()).await,
            TableField::Page => self.page(store, &arguments, context.field()).await,
            TableField::Count => self.count(store, &arguments).await,
            TableField::Sum => {
                let totals = self.sum(store, &arguments).await?;
                let selected = context.with_selection_set(&context.item.node.selection_set);
                Ok(totals.resolve(&selected, context.item).await?)
            }
        }
    }

    /// The row of a key; null where there is none.
    async fn row(
        &self,
        store: &dyn Store,
        arguments: &Arguments,
        selected: SelectionField<'_>,
    ) -> Result<Value> {
        let mut conditions = Vec::new();
        for (name, place) in [("blockNumber", Place::Block), ("logIndex", Place::LogIndex)] {
            let text = arguments.value(name).map(Value::to_string).unwrap_or_default();
            push_condition(&self.spec, &mut conditions, name, place, Operator::Eq, &[&text])?;
        }
        let query = self.query(&conditions, 1);
        let page = query.read(store).await?;
        Ok(page.rows.first().map_or(Ok(Value::Null), |row| self.show(row, selected))?)
    }

    async fn page(
        &self,
        store: &dyn Store,
        arguments: &Arguments,
        selected: SelectionField<'_>,
    ) -> Result<Value> {
        let limit = page_limit("limit", arguments.get("limit")?)?;
        let conditions = self.conditions(arguments.value("where"))?;
        let after: Option<String> = arguments.get("after")?;
        let direction: Option<OrderDirection> = arguments.get("orderDirection")?;
        let query = PageQuery {
            order: direction.map(Into::into),
            after: after.as_deref(),
            ..self.query(&conditions, limit)
        };
        let page = query.read(store).await?;
        let shown = select::object(selected, &self.names.page_type(), |field| match field.name() {
            "items" => {
                page.rows.iter().map(|row| self.show(row, field)).collect::<ApiResult<_>>().map(Value::List)
            }
            _ => page_info(&page, after.is_some(), field),
        });
        Ok(shown?)
    }

    async fn count(&self, store: &dyn Store, arguments: &Arguments) -> Result<Value> {
        let conditions = self.conditions(arguments.value("where"))?;
        let conditions = within_blocks(store, &self.spec.name, &conditions).await?;
        let count = store.count_rows(&self.spec.name, &conditions).await.map_err(ApiError::from)?;
        Ok(Value::from(count))
    }

    async fn sum(&self, store: &dyn Store, arguments: &Arguments) -> Result<Totals> {
        let conditions = self.conditions(arguments.value("where"))?;
        let column = self.column(arguments.entry("column").unwrap_or_default())?.parameter();
        let by = arguments.entry("by").map(|by| self.column(by)).transpose()?;
        let by = by.map(TypedColumn::parameter);
        let query = TotalQuery {
            table: &self.spec,
            conditions: &conditions,
            column: &column,
            by: by.as_deref(),
            limit: MAX_GROUPS,
        };
        Ok(query.read(store).await?.into())
    }

    /// The newest rows that meet these conditions.
    fn query<'a>(&'a self, conditions: &'a [Condition], limit: u32) -> PageQuery<'a> {
        PageQuery { table: &self.spec, conditions, order: None, after: None, limit }
    }

    fn column(&self, name: &str) -> ApiResult<&TypedColumn> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| ApiError::invalid("column", format!("there is no column `{name}`")))
    }

    fn show(&self, row: &EventRow, selected: SelectionField<'_>) -> ApiResult<Value> {
        select::object(selected, &self.names.row_type(), |field| self.column(field.name())?.value(row))
    }
}

fn page_info(page: &Page, is_behind: bool, selected: SelectionField<'_>) -> ApiResult<Value> {
    let cursor = |row: Option<&EventRow>| row.map_or(Value::Null, |row| Value::from(page.cursor(row)));
    select::object(selected, "PageInfo", |field| {
        Ok(match field.name() {
            "hasNextPage" => Value::from(page.has_more),
            "hasPreviousPage" => Value::from(is_behind),
            "startCursor" => cursor(page.rows.first()),
            _ => cursor(page.rows.last()),
        })
    })
}
