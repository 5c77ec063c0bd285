//! The head in a closed loop: how long after a block of a thousand logs can be seen at
//! the RPC its rows are committed, and how long a reorg takes until the table is the new
//! branch's.
//!
//! The chain runs in a process of its own and says when it showed a block. The
//! collector is the one of `windlass run`, woken by `newHeads`. What is committed is
//! seen by reading the table, as anybody would: the time of that look counts too.

use std::time::Duration;

use windlass_devnet::synthetic::{SyntheticNode, SyntheticOptions};

use super::collector::Collector;
use crate::live::Visible;
use crate::report::{Measured, Report};
use crate::serve::{self, Served};
use crate::table::Table;
use crate::times::Times;
use crate::{Outcome, StoreArgs, clock, memory};

const BAR_P50_MS: f64 = 50.0;
const BAR_P99_MS: f64 = 250.0;
const BAR_REORG_MS: f64 = 1_000.0;

/// How many logs a block has unless told.
const LOGS_PER_BLOCK: u32 = 1_000;

/// How many blocks, and how they come. The past and what is final are those of every head.
#[derive(clap::Args)]
pub(super) struct ClosedArgs {
    /// How many blocks appear
    #[arg(short, long, default_value_t = 300)]
    n: u64,
    /// How many logs a block has; 1,000 unless told, and 10 where blocks come by the clock
    #[arg(long)]
    pub(super) logs_per_block: Option<u32>,
    /// How long after a block is stored the next one appears
    #[arg(long, default_value_t = 100)]
    interval_ms: u64,
    /// How many reorgs follow
    #[arg(long, default_value_t = 5)]
    reorgs: u64,
    /// How many blocks a reorg replaces
    #[arg(long, default_value_t = 20)]
    depth: u64,
    /// How many blocks there are to begin with
    #[arg(long, default_value_t = 100)]
    pub(super) past: u64,
    /// How many blocks below the head are not final
    #[arg(long, default_value_t = 64)]
    pub(super) unfinal: u64,
}

/// A chain, its truth, and the table that follows it.
struct Race {
    chain: Served,
    truth: SyntheticOptions,
    table: Table,
    collector: Collector,
    interval: Duration,
}

/// Measures blocks, then reorgs, then looks whether every row is right.
pub(super) async fn run(store: StoreArgs, args: ClosedArgs) -> Outcome {
    let logs_per_block = args.logs_per_block.unwrap_or(LOGS_PER_BLOCK);
    let shape = serve::Args {
        blocks: args.past,
        logs_per_block,
        unfinal: args.unfinal,
        live: true,
        ..serve::Args::default()
    };
    let chain = Served::start(&shape)?;
    let place = store.open().await?;
    let collector = Collector::start(&place.store, &chain).await?;
    let table = Table::new(place.store.clone()).await?;
    let interval = Duration::from_millis(args.interval_ms);
    let mut race = Race { chain, truth: shape.options(), table, collector, interval };
    race.catch_up().await?;
    let blocks = race.blocks(args.n).await?;
    let reorgs = race.reorgs(args.reorgs, args.depth).await?;
    let rss_mib = memory::peak_rss_mib();
    race.collector.stop().await?;
    race.table.assert_equals(&SyntheticNode::new(race.truth)).await?;
    let rows = blocks.count() * u64::from(logs_per_block);
    let measured = Measured { n: rows, seconds: blocks.seconds() };
    Ok(told(Report::new("head", store.name(), measured), &blocks, &reorgs).with("head_rss_mib", rss_mib))
}

fn told(report: Report, blocks: &Times, reorgs: &Times) -> Report {
    report
        .with("blocks", blocks.count())
        .with("p50_ms", format_args!("{:.1}", blocks.percentile(50)))
        .with("p99_ms", format_args!("{:.1}", blocks.percentile(99)))
        .with("reorgs", reorgs.count())
        .with("reorg_ms", format_args!("{:.0}", reorgs.longest()))
        .at_most("the p50 in ms", blocks.percentile(50), BAR_P50_MS)
        .at_most("the p99 in ms", blocks.percentile(99), BAR_P99_MS)
        .at_most("the slowest reorg in ms", reorgs.longest(), BAR_REORG_MS)
}

type Broken = Box<dyn std::error::Error>;

impl Race {
    /// Waits until the past is stored.
    async fn catch_up(&mut self) -> Result<(), Broken> {
        let rows = SyntheticNode::new(self.truth.clone()).log_count();
        while self.table.rows().await? < rows {
            self.collector.check()?;
            tokio::time::sleep(self.interval).await;
        }
        Ok(())
    }

    async fn blocks(&mut self, count: u64) -> Result<Times, Broken> {
        let mut times = Times::default();
        for _ in 0..count {
            tokio::time::sleep(self.interval).await;
            let head = self.chain.append()?;
            times.push(self.stored(&head).await?);
            self.truth.blocks = head.block.number;
        }
        Ok(times)
    }

    async fn reorgs(&mut self, count: u64, depth: u64) -> Result<Times, Broken> {
        let mut times = Times::default();
        for _ in 0..count {
            tokio::time::sleep(self.interval).await;
            let head = self.chain.reorganise(depth)?;
            times.push(self.stored(&head).await?);
            self.truth.blocks = head.block.number;
            self.truth = self.truth.clone().forked(head.block.number - depth);
        }
        Ok(times)
    }

    /// Waits until the head's last row can be read; says how long that was after the head could.
    async fn stored(&self, head: &Visible) -> Result<Duration, Broken> {
        self.table.wait_for(head.block, || self.collector.check()).await?;
        Ok(clock::now().saturating_sub(head.since))
    }
}
