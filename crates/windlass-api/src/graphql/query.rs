//! What can be asked about what was collected.

use async_graphql::{Context, Object, Result};

use super::event::{Asked, EventConnection, Filter, Order, conditions, page, rows_asked};
use super::index::Index;
use super::scalar::Long;
use super::sum::Totals;
use crate::catalog::find_table;
use crate::error::ApiError;
use crate::filter::within_blocks;
use crate::indexes::list;
use crate::limits::{GRAPHQL_PAGE_COMPLEXITY, GRAPHQL_SUM_COMPLEXITY, MAX_GROUPS};
use crate::state::ApiParts;
use crate::sum::TotalQuery;

/// Questions about what was collected.
#[derive(Debug, Default)]
pub(crate) struct EventQueries;

#[Object]
impl EventQueries {
    /// The rows of an event that meet the filters, newest first unless told otherwise.
    #[graphql(complexity = "GRAPHQL_PAGE_COMPLEXITY + rows_asked(first).saturating_mul(child_complexity)")]
    #[expect(clippy::too_many_arguments, reason = "they are the arguments of the field")]
    async fn events(
        &self,
        context: &Context<'_>,
        index: String,
        #[graphql(desc = "The event's name, or its table's where the index has several of that name.")]
        event: String,
        filter: Option<Vec<Filter>>,
        #[graphql(desc = "1 to 1000, by default 100.")] first: Option<i32>,
        #[graphql(desc = "The cursor of the edge to go on behind.")] after: Option<String>,
        order: Option<Order>,
    ) -> Result<EventConnection> {
        let parts = context.data::<ApiParts>()?;
        let table = find_table(&*parts.store, &index, &event).await?;
        Ok(page(&*parts.store, &table, Asked { filter, first, after, order }).await?)
    }

    /// How many rows meet the filters.
    #[graphql(complexity = "GRAPHQL_SUM_COMPLEXITY + child_complexity")]
    async fn count(
        &self,
        context: &Context<'_>,
        index: String,
        event: String,
        filter: Option<Vec<Filter>>,
    ) -> Result<Long> {
        let store = &*context.data::<ApiParts>()?.store;
        let table = find_table(store, &index, &event).await?;
        let conditions = conditions(&table.spec, filter)?;
        let conditions = within_blocks(store, &table.spec.name, &conditions).await?;
        let count = store.count_rows(&table.spec.name, &conditions).await.map_err(ApiError::from)?;
        Ok(Long(count))
    }

    /// The total of an integer column over the rows that meet the filters, exact.
    #[graphql(complexity = "GRAPHQL_SUM_COMPLEXITY + child_complexity")]
    async fn sum(
        &self,
        context: &Context<'_>,
        index: String,
        event: String,
        column: String,
        #[graphql(desc = "A column, or `address`: one total for each of its values.")] by: Option<String>,
        filter: Option<Vec<Filter>>,
    ) -> Result<Totals> {
        let store = &*context.data::<ApiParts>()?.store;
        let table = find_table(store, &index, &event).await?;
        let conditions = conditions(&table.spec, filter)?;
        let query = TotalQuery {
            table: &table.spec,
            conditions: &conditions,
            column: &column,
            by: by.as_deref(),
            limit: MAX_GROUPS,
        };
        Ok(query.read(store).await?.into())
    }

    /// Every index with its tables, rows, progress and gaps.
    #[graphql(complexity = "GRAPHQL_SUM_COMPLEXITY + child_complexity")]
    async fn indexes(&self, context: &Context<'_>) -> Result<Vec<Index>> {
        let parts = context.data::<ApiParts>()?;
        Ok(list(parts).await?.into_iter().map(Index::from).collect())
    }
}
