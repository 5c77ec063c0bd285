//! Messages for whoever reads without being a sink.

use windlass_core::name::Partition;
use windlass_core::outbox::{MAX_CLAIMED_MESSAGES, Message};

use super::claim::read;
use crate::error::Outcome;
use crate::tx::Tx;

/// A partition's messages for everybody behind a number, in order. Numbers are given
/// out under the partition's lock, so none appears below one that was read.
pub(super) async fn behind(tx: &Tx, partition: &Partition, after: i64, limit: u32) -> Outcome<Vec<Message>> {
    let rows = tx
        .query(
            "SELECT partition_id, seq, idempotency_key, topic, payload, created_at_ms FROM message
             WHERE partition_id = (SELECT id FROM partition WHERE name = $1) AND seq > $2 AND only_sink IS NULL
             ORDER BY seq LIMIT $3",
            &[&partition.as_str(), &after, &i64::from(limit.min(MAX_CLAIMED_MESSAGES))],
        )
        .await?;
    rows.iter().map(read).collect()
}
