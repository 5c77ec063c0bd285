//! The head in an open loop: blocks come by the clock, whatever was stored, and the
//! collector is `windlass run` over plain HTTP with its default settings.

use std::time::Duration;

use super::lag::{Lag, Stored};
use crate::live::OpenLoop;
use crate::place::StoreArgs;
use crate::report::{Measured, Report};
use crate::times::Times;
use crate::windlass::BinaryArgs;
use crate::world::{World, genesis_s};
use crate::{Outcome, clock, serve};

const BAR_LAG_BLOCKS: f64 = 3.0;
const BAR_REQUESTS_PER_BLOCK: f64 = 3.0;
/// A block may take so many round trips, half a polling interval and this.
const BAR_ROUND_TRIPS: f64 = 2.0;
const BAR_WORK_MS: f64 = 50.0;
/// The polling interval may be this share of the time between two blocks.
const BAR_POLL_SHARE: f64 = 0.5;

/// A chain and an endpoint.
#[derive(Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) latency_ms: u64,
    pub(super) block_ms: u64,
    pub(super) refuse: Option<f64>,
    pub(super) seconds: u64,
    pub(super) past: u64,
    pub(super) unfinal: u64,
    pub(super) logs_per_block: u32,
}

impl Circumstances {
    /// The chain before its first block by the clock.
    pub(super) fn chain(&self) -> serve::Args {
        serve::Args {
            blocks: self.past,
            logs_per_block: self.logs_per_block,
            latency_ms: self.latency_ms,
            refuse: self.refuse,
            unfinal: self.unfinal,
            block_ms: self.block_ms,
            genesis_s: genesis_s(self.past, self.block_ms),
            live: true,
            ..serve::Args::default()
        }
    }
}

/// Measures one minute, or as long as is asked.
pub(super) async fn run(store: &StoreArgs, binary: &BinaryArgs, given: Circumstances) -> Outcome {
    let mut world = World::start(store, binary, &given.chain()).await?;
    world.wait_for_all(given.past, |_| {}).await?;
    let begun = world.chain.begin(given.block_ms)?;
    let until = begun + Duration::from_secs(given.seconds);
    let mut stored = Stored::new(begun, given.past);
    while clock::now() < until {
        stored.note(clock::now(), world.look().await?);
    }
    let shown = world.chain.end()?;
    let head = shown.visible().last().map_or(given.past, |(number, _)| number);
    world.wait_for(head, |newest| stored.note(clock::now(), newest)).await?;
    world.truth.blocks = head;
    world.compare().await?;
    let lag = Lag::new(&shown.visible().collect::<Vec<_>>(), &stored, begun..until);
    let poll = shown.requests.poll_interval(&(begun..until));
    Ok(report(store, &given, &shown, &lag, poll))
}

fn report(store: &StoreArgs, given: &Circumstances, shown: &OpenLoop, lag: &Lag, poll: Duration) -> Report {
    let blocks = shown.visible().count() as u64;
    let n = blocks * u64::from(given.logs_per_block);
    let report = Report::new("head", store.name(), Measured { n, seconds: given.seconds as f64 })
        .with("latency_ms", given.latency_ms)
        .with("block_ms", given.block_ms)
        .with("refuse", given.refuse.unwrap_or(0.0))
        .with("blocks", blocks)
        .with("lag_p50", lag.percentile(50))
        .with("lag_p99", lag.percentile(99))
        .with("lag_max", lag.percentile(100))
        .at_most("the p99 of the lag in blocks", lag.percentile(99) as f64, BAR_LAG_BLOCKS);
    with_requests(with_times(report, given, poll, &lag.times), shown, blocks)
}

fn with_times(report: Report, given: &Circumstances, poll: Duration, times: &Times) -> Report {
    let poll_ms = poll.as_secs_f64() * 1_000.0;
    let bar = BAR_ROUND_TRIPS * given.latency_ms as f64 + poll_ms / 2.0 + BAR_WORK_MS;
    report
        .with("p50_ms", format_args!("{:.0}", times.percentile(50)))
        .with("p99_ms", format_args!("{:.0}", times.percentile(99)))
        .with("p50_bar_ms", format_args!("{bar:.0}"))
        .with("poll_ms", format_args!("{poll_ms:.0}"))
        .at_most("the p50 from visible to readable in ms", times.percentile(50), bar)
        .at_most("the polling interval in ms", poll_ms, BAR_POLL_SHARE * given.block_ms as f64)
}

fn with_requests(report: Report, shown: &OpenLoop, blocks: u64) -> Report {
    let requests = &shown.requests;
    let each = |count: u64| count as f64 / blocks.max(1) as f64;
    let per_block = each(requests.follow.requests);
    report
        .with("requests_per_block", format_args!("{per_block:.2}"))
        .with("calls_per_block", format_args!("{:.2}", each(requests.follow.all_calls())))
        .with("polls_per_block", format_args!("{:.2}", each(requests.polls.requests)))
        .with("verification_per_block", format_args!("{:.2}", each(requests.verification.requests)))
        .with("calls", requests.follow.by_method())
        .with("poll_calls", requests.polls.by_method())
        .with("verification_calls", requests.verification.by_method())
        .at_most("HTTP requests a block", per_block, BAR_REQUESTS_PER_BLOCK)
}
