//! Takes a queue away.

use windlass_core::error::StoreError;
use windlass_core::name::Queue;

use crate::error::Outcome;
use crate::row::get;
use crate::tx::Tx;

/// How often a queue that grows while it is taken away is looked through.
const MAX_ROUNDS: u32 = 1_000;

/// Deletes the lanes of a queue with everything in them; returns how many jobs that were.
///
/// The lanes go first: whoever is just finishing a job of one of them is waited for. What
/// that one leaves in its place, as a range that is split does, is not among what the
/// waiting statement sees; so it is looked for again until a fresh look finds none.
pub(crate) async fn drop_queue(tx: &Tx, queue: &Queue) -> Outcome<u64> {
    let name = queue.as_str();
    let mut lanes: Vec<i64> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let gone = tx.query("DELETE FROM lane WHERE queue = $1 RETURNING id", &[&name]).await?;
        for row in &gone {
            lanes.push(get(row, 0)?);
        }
        if tx.query_opt("SELECT FROM lane WHERE queue = $1 LIMIT 1", &[&name]).await?.is_none() {
            let open = tx.execute("DELETE FROM job WHERE lane_id = ANY($1)", &[&lanes]).await?;
            let dead = tx.execute("DELETE FROM dead WHERE queue = $1", &[&name]).await?;
            return Ok(open + dead);
        }
    }
    Err(StoreError::Busy.into())
}
