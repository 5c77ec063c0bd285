//! Takes a queue away.

use windlass_core::name::Queue;

use crate::error::Outcome;
use crate::row::get;
use crate::tx::Tx;

/// Deletes the lanes of a queue with everything in them; returns how many jobs that were.
///
/// The lanes go first: whoever is just finishing a job of one of them is waited for, and
/// only what is seen after that is all there is.
pub(crate) async fn drop_queue(tx: &Tx, queue: &Queue) -> Outcome<u64> {
    let queue = queue.as_str();
    let gone = tx.query("DELETE FROM lane WHERE queue = $1 RETURNING id", &[&queue]).await?;
    let lanes = gone.iter().map(|row| get(row, 0)).collect::<Outcome<Vec<i64>>>()?;
    let open = tx.execute("DELETE FROM job WHERE lane_id = ANY($1)", &[&lanes]).await?;
    let dead = tx.execute("DELETE FROM dead WHERE queue = $1", &[&queue]).await?;
    Ok(open + dead)
}
