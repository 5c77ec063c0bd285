//! The rows of a table, page by page, all of one branch of the chain.
//!
//! Each page is a read of its own, and a reorg may lie between two. A chain counts how
//! often stored blocks were taken back: a page is taken if that has not changed around it,
//! and read again otherwise. What was handed out before stands for as long as its last row
//! does, in the same block: a reorg below would have given that another hash. So rows of
//! final blocks, which nothing takes back, never have to be read anew.

use std::sync::Arc;

use windlass_core::name::StateKey;
use windlass_core::row_query::{Comparison, Condition, MAX_ROW_PAGE, Place, RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, RowHead, TableSpec, Value};

use super::Trouble;
use crate::collect::ledger;

/// A page that something was taken back under is read again so often.
const MAX_READS: u32 = 100;

/// Hands out pages.
pub(super) struct Pages<'a> {
    store: &'a dyn Store,
    query: RowQuery,
    generation: StateKey,
    /// The last row that was handed out, and how often blocks had been taken back by then.
    stands_on: Option<(RowHead, Option<String>)>,
}

impl<'a> Pages<'a> {
    pub(super) fn new(
        store: &'a dyn Store,
        table: &Arc<TableSpec>,
        conditions: Vec<Condition>,
    ) -> Result<Self, Trouble> {
        let generation = ledger::names(table.chain).map_err(Trouble::Other)?.generation;
        let query = RowQuery {
            table: table.name.clone(),
            conditions,
            order: RowOrder::OldestFirst,
            after: None,
            limit: MAX_ROW_PAGE,
        };
        Ok(Self { store, query, generation, stands_on: None })
    }

    /// The next rows; none when there are no more.
    pub(super) async fn next(&mut self) -> Result<Vec<EventRow>, Trouble> {
        for _ in 0..MAX_READS {
            let before = self.store.state(&self.generation).await?;
            if let Some((last, then)) = &self.stands_on
                && *then != before
                && !self.is_there(last).await?
            {
                break;
            }
            let page = self.store.rows(&self.query).await?;
            if self.store.state(&self.generation).await? != before {
                continue;
            }
            if let Some(last) = page.last() {
                self.query.after = Some(last.head.key());
                self.stands_on = Some((last.head, before));
            }
            return Ok(page);
        }
        Err(Trouble::TakenBack { block: self.stands_on.as_ref().map_or(0, |(last, _)| last.block.number) })
    }

    /// Whether a row is still there, in the same block.
    async fn is_there(&self, row: &RowHead) -> Result<bool, Trouble> {
        let is = |place, number: u64| Condition {
            place,
            comparison: Comparison::Is,
            values: vec![Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))],
        };
        let place = [is(Place::Block, row.block.number), is(Place::LogIndex, row.log_index.into())];
        let query = RowQuery { conditions: place.into(), after: None, limit: 1, ..self.query.clone() };
        let found = self.store.rows(&query).await?;
        Ok(found.first().is_some_and(|found| found.head == *row))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use windlass_core::chain::{Address, B256, BlockRef};
    use windlass_core::commit::{Commit, Write};
    use windlass_core::store::{Door, Tables};
    use windlass_core::table::Rows;
    use windlass_store_sqlite::{SqliteOptions, SqliteStore};

    use super::super::{Export, Format, tests};
    use super::*;

    /// More than one page.
    const BLOCKS: u64 = MAX_ROW_PAGE as u64 + 20;

    fn rows(fork: u8, blocks: impl Iterator<Item = u64>) -> Write {
        let mut rows = Rows::new(tests::table());
        for number in blocks {
            let head = RowHead {
                block: BlockRef { number, hash: B256::repeat_byte(fork) },
                log_index: 0,
                timestamp_s: number,
                transaction_hash: B256::repeat_byte(9),
                address: Address::repeat_byte(3),
            };
            let values = tests::rows()[0].values.clone();
            let put = rows.push_with(head, |into| {
                into.extend(values);
                Ok::<_, ()>(())
            });
            assert_eq!(put, Ok(true));
        }
        Write::Rows(rows)
    }

    async fn store() -> Arc<dyn Store> {
        let store = SqliteStore::open(SqliteOptions::memory()).await.expect("a store");
        store.create_tables(&[tests::table()]).await.expect("a table");
        store.commit(Commit::of(vec![rows(1, 0..BLOCKS)])).await.expect("rows");
        Arc::new(store)
    }

    /// The chain changes its mind from a block on, once the first bytes are written.
    struct Reorg {
        store: Arc<dyn Store>,
        from_block: u64,
        written: Vec<u8>,
    }

    impl io::Write for Reorg {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // The line of names comes before the first page, and is not the time yet.
            if self.written.len() < 1_000 && self.written.len() + bytes.len() >= 1_000 {
                let chain = tests::table().chain;
                let generation = ledger::names(chain).map_err(|_| io::ErrorKind::Other)?.generation;
                let writes = vec![
                    Write::Retract { chain, from_block: self.from_block },
                    Write::PutState { key: generation, value: Some("1".to_owned()) },
                    rows(2, self.from_block..BLOCKS),
                ];
                let commit = self.store.commit(Commit::of(writes));
                tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(commit))
                    .map_err(io::Error::other)?;
            }
            self.written.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// How an export ends if the chain changes from a block on after the first page; and the file.
    async fn exported(from_block: u64) -> (Result<u64, Trouble>, String) {
        let store = store().await;
        let index = tests::table().index.clone();
        let export = Export { index, event: None, from: None, to: None, format: Format::Csv };
        let mut out = Reorg { store: store.clone(), from_block, written: Vec::new() };
        let written = export.write(&*store, tests::table(), &mut out).await;
        (written, String::from_utf8(out.written).expect("text"))
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rows_of_two_branches_are_not_written_as_one_file() {
        let (written, _) = exported(u64::from(MAX_ROW_PAGE) - 5).await;
        let Err(Trouble::TakenBack { block }) = written else { panic!("a file of two branches") };
        assert_eq!(block, u64::from(MAX_ROW_PAGE) - 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_reorg_above_what_was_written_changes_nothing_but_what_comes() {
        let (written, file) = exported(u64::from(MAX_ROW_PAGE) + 5).await;
        assert_eq!(written.ok(), Some(BLOCKS));
        let of_branch = |fork: u8| file.matches(&B256::repeat_byte(fork).to_string()).count() as u64;
        assert_eq!((of_branch(1), of_branch(2)), (u64::from(MAX_ROW_PAGE) + 5, 15));
    }
}
