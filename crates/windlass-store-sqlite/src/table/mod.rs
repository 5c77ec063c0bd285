//! Typed tables of events.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `registry` | which tables there are, and how many rows each has |
//! | `write` | rows in and out, within a commit |
//! | `question`, `read` | questions as SQL, and what is read |
//! | `exact` | wide integers as bytes that sort as they do |
//! | `total`, `sum` | totals beyond 64 bits, and the function that gives them |
//! | `view`, `decimal_sql` | views for other programs, and amounts as text in plain SQL |
//! | `index` | indexes of columns |

mod decimal_sql;
pub(crate) mod exact;
mod index;
mod question;
mod read;
pub(crate) mod registry;
mod sum;
pub(crate) mod total;
mod view;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use windlass_core::commit::Durability;
use windlass_core::error::StoreResult;
use windlass_core::row_query::{Condition, RowQuery, SumGroup, SumQuery};
use windlass_core::store::{TableInfo, Tables};
use windlass_core::table::{EventRow, Identifier, TableSpec};

pub(crate) use self::sum::register;
pub(crate) use self::view::hex;
pub(crate) use self::write::{erase, hex_list, insert, retract};

use crate::SqliteStore;

impl SqliteStore {
    /// Makes the views that are missing: of tables that an earlier version has made.
    pub(crate) async fn make_views(&self) -> StoreResult<()> {
        if self.read(view::is_any_missing).await? {
            self.write(Durability::Full, view::make_missing).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Tables for SqliteStore {
    /// Looks first: a restart, which makes nothing, waits for no writer.
    async fn create_tables(&self, tables: &[Arc<TableSpec>]) -> StoreResult<Vec<Identifier>> {
        let wanted = tables.to_vec();
        let looked = self.read(move |tx| {
            wanted.iter().try_fold(true, |all, table| Ok(registry::is_known(tx, table)? && all))
        });
        if looked.await? {
            return Ok(Vec::new());
        }
        let wanted = tables.to_vec();
        self.write(Durability::Full, move |tx| registry::create(tx, &wanted)).await
    }

    async fn drop_table(&self, name: &Identifier) -> StoreResult<bool> {
        let name = name.clone();
        self.write(Durability::Full, move |tx| registry::drop_table(tx, &name)).await
    }

    async fn list_tables(&self) -> StoreResult<Vec<TableInfo>> {
        self.read(registry::list).await
    }

    async fn rows(&self, query: &RowQuery) -> StoreResult<Vec<EventRow>> {
        let query = query.clone();
        self.read(move |tx| read::rows(tx, &query)).await
    }

    async fn count_rows(&self, table: &Identifier, conditions: &[Condition]) -> StoreResult<u64> {
        let (table, conditions) = (table.clone(), conditions.to_vec());
        self.read(move |tx| read::count(tx, &table, &conditions)).await
    }

    async fn sum_rows(&self, query: &SumQuery) -> StoreResult<Vec<SumGroup>> {
        let query = query.clone();
        self.read(move |tx| read::totals(tx, &query)).await
    }

    async fn column_indexes(&self, table: &Identifier) -> StoreResult<Vec<Identifier>> {
        let table = table.clone();
        self.read(move |tx| index::list(tx, &table)).await
    }

    /// Holds up whoever else writes for as long as it takes.
    async fn create_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        let (table, column) = (table.clone(), column.clone());
        self.write(Durability::Full, move |tx| index::create(tx, &table, &column)).await
    }

    async fn drop_column_index(&self, table: &Identifier, column: &Identifier) -> StoreResult<bool> {
        let (table, column) = (table.clone(), column.clone());
        self.write(Durability::Full, move |tx| index::drop(tx, &table, &column)).await
    }
}
