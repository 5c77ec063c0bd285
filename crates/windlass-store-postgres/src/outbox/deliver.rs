//! What became of a delivery: made up to a message, to be tried again, given up.

use windlass_core::error::StoreError;
use windlass_core::outbox::{DeliveryFailure, DeliveryHold};
use windlass_core::retry::Verdict;
use windlass_core::store::SINK_QUEUE_PREFIX;

use super::dead;
use crate::error::Outcome;
use crate::lane::{self, Lane, fenced};
use crate::row::get;
use crate::tx::Tx;

/// Moves a sink's position; messages of the run behind it that are not for this
/// sink go with it.
pub(super) async fn mark(tx: &Tx, hold: DeliveryHold, up_to: i64) -> Outcome<()> {
    let lane = require_held(tx, hold).await?;
    if !(lane.done_seq..=lane.held_seq).contains(&up_to) {
        return Err(StoreError::Invalid(format!(
            "message {up_to} is not among those held, {} to {}",
            lane.head(),
            lane.held_seq
        ))
        .into());
    }
    let more = next_for(tx, &lane, up_to, lane.held_seq).await?.is_some();
    lane::finish(tx, &lane, if more { up_to } else { lane.held_seq }).await
}

/// Records a failed delivery and frees the partition.
pub(super) async fn fail(tx: &Tx, failure: &DeliveryFailure) -> Outcome<()> {
    let lane = require_held(tx, failure.hold).await?;
    match failure.verdict {
        Verdict::RetryAfter(delay) => lane::postpone(tx, &lane, &failure.error, delay).await,
        Verdict::Dead => {
            let seq = dead::bury(tx, &lane, &failure.error).await?;
            lane::pass(tx, &[lane.id], &[seq], lane.now).await
        }
    }
}

async fn require_held(tx: &Tx, hold: DeliveryHold) -> Outcome<Lane> {
    let lanes = lane::lock_held(tx, &[hold.lane]).await?;
    let valid = |lane: &Lane| lane.epoch == hold.epoch && lane.partition_id.is_some();
    let held = lanes.into_iter().find(valid);
    Ok(held.ok_or_else(|| fenced(format!("delivery lane {}", hold.lane), hold.epoch))?)
}

/// The first message after a position, and not after another, that is for the lane's sink.
pub(super) async fn next_for(tx: &Tx, lane: &Lane, after: i64, last: i64) -> Outcome<Option<i64>> {
    let row = tx
        .query_opt(
            "SELECT seq FROM message
             WHERE partition_id = $1 AND seq > $2 AND seq <= $3 AND (only_sink IS NULL OR only_sink = $4)
             ORDER BY seq LIMIT 1",
            &[&lane.partition_id, &after, &last, &sink_of(lane)],
        )
        .await?;
    row.map(|row| get(&row, 0)).transpose()
}

/// The sink that a lane belongs to.
fn sink_of(lane: &Lane) -> &str {
    lane.queue.strip_prefix(SINK_QUEUE_PREFIX).unwrap_or_default()
}
