//! Collecting a million events from an RPC into typed tables, with everything that
//! makes it safe: leased ranges, fences, cursors, outbox. The limit is a bare pipe
//! over the same wire into the same table, with nothing of that.
//!
//! `--compare` measures the same work under other circumstances, `--peer` another
//! indexer on a shorter piece of the same chain.

mod compare;
mod copy;
mod end_to_end;
mod engine;
mod log;
mod peer;
mod pipe;
mod prepared;
mod text;

use self::compare::Compare;
use self::engine::Collected;
use self::peer::Peer;
use self::pipe::Limit;
use crate::place::{Place, StoreKind};
use crate::report::Report;
use crate::serve::{self, Served};
use crate::windlass::BinaryArgs;
use crate::{Outcome, StoreArgs};

const BAR_RATIO: f64 = 0.6;
const BAR_LIMIT: f64 = 0.7;
const BAR_RSS_MIB: f64 = 200.0;
const BAR_TIMES_PEER: f64 = 100.0;

/// How many events, how dense, how far away.
#[derive(clap::Args, Clone)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// How many events
    #[arg(short, long, default_value_t = 1_000_000)]
    n: u64,
    /// How many events a block has
    #[arg(long, default_value_t = 10)]
    logs_per_block: u32,
    /// One event in every so many blocks instead
    #[arg(long)]
    every_blocks: Option<u64>,
    /// How long every answer of the RPC is held back
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// How many ranges are under way at once
    #[arg(long, default_value_t = 8)]
    workers: u32,
    /// Do not measure the limit
    #[arg(long)]
    no_limit: bool,
    /// Measure the same under other circumstances instead of the limit
    #[arg(long, value_enum)]
    compare: Option<Compare>,
    /// Start `windlass run` as a user does, and measure from there to the last row
    #[arg(long, conflicts_with_all = ["compare", "peer"])]
    end_to_end: bool,
    #[command(flatten)]
    binary: BinaryArgs,
    /// Run another indexer as well
    #[arg(long, value_enum, conflicts_with = "compare")]
    peer: Option<Peer>,
    /// How many events the other indexer gets
    #[arg(long, default_value_t = 30_000)]
    peer_events: u64,
}

impl Args {
    fn chain(&self) -> serve::Args {
        let blocks = match self.every_blocks {
            Some(every) => self.n * every,
            None => self.n.div_ceil(u64::from(self.logs_per_block)),
        };
        serve::Args {
            blocks,
            logs_per_block: self.logs_per_block,
            every_blocks: self.every_blocks,
            latency_ms: self.latency_ms,
            ..serve::Args::default()
        }
    }
}

/// Measures the collector, then the bare pipe, then the peer.
pub(crate) async fn run(args: Args) -> Outcome {
    if let Some(compare) = args.compare {
        return compare::run(args, compare).await;
    }
    if args.end_to_end {
        return end_to_end::run(&args, &args.binary).await;
    }
    let chain = args.chain();
    let served = Served::start(&chain)?;
    let place = args.store.open().await?;
    let collected = engine::measure(&place.store, &served.url, args.workers).await?;
    let rss_mib = crate::memory::peak_rss_mib();
    let mut report = Report::new("collect", args.store.name(), collected.measured)
        .with("blocks", chain.blocks)
        .with("latency_ms", args.latency_ms)
        .with("ranges", collected.ranges)
        .with("workers", args.workers)
        .with("collect_rss_mib", rss_mib)
        .at_most("resident memory in MiB", rss_mib as f64, BAR_RSS_MIB);
    place.store.close().await;
    if !args.no_limit {
        let limit = limit_of(&args, &place, &served).await?;
        report = against(report, collected.measured.rate(), &limit, BAR_RATIO);
    }
    drop(served);
    match args.peer {
        None => Ok(report),
        Some(Peer::Ponder) => against_peer(report, &args, &collected),
    }
}

/// The bare pipe over the same wire.
async fn limit_of(args: &Args, place: &Place, served: &Served) -> Result<Limit, Box<dyn std::error::Error>> {
    let chain = args.chain();
    let limit = match args.store.store {
        StoreKind::Sqlite => prepared::measure(&served.url, &place.path("bare.db"), &chain).await,
        StoreKind::Postgres => copy::measure(&served.url, args.store.url()?, &chain).await,
    };
    Ok(limit.map_err(|error| error.to_string())?)
}

/// A rate against the limit, and the limit against its own parts.
fn against(report: Report, rate: f64, limit: &Limit, bar: f64) -> Report {
    let ratio = rate / limit.whole.rate();
    report
        .with("limit", format_args!("{:.0}", limit.whole.rate()))
        .with("ratio", format_args!("{ratio:.2}"))
        .with("limit_download", format_args!("{:.0}", limit.download.rate()))
        .with("limit_parse", format_args!("{:.0}", limit.parse.rate()))
        .with("limit_insert", format_args!("{:.0}", limit.insert.rate()))
        .with("limit_of_slowest", format_args!("{:.2}", limit.share_of_slowest()))
        .with("limit_of_sum", format_args!("{:.2}", limit.share_of_sum()))
        .bar("ratio", ratio, bar)
        .bar("the limit's share of its slower part", limit.share_of_slowest(), BAR_LIMIT)
        .bar("the limit's share of its parts together", limit.share_of_sum(), BAR_LIMIT)
}

fn against_peer(report: Report, args: &Args, collected: &Collected) -> Outcome {
    let runs = peer::run(args)?;
    let best = runs.iter().map(|run| run.rate).fold(0.0, f64::max);
    let times = collected.measured.rate() / best;
    let described: Vec<String> = runs.iter().map(|run| format!("{}:{:.0}", run.name, run.rate)).collect();
    Ok(report
        .with("peer", "ponder")
        .with("peer_n", runs.first().map_or(0, |run| run.events))
        .with("peer_runs", described.join(","))
        .with("peer_rate", format_args!("{best:.0}"))
        .with("times", format_args!("{times:.0}"))
        .bar("times the peer", times, BAR_TIMES_PEER))
}
