//! Where a stream begins.

use windlass_core::error::StoreResult;
use windlass_core::name::Partition;
use windlass_core::store::Outbox;

/// The number of a partition's newest message; 0 when none is kept. Found by
/// doubling and halving, for messages are only listed forward.
pub(super) async fn tail(outbox: &dyn Outbox, partition: &Partition) -> StoreResult<i64> {
    let Some(mut newest) = next_after(outbox, partition, 0).await? else { return Ok(0) };
    let mut step = 1;
    while let Some(next) = next_after(outbox, partition, newest.saturating_add(step)).await? {
        (newest, step) = (next, step.saturating_mul(2));
    }
    // The newest is at least `newest`, and less than a step away.
    let mut above = newest.saturating_add(step);
    while newest < above {
        let middle = newest + (above - newest) / 2;
        match next_after(outbox, partition, middle).await? {
            Some(next) => newest = next,
            None => above = middle,
        }
    }
    Ok(newest)
}

/// Whether a number is beyond every message, although some are kept: it comes from
/// another database.
pub(super) async fn is_ahead(outbox: &dyn Outbox, partition: &Partition, seq: i64) -> StoreResult<bool> {
    let is_any = next_after(outbox, partition, 0).await?.is_some();
    Ok(seq > 0 && is_any && next_after(outbox, partition, seq - 1).await?.is_none())
}

async fn next_after(outbox: &dyn Outbox, partition: &Partition, seq: i64) -> StoreResult<Option<i64>> {
    Ok(outbox.messages(partition, seq, 1).await?.first().map(|message| message.seq))
}
