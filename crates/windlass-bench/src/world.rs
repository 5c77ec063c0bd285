//! A live chain in one process, `windlass run` on it in another, and the table between
//! them as this one reads it.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_devnet::synthetic::{SyntheticNode, SyntheticOptions};

use crate::clock;
use crate::place::StoreArgs;
use crate::serve::{self, Served};
use crate::table::Table;
use crate::windlass::{BinaryArgs, Folder, Windlass};

/// How often the table is looked at: what is measured is longer by up to that.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How often a table is looked for that is not there yet: every look is a new connection,
/// which costs the collector's machine as much as the collector's own.
const OPEN_EVERY: Duration = Duration::from_millis(50);
/// How long something may take before it must be wrong.
const PATIENCE: Duration = Duration::from_secs(300);

type Broken = Box<dyn std::error::Error>;

/// Everything a run needs.
pub(crate) struct World {
    pub(crate) windlass: Windlass,
    pub(crate) chain: Served,
    /// What the chain holds.
    pub(crate) truth: SyntheticOptions,
    pub(crate) table: Table,
    /// When the collector was started first, on the clock of this machine.
    pub(crate) started: Duration,
    _folder: Folder,
}

impl World {
    /// Starts chain and collector; returns when there is a table to read.
    pub(crate) async fn start(
        store: &StoreArgs,
        binary: &BinaryArgs,
        shape: &serve::Args,
    ) -> Result<Self, Broken> {
        let chain = Served::start(shape)?;
        let folder = binary.folder()?;
        let database = store.fresh_database(folder.path()).await?;
        let mut windlass = Windlass::new(binary, folder.path(), &chain.urls, &database)?;
        let started = clock::now();
        windlass.start()?;
        let begun = Instant::now();
        let table = loop {
            windlass.check()?;
            match Table::of_another(store, &database).await {
                Ok(table) => break table,
                Err(error) if begun.elapsed() > PATIENCE => return Err(error),
                Err(_) => tokio::time::sleep(OPEN_EVERY).await,
            }
        };
        Ok(Self { windlass, chain, truth: shape.options(), table, started, _folder: folder })
    }

    /// Waits until a block's rows can be read, and hands on every look on the way there.
    pub(crate) async fn wait_for(
        &mut self,
        number: u64,
        mut looked: impl FnMut(Option<u64>),
    ) -> Result<(), Broken> {
        let begun = Instant::now();
        loop {
            let newest = self.look().await?;
            looked(newest);
            if newest >= Some(number) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("block {number} was not stored in {PATIENCE:?}, but {newest:?}").into());
            }
        }
    }

    /// Waits until there are as many rows as the chain has up to a block, and hands on how
    /// many there are on the way. The count is one row of a register: looking for the newest row would pass over whatever
    /// the collector has not committed yet, again and again, on the cores that it needs.
    pub(crate) async fn wait_for_all(
        &mut self,
        number: u64,
        mut looked: impl FnMut(u64),
    ) -> Result<(), Broken> {
        let truth = SyntheticOptions { blocks: number, ..self.truth.clone() };
        let all = SyntheticNode::new(truth).log_count();
        let begun = Instant::now();
        loop {
            let rows = self.table.rows().await?;
            looked(rows);
            if rows >= all {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("{rows} of {all} rows were stored in {PATIENCE:?}").into());
            }
            tokio::time::sleep(LOOK_EVERY).await;
            self.windlass.check()?;
        }
    }

    /// The newest block that can be read, a moment later.
    pub(crate) async fn look(&mut self) -> Result<Option<u64>, Broken> {
        tokio::time::sleep(LOOK_EVERY).await;
        self.windlass.check()?;
        Ok(self.table.newest().await?.map(|row| row.head.block.number))
    }

    /// Stops the collector; an error unless the table is the chain, row by row.
    pub(crate) async fn compare(mut self) -> Result<(), Broken> {
        self.windlass.stop()?;
        self.table.assert_equals(&SyntheticNode::new(self.truth.clone())).await
    }
}

/// The time of block 0 of a chain whose newest block is of now.
pub(crate) fn genesis_s(blocks: u64, block_ms: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    now.saturating_sub(blocks.saturating_mul(block_ms) / 1_000)
}
