//! How a transaction proves that it was committed.
//!
//! A connection can be lost between the COMMIT and its answer. Each transaction
//! that must not be repeated blindly therefore writes a number into a row that
//! only it uses. Locking that row afterwards waits for whatever the server still
//! does in the lost session; the number in it then tells what became of it.
//!
//! Invariant: a mark is given back only when its row is known to exist and the
//! transaction that used it is known to have ended. Any other is dropped, for a
//! lost session may still hold its row.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::Client;

use crate::error::Outcome;
use crate::row::get;

/// Marks of stores that are gone are forgotten after this many days.
const KEEP_MARKS_DAYS: i32 = 7;
/// A mark that was not used for so long is not used again: well before its row is forgotten.
const MAX_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// A row of `commit_mark` that one transaction uses, and the number it writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) id: i64,
    pub(crate) nonce: i64,
}

/// The marks that no transaction uses, the latest used last: as many as ever were
/// under way at once.
#[derive(Default)]
pub(crate) struct Marks {
    free: Mutex<Vec<(Mark, Instant)>>,
}

impl Marks {
    /// A mark for one transaction. It writes the number after the last one, so that
    /// it does not mistake another's for its own.
    pub(crate) async fn take(&self, client: &Client) -> Outcome<Mark> {
        match self.take_free(Instant::now()) {
            Some(mark) => Ok(mark),
            None => create(client).await,
        }
    }

    fn take_free(&self, now: Instant) -> Option<Mark> {
        let mut free = self.free();
        let (mark, since) = free.pop()?;
        if now.saturating_duration_since(since) > MAX_IDLE {
            // Those below have been idle for longer.
            free.clear();
            return None;
        }
        Some(Mark { nonce: mark.nonce + 1, ..mark })
    }

    /// Keeps a mark for the next transaction.
    pub(crate) fn give_back(&self, mark: Mark) {
        self.free().push((mark, Instant::now()));
    }

    /// Drops every mark that is not in use: what one has lost the others may have lost too.
    pub(crate) fn drop_free(&self) {
        self.free().clear();
    }

    fn free(&self) -> MutexGuard<'_, Vec<(Mark, Instant)>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Committed on its own, so that the row is there to be locked whatever happens.
async fn create(client: &Client) -> Outcome<Mark> {
    let row = client.query_one("INSERT INTO commit_mark DEFAULT VALUES RETURNING id", &[]).await?;
    Ok(Mark { id: get(&row, 0)?, nonce: 1 })
}

impl Mark {
    /// Writes the mark within its transaction; `false` when somebody has forgotten its row.
    pub(crate) async fn write(&self, client: &Client) -> Outcome<bool> {
        let sql = "UPDATE commit_mark SET nonce = $2, used_at = now() WHERE id = $1";
        let statement = client.prepare_cached(sql).await?;
        Ok(client.execute(&statement, &[&self.id, &self.nonce]).await? == 1)
    }

    /// What the transaction has left, if it was committed; waits for it to end.
    pub(crate) async fn look_up(&self, client: &Client) -> Outcome<Option<Vec<i64>>> {
        let sql = "SELECT nonce, answer FROM commit_mark WHERE id = $1 FOR UPDATE";
        let row = client.query_one(sql, &[&self.id]).await?;
        if get::<i64>(&row, 0)? == self.nonce { get(&row, 1).map(Some) } else { Ok(None) }
    }
}

/// Forgets the marks of stores that are long gone.
pub(crate) async fn forget_old(client: &Client) -> Outcome<()> {
    let sql = "DELETE FROM commit_mark WHERE used_at < now() - make_interval(days => $1)";
    client.execute(sql, &[&KEEP_MARKS_DAYS]).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_is_used_again_writes_the_next_number() {
        let marks = Marks::default();
        marks.give_back(Mark { id: 7, nonce: 3 });
        let again = marks.take_free(Instant::now()).expect("it is free");
        assert_eq!((again.id, again.nonce), (7, 4));
        assert!(marks.take_free(Instant::now()).is_none());
    }

    #[test]
    fn marks_that_were_idle_for_over_a_day_are_dropped() {
        let marks = Marks::default();
        marks.give_back(Mark { id: 1, nonce: 1 });
        marks.give_back(Mark { id: 2, nonce: 1 });
        let later = Instant::now() + MAX_IDLE + Duration::from_secs(1);
        assert!(marks.take_free(later).is_none());
        assert!(marks.free().is_empty());
    }
}
