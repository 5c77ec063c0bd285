//! Following a head: how long after a block of a thousand logs can be seen at the RPC
//! its rows are committed, and how long a reorg takes until the table is the new
//! branch's.
//!
//! The chain runs in a process of its own and says when it showed a block. The
//! collector is the one of `windlass run`, woken by `newHeads`. What is committed is
//! seen by reading the table, as anybody would: the time of that look counts too.

mod collector;
mod table;

use std::time::Duration;

use windlass_devnet::synthetic::{SyntheticNode, SyntheticOptions};

use self::collector::Collector;
use self::table::Table;
use crate::live::Visible;
use crate::report::{Measured, Report};
use crate::serve::{self, Served};
use crate::times::Times;
use crate::{Outcome, StoreArgs, clock, memory};

const BAR_P50_MS: f64 = 50.0;
const BAR_P99_MS: f64 = 250.0;
const BAR_REORG_MS: f64 = 1_000.0;

/// How many blocks, and how they come.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// How many blocks appear
    #[arg(short, long, default_value_t = 300)]
    n: u64,
    /// How many logs a block has
    #[arg(long, default_value_t = 1_000)]
    logs_per_block: u32,
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
    past: u64,
    /// How many blocks below the head are not final
    #[arg(long, default_value_t = 64)]
    unfinal: u64,
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
pub(crate) async fn run(args: Args) -> Outcome {
    let shape = serve::Args {
        blocks: args.past,
        logs_per_block: args.logs_per_block,
        every_blocks: None,
        latency_ms: 0,
        unfinal: args.unfinal,
        live: true,
    };
    let chain = Served::start(&shape)?;
    let place = args.store.open().await?;
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
    let rows = blocks.count() * u64::from(args.logs_per_block);
    let measured = Measured { n: rows, seconds: blocks.seconds() };
    Ok(told(Report::new("head", args.store.name(), measured), &blocks, &reorgs).with("head_rss_mib", rss_mib))
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
        self.table.wait_for(head.block, &self.collector).await?;
        Ok(clock::now().saturating_sub(head.since))
    }
}
