//! Typed tables of events.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `registry` | which tables there are, and who locks what when |
//! | `write` | rows in and out, within a commit |
//! | `growth` | how many rows each table has, written last |
//! | `question`, `read` | questions as SQL, and what is read |
//! | `index` | indexes of columns |
//! | `view` | views for people |
//! | `param`, `exact` | values as parameters, and wide integers as NUMERIC |

mod exact;
mod growth;
mod index;
mod param;
mod question;
mod read;
pub(crate) mod registry;
mod view;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::commit::Durability;
use windlass_core::error::StoreResult;
use windlass_core::row_query::{Condition, RowQuery, SumGroup, SumQuery};
use windlass_core::store::{TableInfo, Tables};
use windlass_core::table::{EventRow, Identifier, TableSpec};

pub(crate) use self::growth::Growth;
pub(crate) use self::write::{erase, insert, is_bulk, retract};

use crate::PostgresStore;

#[async_trait]
impl Tables for PostgresStore {
    /// Looks first: a restart, which makes nothing, needs no lock and no right to create.
    async fn create_tables(&self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
        if self.read(tables, |tx, tables| Box::pin(registry::all_known(tx, tables))).await? {
            return Ok(Vec::new());
        }
        self.write(Durability::Full, tables, |tx, tables| Box::pin(registry::create(tx, tables))).await
    }

    async fn drop_table(&self, name: &Identifier) -> StoreResult<bool> {
        self.write(Durability::Full, name, |tx, name| Box::pin(registry::drop_table(tx, name))).await
    }

    async fn list_tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.read(&(), |tx, ()| Box::pin(registry::list(tx))).await
    }

    async fn rows(&self, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
        if question::is_by_key(query) {
            return self.read(query, |tx, query| Box::pin(read::rows(tx, query))).await;
        }
        self.scan(query, |tx, query| Box::pin(read::rows(tx, query))).await
    }

    async fn count_rows(&self, table: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
        if conditions.is_empty() {
            return self.read(table, |tx, table| Box::pin(registry::count(tx, table))).await;
        }
        let asked = &(table, conditions);
        if question::is_by_block(conditions) {
            return self
                .read(asked, |tx, (table, conditions)| Box::pin(read::count(tx, table, conditions)))
                .await;
        }
        self.scan(asked, |tx, (table, conditions)| Box::pin(read::count(tx, table, conditions))).await
    }

    async fn sum_rows(&self, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
        self.scan(query, |tx, query| Box::pin(read::totals(tx, query))).await
    }

    async fn column_indexes(&self, table: &Identifier) -> StoreResult<Vec<Identifier>> {
        self.read(table, |tx, table| Box::pin(index::list(tx, table))).await
    }

    async fn create_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.require_indexable(table, column).await?;
        index::create(self, table, column).await.map_err(|fault| fault.explain(&self.inner.place))
    }

    async fn drop_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        self.require_indexable(table, column).await?;
        index::drop(self, table, column).await.map_err(|fault| fault.explain(&self.inner.place))
    }
}

impl PostgresStore {
    /// Makes the views that are missing: of tables that an earlier version has made.
    pub(crate) async fn make_views(&self) -> StoreResult<()> {
        if self.read(&(), |tx, ()| Box::pin(view::is_any_missing(tx))).await? {
            self.write(Durability::Full, &(), |tx, ()| Box::pin(view::make_missing(tx))).await?;
        }
        Ok(())
    }

    /// Refuses an index of a column that cannot have one.
    async fn require_indexable(&self, table: &Identifier, column: &Identifier) -> StoreResult<()> {
        let spec = self.read(table, |tx, table| Box::pin(registry::require(tx, table))).await?;
        spec.require_indexable(column)
    }
}
