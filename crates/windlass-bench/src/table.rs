//! The table, as somebody else reads it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::chain::BlockRef;
use windlass_core::row_query::{MAX_ROW_PAGE, RowOrder, RowQuery};
use windlass_core::store::Store;
use windlass_core::table::{EventRow, Identifier};
use windlass_devnet::synthetic::SyntheticNode;

use crate::fees;
use crate::place::StoreArgs;

/// How often the table is looked at: it makes what is measured longer by up to that.
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// How long a block may take before something must be wrong.
const PATIENCE: Duration = Duration::from_secs(60);

type Broken = Box<dyn std::error::Error>;

/// The table of fees.
pub(crate) struct Table {
    store: Arc<dyn Store>,
    name: Identifier,
}

impl Table {
    pub(crate) async fn new(store: Arc<dyn Store>) -> Result<Self, Broken> {
        let name = fees::create_table(&*store).await?.name.clone();
        Ok(Self { store, name })
    }

    /// The table that another process fills; an error until it is there.
    pub(crate) async fn of_another(store: &StoreArgs, database: &str) -> Result<Self, Broken> {
        let table = Self { store: store.open_to_read(database).await?, name: fees::table()?.name };
        table.newest().await?;
        Ok(table)
    }

    /// How many rows it has.
    pub(crate) async fn rows(&self) -> Result<u64, Broken> {
        Ok(self.store.count_rows(&self.name, &[]).await?)
    }

    /// Waits until its newest row is of this block. Blocks are stored in order, and
    /// each with its rows in one commit: then everything before it is there as well.
    pub(crate) async fn wait_for(
        &self,
        block: BlockRef,
        check: impl Fn() -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let begun = Instant::now();
        while self.newest().await?.map(|row| row.head.block) != Some(block) {
            check()?;
            if begun.elapsed() > PATIENCE {
                return Err(format!("block {} was not stored in {PATIENCE:?}", block.number).into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Ok(())
    }

    /// Its newest row.
    pub(crate) async fn newest(&self) -> Result<Option<EventRow>, Broken> {
        let rows = self.store.rows(&self.page(RowOrder::NewestFirst, 1)).await?;
        Ok(rows.into_iter().next())
    }

    /// An error unless every row is the chain's, and every log of the chain has its row.
    pub(crate) async fn assert_equals(&self, truth: &SyntheticNode) -> Result<(), Broken> {
        let mut number = 0;
        let mut query = self.page(RowOrder::OldestFirst, MAX_ROW_PAGE);
        loop {
            let rows = self.store.rows(&query).await?;
            let Some(last) = rows.last() else { break };
            query.after = Some(last.head.key());
            for row in &rows {
                let log = (number < truth.log_count()).then(|| fees::row(&truth.log(number)));
                if log.as_ref() != Some(row) {
                    return Err(format!("row {number} is {row:?}, the chain has {log:?}").into());
                }
                number += 1;
            }
        }
        if number != truth.log_count() {
            return Err(format!("{number} of {} logs are stored", truth.log_count()).into());
        }
        Ok(())
    }

    fn page(&self, order: RowOrder, limit: u32) -> RowQuery {
        RowQuery { table: self.name.clone(), conditions: Vec::new(), order, after: None, limit }
    }
}
