//! The same work under other circumstances, in the same run: with a distant RPC, with
//! sparse events, or with five times as many.

use clap::ValueEnum;

use super::engine::Collected;
use super::{Args, BAR_RSS_MIB, engine};
use crate::report::Report;
use crate::serve::Served;
use crate::{Outcome, memory};

const BAR_RATIO: f64 = 0.8;
/// What counts as the same memory. Peaks of two runs of one size, each in a process of
/// its own, were up to 1.23 times apart; eight bytes kept of every event would be more.
const BAR_GROWTH: f64 = 1.25;
const LATENCY_MS: u64 = 20;
const SPARSE_EVERY_BLOCKS: u64 = 8;
const TIMES_LARGER: u64 = 5;
/// Each side is measured so often, in turns, and its best counts.
const ROUNDS: u32 = 2;

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Compare {
    /// 20 ms before every answer (or `--latency-ms`): the rate stays
    Latency,
    /// One event in every eighth block (or `--every-blocks`): the rate stays
    Sparse,
    /// Five times as many events: the memory stays
    Size,
}

impl Compare {
    fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Sparse => "sparse",
            Self::Size => "size",
        }
    }
}

/// Measures the plain case and the other one.
pub(super) async fn run(args: Args, compare: Compare) -> Outcome {
    let plain = Args { latency_ms: 0, every_blocks: None, ..args.clone() };
    match compare {
        Compare::Latency => {
            let latency_ms = if args.latency_ms == 0 { LATENCY_MS } else { args.latency_ms };
            rates(compare, &plain, &Args { latency_ms, ..plain.clone() }).await
        }
        Compare::Sparse => {
            let every_blocks = args.every_blocks.or(Some(SPARSE_EVERY_BLOCKS));
            rates(compare, &plain, &Args { every_blocks, ..plain.clone() }).await
        }
        Compare::Size => sizes(&plain, &Args { n: plain.n * TIMES_LARGER, ..plain.clone() }).await,
    }
}

async fn rates(compare: Compare, plain: &Args, other: &Args) -> Outcome {
    let mut best = collected(other).await?;
    let mut plain_rate = collected(plain).await?.measured.rate();
    for _ in 1..ROUNDS {
        let again = collected(other).await?;
        if again.measured.rate() > best.measured.rate() {
            best = again;
        }
        plain_rate = plain_rate.max(collected(plain).await?.measured.rate());
    }
    let ratio = best.measured.rate() / plain_rate;
    Ok(Report::new("collect", other.store.name(), best.measured)
        .with("compare", compare.name())
        .with("blocks", other.chain().blocks)
        .with("latency_ms", other.latency_ms)
        .with("ranges", best.ranges)
        .with("workers", other.workers)
        .with("plain_rate", format_args!("{plain_rate:.0}"))
        .with("ratio", format_args!("{ratio:.2}"))
        .bar("the ratio to the plain rate", ratio, BAR_RATIO))
}

/// The peak never falls, so the larger one comes second: what it adds is its growth.
async fn sizes(plain: &Args, larger: &Args) -> Outcome {
    let small = collected(plain).await?;
    let small_mib = memory::peak_rss_mib();
    let large = collected(larger).await?;
    let large_mib = memory::peak_rss_mib();
    let growth = large_mib as f64 / (small_mib as f64).max(1.0);
    Ok(Report::new("collect", larger.store.name(), large.measured)
        .with("compare", Compare::Size.name())
        .with("plain_n", small.measured.n)
        .with("plain_rate", format_args!("{:.0}", small.measured.rate()))
        .with("plain_rss_mib", small_mib)
        .with("collect_rss_mib", large_mib)
        .with("growth", format_args!("{growth:.2}"))
        .at_most("resident memory in MiB", large_mib as f64, BAR_RSS_MIB)
        .at_most("the growth of memory", growth, BAR_GROWTH))
}

/// Collects a fresh chain into a fresh store.
async fn collected(args: &Args) -> Result<Collected, Box<dyn std::error::Error>> {
    let served = Served::start(&args.chain())?;
    let place = args.store.open().await?;
    let collected = engine::measure(&place.store, &served.url, args.workers).await?;
    place.store.close().await;
    Ok(collected)
}
