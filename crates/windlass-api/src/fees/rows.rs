//! The rows of a numbered page, newest first, out of one table or several.

use windlass_core::chain::ChainId;
use windlass_core::row_query::{Comparison, Condition, MAX_ROW_PAGE, Place, RowOrder, RowQuery};
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::{EventRow, Identifier, RowKey, Value};

use super::anchor::{Anchor, Anchors};
use super::seek::{MAX_WALK, Seek};
use super::total;
use crate::error::{ApiError, ApiResult};

/// The tables, and where their pages were found before.
pub(super) struct Numbered<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) tables: &'a [TableInfo],
    pub(super) anchors: &'a Anchors,
}

/// Where to begin: below this block, or with the newest row.
struct Beginning {
    below: Option<u64>,
    /// How many rows stand there and above.
    above: u64,
    /// What anchors of this beginning go by; none where the page is near.
    basis: Option<Basis>,
}

/// What the tables were like when rows were counted.
#[derive(Clone, Copy)]
struct Basis {
    total: u64,
    newest: u64,
}

impl Numbered<'_> {
    /// The page behind so many rows, with the number of rows in all.
    pub(super) async fn page(&self, skip: u64, rows: u32) -> ApiResult<(Vec<(ChainId, EventRow)>, u64)> {
        let total = total(self.tables);
        if skip >= total {
            return Ok((Vec::new(), total));
        }
        let begin = self.begin(total, skip).await?;
        let skip = skip.saturating_sub(begin.above);
        let wanted = skip.saturating_add(u64::from(rows));
        let mut found = Vec::new();
        for table in self.tables {
            let walked = self.walk(table, begin.below, wanted).await?;
            found.extend(walked.into_iter().map(|row| (table.spec.chain, row)));
        }
        found.sort_by_key(|(_, row)| std::cmp::Reverse(row.head.key()));
        self.remember(&begin, &found, skip, total);
        let page = found.into_iter().skip(usize::try_from(skip).unwrap_or(usize::MAX)).take(rows as usize);
        Ok((page.collect(), total))
    }

    /// Keeps where the page begins, for the next one behind it or for the same again.
    fn remember(&self, begin: &Beginning, found: &[(ChainId, EventRow)], skip: u64, total: u64) {
        let Some(Basis { total: then, newest }) = begin.basis else { return };
        let block = |(_, row): &(ChainId, EventRow)| row.head.block.number;
        let first = usize::try_from(skip).ok().and_then(|skip| found.get(skip)).map(block);
        let Some(first) = first else { return };
        let before = found.iter().take_while(|row| block(row) > first).count() as u64;
        let above = (begin.above + before).checked_sub(total.saturating_sub(then));
        // Above all that was there then nothing was counted.
        let Some(above) = above else { return };
        let (tables, block) = (self.names(), first.saturating_add(1));
        self.anchors.keep(Anchor { tables, total: then, newest, block, above });
    }

    fn names(&self) -> Vec<Identifier> {
        self.tables.iter().map(|table| table.spec.name.clone()).collect()
    }

    /// Finds where to begin: near the page, so that the rest can be walked.
    async fn begin(&self, total: u64, skip: u64) -> ApiResult<Beginning> {
        if skip <= MAX_WALK {
            return Ok(Beginning { below: None, above: 0, basis: None });
        }
        let anchor = self.anchor(total, skip).await?;
        if let Some((upper, above, basis)) = anchor
            && skip - above <= MAX_WALK
        {
            return Ok(Beginning { below: Some(upper), above, basis: Some(basis) });
        }
        let (oldest, newest) = self.ends().await?;
        let (upper, above) = anchor.map_or((newest.saturating_add(1), 0), |(upper, above, _)| (upper, above));
        let mut seek = Seek::new(oldest, upper.saturating_sub(1), total - above, skip - above);
        while let Some((from, to)) = seek.question() {
            let rows =
                self.count(&[bound(Comparison::AtLeast, from)?, bound(Comparison::Below, to)?]).await?;
            seek.answer(from, rows);
        }
        let (upper, rest) = seek.found();
        Ok(Beginning { below: Some(upper), above: skip - rest, basis: Some(Basis { total, newest }) })
    }

    /// The nearest anchor that holds: its block, how many rows stand in it and above, and
    /// what it goes by.
    async fn anchor(&self, total: u64, skip: u64) -> ApiResult<Option<(u64, u64, Basis)>> {
        let names = self.names();
        let Some(anchor) = self.anchors.nearest(&names, total, skip) else { return Ok(None) };
        let new = total.saturating_sub(anchor.total);
        if self.count(&[bound(Comparison::Above, anchor.newest)?]).await? != new {
            self.anchors.forget(&names);
            return Ok(None);
        }
        let basis = Basis { total: anchor.total, newest: anchor.newest };
        Ok(anchor.above_now(total).map(|above| (anchor.block, above, basis)))
    }

    /// The first and the last block with a row.
    async fn ends(&self) -> ApiResult<(u64, u64)> {
        let (mut oldest, mut newest) = (u64::MAX, 0);
        for table in self.tables {
            for order in [RowOrder::OldestFirst, RowOrder::NewestFirst] {
                for row in self.read(table, order, None, None, 1).await? {
                    oldest = oldest.min(row.head.block.number);
                    newest = newest.max(row.head.block.number);
                }
            }
        }
        Ok((oldest, newest))
    }

    async fn count(&self, conditions: &[Condition]) -> ApiResult<u64> {
        let mut rows = 0;
        for table in self.tables {
            rows += self.store.count_rows(&table.spec.name, conditions).await?;
        }
        Ok(rows)
    }

    /// The newest rows of a table below a block, up to so many.
    async fn walk(&self, table: &TableInfo, below: Option<u64>, wanted: u64) -> ApiResult<Vec<EventRow>> {
        let mut found: Vec<EventRow> = Vec::new();
        loop {
            let left = wanted.saturating_sub(found.len() as u64).min(u64::from(MAX_ROW_PAGE)) as u32;
            let after = found.last().map(|row| row.head.key());
            let rows = self.read(table, RowOrder::NewestFirst, below, after, left).await?;
            let is_last = rows.len() < left as usize;
            found.extend(rows);
            if is_last || found.len() as u64 >= wanted {
                return Ok(found);
            }
        }
    }

    async fn read(
        &self,
        table: &TableInfo,
        order: RowOrder,
        below: Option<u64>,
        after: Option<RowKey>,
        limit: u32,
    ) -> ApiResult<Vec<EventRow>> {
        // Behind a key that is below it already, the bound would only lead the database astray.
        let below = below.filter(|_| after.is_none());
        let conditions = below.map(|block| bound(Comparison::Below, block)).transpose()?;
        let conditions = conditions.into_iter().collect();
        let query = RowQuery { table: table.spec.name.clone(), conditions, order, after, limit };
        Ok(self.store.rows(&query).await?)
    }
}

fn bound(comparison: Comparison, block: u64) -> ApiResult<Condition> {
    let number = i64::try_from(block).map_err(|_| ApiError::internal(format!("no block is {block}")))?;
    Ok(Condition { place: Place::Block, comparison, values: vec![Value::Integer(number)] })
}
