//! Catching up: a collector that was stopped while the chain went on, from the start of
//! its process until the newest block can be read.

use crate::place::StoreArgs;
use crate::report::{Measured, Report};
use crate::windlass::BinaryArgs;
use crate::world::World;
use crate::{Outcome, clock};

use super::open::Circumstances;

const BAR_BLOCKS_PER_S: f64 = 500.0;

/// Measures how fast so many blocks are made up for.
pub(super) async fn run(
    store: &StoreArgs,
    binary: &BinaryArgs,
    given: Circumstances,
    blocks: u64,
) -> Outcome {
    let mut world = World::start(store, binary, &given.chain()).await?;
    world.wait_for_all(given.past, |_| {}).await?;
    world.windlass.stop()?;
    let head = world.chain.append_many(blocks)?.block.number;
    let begun = clock::now();
    world.windlass.start()?;
    let mut first = None;
    let past_rows = given.past * u64::from(given.logs_per_block);
    let noted = |rows: u64| {
        if rows > past_rows && first.is_none() {
            first = Some(clock::now().saturating_sub(begun));
        }
    };
    world.wait_for_all(head, noted).await?;
    let seconds = clock::now().saturating_sub(begun).as_secs_f64();
    world.truth.blocks = head;
    world.compare().await?;
    let rate = blocks as f64 / seconds;
    let n = blocks * u64::from(given.logs_per_block);
    Ok(Report::new("head", store.name(), Measured { n, seconds })
        .with("behind", blocks)
        .with("unfinal", given.unfinal)
        .with("latency_ms", given.latency_ms)
        .with("refuse", given.refuse.unwrap_or(0.0))
        .with("blocks_per_s", format_args!("{rate:.0}"))
        .with("first_row_ms", first.unwrap_or_default().as_millis())
        .bar("blocks a second", rate, BAR_BLOCKS_PER_S))
}
