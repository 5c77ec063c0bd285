//! An hour of everything at once: `windlass run` as a user starts it, killed every
//! minute, on a chain with reorgs behind two endpoints with faults of every kind, one of
//! which turns bad at times.
//!
//! What must come out: a table that equals the chain, and never more than ten blocks
//! behind for longer than the fault lasted.

mod endpoint;
mod schedule;
mod stretch;

use std::time::{Duration, Instant};

use self::endpoint::Endpoints;
use self::schedule::{Event, Schedule, Window};
use self::stretch::{Sample, Stretch};
use crate::report::{Measured, Report};
use crate::windlass::BinaryArgs;
use crate::world::{World, genesis_s};
use crate::{Outcome, StoreArgs, serve};

/// How often the lag is sampled, and what is due is done.
const TICK: Duration = Duration::from_secs(1);
/// So many blocks behind is behind.
const BEHIND_BLOCKS: u64 = 10;
/// A sample may be late by this.
const BAR_EXCESS_S: f64 = 1.0;
/// How many of the newest blocks are not final. No reorg goes deeper.
const UNFINAL: u64 = 64;

/// How long, and from which seed.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    binary: BinaryArgs,
    /// How long it lasts, 1 to 1,440
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=1_440))]
    minutes: u64,
    /// The time between two blocks
    #[arg(long, default_value_t = 1_000)]
    block_ms: u64,
    /// How many blocks there are to begin with
    #[arg(long, default_value_t = 500)]
    past: u64,
    /// Decides when what goes wrong
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The run, and what has happened so far.
struct Soak {
    world: World,
    endpoints: Endpoints,
    newest: u64,
    samples: Vec<Sample>,
    kills: u64,
    exits: u64,
    reorgs: u64,
}

/// Runs it, then compares the table with the chain.
pub(crate) async fn run(args: Args) -> Outcome {
    let shape = serve::Args {
        blocks: args.past,
        unfinal: UNFINAL,
        block_ms: args.block_ms,
        genesis_s: genesis_s(args.past, args.block_ms),
        endpoints: schedule::ENDPOINTS,
        live: true,
        ..serve::Args::default()
    };
    let world = World::start(&args.store, &args.binary, &shape).await?;
    let endpoints = Endpoints::new(&world.chain.urls);
    let schedule = Schedule::draw(args.seed, Duration::from_secs(60 * args.minutes));
    let newest = 0;
    let mut soak = Soak { world, endpoints, newest, samples: Vec::new(), kills: 0, exits: 0, reorgs: 0 };
    soak.settle(args.past).await?;
    soak.world.chain.begin(args.block_ms)?;
    soak.live_through(&schedule).await?;
    soak.finish(&args, &schedule).await
}

type Broken = Box<dyn std::error::Error>;

impl Soak {
    /// Collects the past from endpoints that are rough but honest: nothing that one client
    /// sees tells an empty final range from a lie.
    async fn settle(&mut self, past: u64) -> Result<(), Broken> {
        self.endpoints.set_all(schedule::ROUGH).await?;
        self.world.wait_for_all(past, |_| {}).await?;
        self.newest = past;
        self.endpoints.set_all(&schedule::usual()).await
    }

    async fn live_through(&mut self, schedule: &Schedule) -> Result<(), Broken> {
        let begun = Instant::now();
        let mut due = schedule.events.iter().peekable();
        let mut ticks = tokio::time::interval(TICK);
        while begun.elapsed() < schedule.length {
            ticks.tick().await;
            while let Some((at, event)) = due.next_if(|(at, _)| *at <= begun.elapsed()) {
                anstream::eprintln!("{} s: {event:?}", at.as_secs());
                self.happen(event).await?;
            }
            self.restart_if_ended()?;
            self.sample(begun.elapsed()).await?;
        }
        Ok(())
    }

