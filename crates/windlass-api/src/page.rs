//! A page of rows: what JSON and GraphQL share.
//!
//! Newest first unless told otherwise. One row more than asked for is read, so that
//! the last page is known to be the last.

use std::sync::Arc;

use windlass_core::row_query::{Condition, RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, TableSpec};

use crate::cursor::{Fingerprint, PageCursor};
use crate::error::{ApiError, ApiResult, ErrorCode};
use crate::filter::within_blocks;

/// Which page is asked for.
#[derive(Debug)]
pub(crate) struct PageQuery<'a> {
    pub(crate) table: &'a Arc<TableSpec>,
    pub(crate) conditions: &'a [Condition],
    /// The cursor's order, or newest first, unless it is given.
    pub(crate) order: Option<RowOrder>,
    pub(crate) after: Option<&'a str>,
    pub(crate) limit: u32,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) rows: Vec<EventRow>,
    pub(crate) has_more: bool,
    order: RowOrder,
    fingerprint: Fingerprint,
}

impl PageQuery<'_> {
    pub(crate) async fn read(self, store: &dyn Store) -> ApiResult<Page> {
        let fingerprint = Fingerprint::of(self.table, self.conditions);
        let cursor = self.after.map(|text| PageCursor::read(text, fingerprint)).transpose()?;
        let order = self.order_with(cursor)?;
        let mut conditions = within_blocks(store, &self.table.name, self.conditions).await?;
        conditions.retain(|condition| !cursor.is_some_and(|cursor| cursor.implies(condition)));
        let query = RowQuery {
            table: self.table.name.clone(),
            conditions,
            order,
            after: cursor.map(|cursor| cursor.key),
            limit: self.limit + 1,
        };
        let mut rows = store.rows(&query).await?;
        let has_more = rows.len() > self.limit as usize;
        rows.truncate(self.limit as usize);
        Ok(Page { rows, has_more, order, fingerprint })
    }

    fn order_with(&self, cursor: Option<PageCursor>) -> ApiResult<RowOrder> {
        match (self.order, cursor.map(|cursor| cursor.order)) {
            (Some(asked), Some(begun)) if asked != begun => {
                let told = "the cursor belongs to pages in the other order";
                Err(ApiError::new(ErrorCode::InvalidCursor, told))
            }
            (asked, begun) => Ok(asked.or(begun).unwrap_or(RowOrder::NewestFirst)),
        }
    }
}

impl Page {
    /// The cursor that goes on behind a row of the page.
    pub(crate) fn cursor(&self, row: &EventRow) -> String {
        PageCursor { order: self.order, key: row.head.key() }.write(self.fingerprint)
    }

    /// The cursor of the next page, if there is one.
    pub(crate) fn next_cursor(&self) -> Option<String> {
        self.rows.last().filter(|_| self.has_more).map(|row| self.cursor(row))
    }
}
