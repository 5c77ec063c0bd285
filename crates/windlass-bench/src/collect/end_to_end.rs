//! From the start of the process to the last row: `windlass run` as a user starts it, with
//! every setting at its default, against the same bare pipe as the other cases.

use super::{Args, against, limit_of};
use crate::report::{Measured, Report};
use crate::serve::Served;
use crate::windlass::BinaryArgs;
use crate::world::World;
use crate::{Outcome, clock, fees};

/// The part of the bare pipe's rate that a user gets.
const BAR_RATIO: f64 = 0.85;

/// Measures the process, then the bare pipe.
pub(super) async fn run(args: &Args, binary: &BinaryArgs) -> Outcome {
    let chain = args.chain();
    let mut world = World::start(&args.store, binary, &chain).await?;
    let started = world.started;
    let mut first = None;
    world
        .wait_for_all(chain.blocks, |rows| {
            if rows > 0 && first.is_none() {
                first = Some(clock::now().saturating_sub(started));
            }
        })
        .await?;
    let seconds = clock::now().saturating_sub(started).as_secs_f64();
    world.compare().await?;
    let measured = Measured { n: args.n, seconds };
    let report = Report::new("collect", args.store.name(), measured)
        .with("end_to_end", true)
        .with("blocks", chain.blocks)
        .with("latency_ms", args.latency_ms)
        .with("first_row_ms", first.unwrap_or_default().as_millis());
    if args.no_limit {
        return Ok(report);
    }
    let served = Served::start(&chain)?;
    let place = args.store.open().await?;
    // The pipe fills a table of the same form.
    fees::create_table(&*place.store).await?;
    place.store.close().await;
    let limit = limit_of(args, &place, &served).await?;
    Ok(against(report, measured.rate(), &limit, BAR_RATIO))
}
