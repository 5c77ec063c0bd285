//! The demo: the main job on embedded defaults, without a server, a configuration
//! or a network.
//!
//! A devnet runs in this process with a fee collector and traffic on it, and is
//! reorganised now and then. A follower collects its events over HTTP, as any
//! user's would, into a SQLite file in a temporary folder. Fees that can no longer be
//! taken back turn into payouts out of a vault, which are approved, signed, sent and
//! followed. At the end what the store has is compared with what the devnet knows.

mod banner;
mod collector;
mod ledger;
mod payroll;
mod summary;
mod tally;
mod traffic;
mod treasury;
mod view;
mod world;

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use windlass_core::code::Code;
use windlass_core::store::Store;
use windlass_engine::supervise::{Ending, Supervisor};
use windlass_store_sqlite::{SqliteOptions, SqliteStore};

use crate::failure::Failure;
use crate::output;
use ledger::Ledger;
use summary::Summary;
use tally::Tally;
use view::View;
use world::World;

/// How long the collector gets to reach the head once the traffic has stopped.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(30);
/// How long payouts get to become final once the traffic has stopped.
const PAY_LIMIT: Duration = Duration::from_secs(60);
/// How long tasks get to let go.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// What to show, and for how long.
#[derive(Debug, Clone)]
pub(crate) struct DemoOptions {
    /// Stops by itself after this.
    pub(crate) run_for: Option<Duration>,
    /// Prints one JSON object on standard output at the end, and no view.
    pub(crate) json: bool,
    /// Decides the traffic and the reorgs.
    pub(crate) seed: u64,
    /// The port of the devnet's RPC; 0 takes a free one.
    pub(crate) port: u16,
    /// The time between two blocks.
    pub(crate) block_time: Duration,
}

impl DemoOptions {
    /// Whether there is a terminal to show a live view on.
    pub(crate) fn is_live(&self) -> bool {
        std::io::stderr().is_terminal() && !self.json
    }
}

/// Runs the demo until the token is cancelled or its time is up. The folder is
/// kept when something went wrong: it is the evidence.
pub(crate) async fn run(options: DemoOptions, stop: CancellationToken) -> Result<(), Failure> {
    let folder = tempfile::Builder::new().prefix("windlass-demo-").tempdir().map_err(no_folder)?;
    let path = folder.path().join("windlass.db");
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(SqliteOptions::file(&path)).await?);
    let world = World::start(&options).await?;
    let view = View::new(&options);
    view.banner(&banner::render(&world, &path));

    let begun = Instant::now();
    let ended = live(&options, &world, store.clone(), &view, stop).await;
    let tally = Tally::of(&world, &*store).await?;
    let paid = Ledger::of(&world, &*store).await?;
    view.finish();
    store.close().await;
    world.stop().await;

    let summary = Summary::new(&tally, &paid, &ended, options.seed, begun.elapsed());
    summary.print(options.json)?;
    let verdict = summary.verdict(ended);
    match &verdict {
        Err(_) => {
            let kept = folder.keep();
            output::note(&format!("the database is kept in {}", kept.display()));
        }
        Ok(()) if !options.json => {
            output::note(&format!("the database was {}; it is removed", path.display()));
        }
        Ok(()) => {}
    }
    verdict
}

fn no_folder(error: std::io::Error) -> Failure {
    Failure::coded(Code::DatabaseUnreachable, format_args!("no temporary folder can be made: {error}"))
        .hint("set TMPDIR to a folder that exists and can be written")
}

/// Lets everything run; then stops the traffic, waits until every fee is paid out and the
/// collector has caught up, and stops the rest too.
async fn live(
    options: &DemoOptions,
    world: &World,
    store: Arc<dyn Store>,
    view: &View,
    stop: CancellationToken,
) -> Result<Ending, Failure> {
    let all_over = CancellationToken::new();
    let collector = collector::new(world, store.clone()).await?;
    let mut supervisor = Supervisor::new(all_over.clone());
    supervisor.spawn("collector", |shutdown| async move { Ok(collector.run(shutdown).await?) });
    let cashier = world.treasury.cashier(&world.http_url(), store.clone())?;
    supervisor.spawn("cashier", |shutdown| async move { Ok(cashier.run(shutdown).await?) });
    let payroll = payroll::Payroll::new(world, store.clone())?;
    supervisor.spawn("payroll", |shutdown| async move { Ok(payroll.run(shutdown).await?) });
    let traffic_over = all_over.child_token();
    let traffic = traffic::Traffic::new(world, options);
    let (traffic_token, traffic_ended) = (traffic_over.clone(), CancellationToken::new());
    let ended = traffic_ended.clone().drop_guard();
    supervisor.spawn("traffic", |_| async move {
        let _ended = ended;
        Ok(traffic.run(traffic_token).await?)
    });
    let supervised = tokio::spawn(supervisor.run(SHUTDOWN_LIMIT));

    let time_up = async {
        match options.run_for {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = time_up => {}
        () = all_over.cancelled() => {}
        () = view.watch(world, &*store) => {}
    }
    traffic_over.cancel();
    // The block under way is finished first: only then does the head stand still.
    traffic_ended.cancelled().await;
    if !all_over.is_cancelled() {
        ledger::settle(world, &*store, PAY_LIMIT).await?;
        collector::catch_up(world, &*store, CATCH_UP_LIMIT).await?;
    }
    all_over.cancel();
    supervised.await.map_err(|error| Failure::coded(Code::TaskFailed, error))
}