    async fn happen(&mut self, event: &Event) -> Result<(), Broken> {
        match event {
            Event::Kill => {
                self.kills += 1;
                self.world.windlass.kill()?;
                self.world.windlass.start()
            }
            Event::Reorg { depth } => {
                self.reorgs += 1;
                let head = self.world.chain.reorganise(*depth)?.block.number;
                self.world.truth = self.world.truth.clone().forked(head - depth);
                Ok(())
            }
            Event::Bad { endpoint, plan } => self.endpoints.set(*endpoint, plan).await,
            Event::Good { endpoint } => self.endpoints.set(*endpoint, &schedule::usual()).await,
        }
    }

    /// A supervisor would start it again; it should not have to.
    fn restart_if_ended(&mut self) -> Result<(), Broken> {
        if let Err(error) = self.world.windlass.check() {
            self.exits += 1;
            anstream::eprintln!("{error}");
            self.world.windlass.start()?;
        }
        Ok(())
    }

    async fn sample(&mut self, at: Duration) -> Result<(), Broken> {
        let head = self.world.chain.head()?;
        // A table that cannot be read has made no progress.
        if let Ok(Some(row)) = self.world.table.newest().await {
            self.newest = row.head.block.number;
        }
        self.samples.push(Sample { at, lag: head.saturating_sub(self.newest) });
        Ok(())
    }

    async fn finish(mut self, args: &Args, schedule: &Schedule) -> Outcome {
        let shown = self.world.chain.end()?;
        let counts = self.endpoints.counts().await?;
        let head = self.world.chain.head()?;
        let rows = head * u64::from(serve::Args::default().logs_per_block);
        let stretches = Stretch::all(&self.samples, BEHIND_BLOCKS);
        let measured = Measured { n: rows, seconds: schedule.length.as_secs_f64() };
        let report = Report::new("soak", args.store.name(), measured)
            .with("seed", args.seed)
            .with("blocks", shown.visible().count())
            .with("kills", self.kills)
            .with("reorgs", self.reorgs)
            .with("bad_times", schedule.windows.len())
            .with("exits", self.exits)
            .at_most("how often it ended by itself", self.exits as f64, 0.0);
        let report = with_lag(report, &self.samples, &stretches, &schedule.windows);
        let faults: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind}:{count}")).collect();
        let report = report.with("faults", faults.join(","));
        Ok(match self.compare(head).await {
            Ok(()) => report.with("equal", true),
            Err(error) => report.with("equal", false).missed(&error),
        })
    }

    /// Lets it come to the head, with the usual faults, and compares the table with the chain.
    async fn compare(mut self, head: u64) -> Result<(), Broken> {
        self.world.wait_for(head, |_| {}).await?;
        let counted = self.world.wait_for_all(head, |_| {}).await;
        self.world.truth.blocks = head;
        match (counted, self.world.compare().await) {
            (Err(counted), Err(compared)) => Err(format!("{counted}; {compared}").into()),
            (counted, compared) => counted.and(compared),
        }
    }
}

fn with_lag(report: Report, samples: &[Sample], stretches: &[Stretch], windows: &[Window]) -> Report {
    let mut lags: Vec<u64> = samples.iter().map(|sample| sample.lag).collect();
    lags.sort_unstable();
    let percentile =
        |percent: usize| lags.get(lags.len() * percent / 100).or(lags.last()).copied().unwrap_or(0);
    for stretch in stretches {
        anstream::eprintln!("{}", stretch.described(windows));
    }
    let seconds = |time: Duration| time.as_secs_f64();
    let longest = stretches.iter().map(|one| seconds(one.length())).fold(0.0, f64::max);
    let excess = stretches.iter().map(|one| seconds(one.excess(windows))).fold(0.0, f64::max);
    report
        .with("lag_p50", percentile(50))
        .with("lag_p99", percentile(99))
        .with("lag_max", percentile(100))
        .with("times_behind", stretches.len())
        .with("longest_behind_s", format_args!("{longest:.0}"))
        .with("beyond_its_fault_s", format_args!("{excess:.0}"))
        .at_most("seconds behind beyond the fault", excess, BAR_EXCESS_S)
}
