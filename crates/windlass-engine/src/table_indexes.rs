//! Keeps the database indexes of event tables as the configuration wants them, beside the
//! loops that collect.
//!
//! An index of the configuration that names columns has exactly those, from the start on.
//! One that names none has the addresses that are `indexed` in its events, once a table is
//! large ([`DEFAULT_INDEX_ROWS`]) and is no longer being filled: rows go into a table without
//! indexes several times faster. What is no longer wanted is dropped once, when a process
//! begins, so that two processes with different configurations do not undo each other's work
//! for ever. Tables of indexes that are not configured are left alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_core::error::{RetryAdvice, StoreError, StoreResult};
use windlass_core::store::{Store, TableInfo};
use windlass_core::table::Identifier;
use windlass_core::table_index::DEFAULT_INDEX_ROWS;

use crate::pace::{Paced, step_until};

/// How long to wait when every index is as it should be.
const IDLE_WAIT: Duration = Duration::from_secs(60);
/// A store in trouble is asked again after this, unless it says when.
const TROUBLE_WAIT: Duration = Duration::from_secs(30);
/// A table that has grown by more than one in so many rows since the last look is being filled.
const FILLING_SHARE: u64 = 20;

/// The columns that each configured index wants to have an index, by the names of their
/// fields; `None` leaves it to the default.
pub type WantedIndexes = BTreeMap<Identifier, Option<Vec<String>>>;

/// Which indexes are wanted.
#[derive(Debug, Clone)]
pub struct TableIndexOptions {
    /// By the names of the configuration's indexes.
    pub wanted: WantedIndexes,
    /// From how many rows on a table has the default indexes.
    pub default_rows: u64,
}

impl TableIndexOptions {
    /// These, and the default from [`DEFAULT_INDEX_ROWS`] on.
    pub const fn new(wanted: WantedIndexes) -> Self {
        Self { wanted, default_rows: DEFAULT_INDEX_ROWS }
    }
}

/// What a step did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexStep {
    /// An index was made.
    Created {
        /// Of which table.
        table: Identifier,
        /// Of which column.
        column: Identifier,
    },
    /// An index that nobody wants any more was dropped.
    Dropped {
        /// Of which table.
        table: Identifier,
        /// Of which column.
        column: Identifier,
    },
    /// Every index is as it should be.
    Idle,
}

/// The indexes of one store's tables.
pub struct TableIndexes {
    store: Arc<dyn Store>,
    options: TableIndexOptions,
    /// How many rows each table had at the last look, by name.
    rows_before: BTreeMap<Identifier, u64>,
    /// Whether everything has been as it should be once.
    has_settled: bool,
}

impl TableIndexes {
    /// Indexes that nobody has looked at yet.
    pub fn new(store: Arc<dyn Store>, options: TableIndexOptions) -> Self {
        Self { store, options, rows_before: BTreeMap::new(), has_settled: false }
    }

    /// Makes or drops one index, the first that is not as it should be.
    pub async fn step(&mut self) -> StoreResult<IndexStep> {
        let tables = self.store.list_tables().await?;
        for info in &tables {
            match self.settle(info).await {
                Ok(IndexStep::Idle) => {}
                // Dropped since it was listed.
                Err(StoreError::TableMissing(_)) => {}
                done => return done,
            }
        }
        self.rows_before = tables.iter().map(|info| (info.spec.name.clone(), info.rows)).collect();
        self.has_settled = true;
        Ok(IndexStep::Idle)
    }

    /// Makes or drops one index of a table.
    async fn settle(&self, info: &TableInfo) -> StoreResult<IndexStep> {
        let (spec, table) = (&info.spec, &info.spec.name);
        let Some(wanted) = self.options.wanted.get(&spec.index) else { return Ok(IndexStep::Idle) };
        let (wanted, is_due) = match wanted {
            Some(names) => {
                let named = names.iter().filter_map(|name| spec.column(name));
                (named.map(|(_, column)| column.name.clone()).collect(), true)
            }
            None => (spec.default_indexes(), self.is_large_and_still(info)),
        };
        let there = self.store.column_indexes(table).await?;
        let missing = wanted.iter().find(|column| is_due && !there.contains(column));
        if let Some(column) = missing {
            tracing::info!(%table, %column, rows = info.rows, "making an index");
            if self.store.create_column_index(table, column).await? {
                tracing::info!(%table, %column, "the index was made");
                return Ok(IndexStep::Created { table: table.clone(), column: column.clone() });
            }
        }
        let unwanted = there.iter().find(|column| !self.has_settled && !wanted.contains(column));
        if let Some(column) = unwanted
            && self.store.drop_column_index(table, column).await?
        {
            tracing::info!(%table, %column, "an index was dropped that the configuration does not have");
            return Ok(IndexStep::Dropped { table: table.clone(), column: column.clone() });
        }
        Ok(IndexStep::Idle)
    }

    /// Whether a table is worth an index, and is not being filled.
    fn is_large_and_still(&self, info: &TableInfo) -> bool {
        let before = self.rows_before.get(&info.spec.name).copied();
        let is_still = |before: u64| info.rows.saturating_sub(before) <= info.rows / FILLING_SHARE;
        info.rows >= self.options.default_rows && before.is_some_and(is_still)
    }

    /// Steps until told to stop. An index that is being made then is left to the database,
    /// and looked at again by the next process.
    pub async fn run(mut self, shutdown: CancellationToken) -> Result<(), StoreError> {
        let stepping = step_until(&mut self, &shutdown);
        shutdown.run_until_cancelled(stepping).await.unwrap_or(Ok(()))
    }
}

impl Paced for TableIndexes {
    const WHAT: &'static str = "making indexes";
    type Error = StoreError;

    async fn pace(&mut self) -> StoreResult<Duration> {
        let is_idle = self.step().await? == IndexStep::Idle;
        Ok(if is_idle { IDLE_WAIT } else { Duration::ZERO })
    }

    /// Everything works without indexes, only slower: no trouble here ends the process but
    /// that of a store that is no more.
    fn retry(error: &StoreError) -> RetryAdvice {
        match error {
            StoreError::Closed | StoreError::Gone { .. } | StoreError::Corrupt(_) => RetryAdvice::Never,
            _ => RetryAdvice::After(TROUBLE_WAIT),
        }
    }
}
