//! The newest message of a partition.

use windlass_core::error::StoreResult;
use windlass_core::name::Partition;
use windlass_core::outbox::Message;
use windlass_core::store::Outbox;

/// A partition's newest message, if one is kept. Found by doubling and halving, for
/// messages are only listed forward.
pub(super) async fn tail(outbox: &dyn Outbox, partition: &Partition) -> StoreResult<Option<Message>> {
    let Some(mut newest) = next_after(outbox, partition, 0).await? else { return Ok(None) };
    let mut step = 1;
    while let Some(next) = next_after(outbox, partition, newest.seq.saturating_add(step)).await? {
        (newest, step) = (next, step.saturating_mul(2));
    }
    // The newest is at least `newest`, and less than a step away.
    let mut above = newest.seq.saturating_add(step);
    while newest.seq < above {
        let middle = newest.seq + (above - newest.seq) / 2;
        match next_after(outbox, partition, middle).await? {
            Some(next) => newest = next,
            None => above = middle,
        }
    }
    Ok(Some(newest))
}

/// The first message that is kept behind a number.
pub(super) async fn next_after(
    outbox: &dyn Outbox,
    partition: &Partition,
    seq: i64,
) -> StoreResult<Option<Message>> {
    Ok(outbox.messages(partition, seq, 1).await?.into_iter().next())
}
