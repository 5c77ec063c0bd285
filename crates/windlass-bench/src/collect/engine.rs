//! The collector as `windlass run` composes it, until nothing is left to collect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use windlass_core::error::RetryAdvice;
use windlass_core::name::Owner;
use windlass_core::store::Store;
use windlass_engine::collect::backfill::{Backfilled, Backfiller};
use windlass_engine::collect::chain::CollectOptions;
use windlass_engine::collect::head::{Followed, Follower};

use crate::fees;
use crate::report::Measured;

/// What was collected.
pub(super) struct Collected {
    pub(super) measured: Measured,
    pub(super) ranges: u64,
}

/// Collects everything there is, from an empty store on.
pub(super) async fn measure(
    store: &Arc<dyn Store>,
    url: &str,
    workers: u32,
) -> Result<Collected, Box<dyn std::error::Error>> {
    let usual = fees::options()?;
    // There is no head to wait for: whoever finds nothing to do looks again at once.
    let options = CollectOptions { historical_interval: Duration::from_millis(1), ..usual };
    let chain = fees::compose(store, url, options).await?;
    let begun = Instant::now();
    let mut follower = Follower::new(chain.clone(), None);
    while follower.step().await? != Followed::Planned {}
    let running: Vec<_> = (0..workers)
        .map(|number| {
            let owner = Owner::new(format!("bench-{number}")).expect("an owner");
            tokio::spawn(drain(Backfiller::new(chain.clone(), owner)))
        })
        .collect();
    let (mut n, mut ranges) = (0, 0);
    for worker in running {
        let (events, done) = worker.await??;
        n += events;
        ranges += done;
    }
    let measured = Measured { n, seconds: begun.elapsed().as_secs_f64() };
    let stored: u64 = store.list_tables().await?.iter().map(|table| table.rows).sum();
    if stored != n {
        return Err(format!("{n} events were collected and {stored} are stored").into());
    }
    Ok(Collected { measured, ranges })
}

/// Works until no range is left; says how many events and ranges it had.
async fn drain(mut worker: Backfiller) -> Result<(u64, u64), windlass_engine::collect::error::CollectError> {
    let (mut events, mut ranges) = (0, 0);
    loop {
        match worker.step().await {
            Ok(Backfilled::Collected { events: more, .. }) => {
                events += more;
                ranges += 1;
            }
            Ok(Backfilled::Idle) => return Ok((events, ranges)),
            Ok(_) => {}
            // As the loop does: another worker has the row for a moment.
            Err(error) => match error.retry() {
                RetryAdvice::After(pause) => tokio::time::sleep(pause).await,
                RetryAdvice::Never => return Err(error),
            },
        }
    }
}
