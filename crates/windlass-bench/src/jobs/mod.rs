//! Claiming and completing jobs in batches, over a thousand lanes. The limit is
//! what the disk allows: commits of a single row, each on disk before the next.

mod limit;
mod peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass_core::job::{DeletedJobs, JobClaim, JobTicket, NewJob};
use windlass_core::name::{LaneKey, Owner, Queue};
use windlass_core::store::Store;

use crate::place::StoreKind;
use crate::report::{Measured, Report};
use crate::{Outcome, StoreArgs};

const BAR_SQLITE: f64 = 50_000.0;
const BAR_POSTGRES: f64 = 30_000.0;
const BAR_TIMES_PEER: f64 = 5.0;
/// A batch is claimed in one commit and completed in another.
const COMMITS_PER_BATCH: f64 = 2.0;
/// How many jobs one enqueueing commit carries.
const ENQUEUE_BATCH: u64 = 10_000;

/// How many jobs, and how they are claimed.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArgs,
    /// How many jobs
    #[arg(short, long, default_value_t = 1_000_000)]
    n: u64,
    /// How many lanes they are spread over
    #[arg(long, default_value_t = 1_000)]
    lanes: u64,
    /// How many jobs one claim takes
    #[arg(long, default_value_t = 100)]
    batch: u32,
    /// How many of one lane, in its order
    #[arg(long, default_value_t = 100)]
    per_lane: u32,
    /// How many workers claim at once
    #[arg(long, default_value_t = 16)]
    workers: u32,
    /// Do not run the peer
    #[arg(long)]
    no_peer: bool,
}

/// Measures the store, then the peer on the same server.
pub(crate) async fn run(args: Args) -> Outcome {
    let place = args.store.open().await?;
    enqueue(&*place.store, &args).await?;
    let measured = drain(place.store.clone(), &args).await?;
    place.store.close().await;
    let commits = match args.store.store {
        StoreKind::Sqlite => limit::sqlite(place.folder.path())?,
        StoreKind::Postgres => limit::postgres(args.store.url()?, args.workers).await?,
    };
    let limit = commits.rate() * f64::from(args.batch) / COMMITS_PER_BATCH;
    let report = Report::new("jobs", args.store.name(), measured)
        .with("limit", format_args!("{limit:.0}"))
        .with("ratio", format_args!("{:.2}", measured.rate() / limit))
        .with("lanes", args.lanes)
        .with("batch", args.batch)
        .with("per_lane", args.per_lane)
        .with("workers", args.workers);
    match args.store.store {
        StoreKind::Sqlite => Ok(report.bar("rate", measured.rate(), BAR_SQLITE)),
        StoreKind::Postgres => {
            let report = report.bar("rate", measured.rate(), BAR_POSTGRES);
            if args.no_peer { Ok(report) } else { against_peer(report, measured, args.store.url()?) }
        }
    }
}

fn against_peer(report: Report, measured: Measured, url: &str) -> Outcome {
    let runs = peer::run(url)?;
    let best = runs.iter().map(|run| run.rate).fold(0.0, f64::max);
    let times = measured.rate() / best;
    let described: Vec<String> = runs.iter().map(|run| format!("{}:{:.0}", run.name, run.rate)).collect();
    Ok(report
        .with("peer", "graphile-worker")
        .with("peer_runs", described.join(","))
        .with("peer_rate", format_args!("{best:.0}"))
        .with("times", format_args!("{times:.1}"))
        .bar("times the peer", times, BAR_TIMES_PEER))
}

async fn enqueue(store: &dyn Store, args: &Args) -> Result<(), Box<dyn std::error::Error>> {
    let queue = Queue::new("bench")?;
    let keys =
        (0..args.lanes).map(|lane| LaneKey::new(format!("lane-{lane}"))).collect::<Result<Vec<_>, _>>()?;
    let mut number = 0;
    while number < args.n {
        let end = args.n.min(number + ENQUEUE_BATCH);
        let jobs = (number..end)
            .map(|i| {
                let key = keys[(i % args.lanes) as usize].clone();
                NewJob::new(queue.clone(), key, format!("{{\"number\":{i}}}"))
            })
            .collect();
        store.enqueue_jobs(jobs).await?;
        number = end;
    }
    Ok(())
}

async fn drain(store: Arc<dyn Store>, args: &Args) -> Result<Measured, Box<dyn std::error::Error>> {
    let done = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let workers: Vec<_> = (0..args.workers)
        .map(|worker| {
            let claim = JobClaim {
                queue: Queue::new("bench").expect("a queue"),
                owner: Owner::new(format!("worker-{worker}")).expect("an owner"),
                ttl: Duration::from_secs(60),
                max_jobs: args.batch,
                max_per_lane: args.per_lane,
                max_attempts: 10,
                deleted: DeletedJobs::Skip,
            };
            tokio::spawn(work(store.clone(), claim, done.clone(), args.n))
        })
        .collect();
    for worker in workers {
        worker.await??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let open: u64 = store.count_jobs().await?.iter().map(|counts| counts.open).sum();
    match (open, done.load(Ordering::SeqCst)) {
        (0, n) if n == args.n => Ok(Measured { n, seconds }),
        (open, n) => Err(format!("{n} of {} jobs were completed and {open} are open", args.n).into()),
    }
}

async fn work(
    store: Arc<dyn Store>,
    claim: JobClaim,
    done: Arc<AtomicU64>,
    n: u64,
) -> Result<(), windlass_core::error::StoreError> {
    while done.load(Ordering::SeqCst) < n {
        let jobs = store.claim_jobs(&claim).await?;
        let tickets: Vec<JobTicket> = jobs.iter().map(|job| job.ticket).collect();
        let refused = store.complete_jobs(&tickets).await?;
        done.fetch_add((tickets.len() - refused.len()) as u64, Ordering::SeqCst);
    }
    Ok(())
}
